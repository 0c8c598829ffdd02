"""Pictures of the lectures, as SVG: lines against two axes, and pictures of pixels side by side.

words:
  curve   points that belong together, with a name
  axis    from where to where one side goes, what stands beside it, and whether by powers of ten
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

__all__ = ["Axis", "Curve", "curves", "pixels"]

_WIDE, _HIGH, _LEFT, _TOP = 520, 260, 96, 40
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#767676")
_DASHES = ("", "8 3", "2 3", "10 3 2 3")
_ALIKE = 'xmlns="http://www.w3.org/2000/svg" role="img" font-family="sans-serif" font-size="13"'


class Axis(NamedTuple):
    """One side of a drawing."""

    name: str
    """What is measured."""
    ticks: Sequence[float]
    """Where there is a line; from the first to the last it goes."""
    powers: bool = False
    """Whether equal factors are equally far apart."""
    percent: bool = False
    """Whether numbers are told as percents."""

    def place(self, number: float) -> float:
        """From 0 at the first tick to 1 at the last."""
        first, last, own = (math.log(each) if self.powers else each for each in (*self.ends, number))
        return (own - first) / (last - first)

    @property
    def ends(self) -> tuple[float, float]:
        """The first tick and the last."""
        return self.ticks[0], self.ticks[-1]

    def told(self, tick: float) -> str:
        """A tick's number."""
        if self.percent:
            return f"{100 * tick:g}%"
        return f"{tick:,.10g}" if tick == 0 or abs(tick) >= 1e-4 else f"{tick:g}".replace("e-0", "e-")


class Curve(NamedTuple):
    """Points, from left to right."""

    name: str
    """What they are."""
    points: Sequence[tuple[float, float]]
    """Along both axes."""


def curves(title: str, across: Axis, up: Axis, lines: Sequence[Curve]) -> str:
    """Curves against two axes, and what each of them is."""
    height = _TOP + _HIGH + 55 + 20 * len(lines)
    parts = [*_frame(title, _LEFT + _WIDE + 44, height), _text(_LEFT, 22, title, "start")]
    for tick in across.ticks:
        left = _LEFT + _WIDE * across.place(tick)
        parts += [
            f'<path d="M{left:.1f} {_TOP}v{_HIGH}" stroke="#ddd"/>',
            _text(left, _TOP + _HIGH + 18, across.told(tick)),
        ]
    for tick in up.ticks:
        top = _TOP + _HIGH * (1 - up.place(tick))
        parts += [
            f'<path d="M{_LEFT} {top:.1f}h{_WIDE}" stroke="#ddd"/>',
            _text(_LEFT - 8, top + 4, up.told(tick), "end"),
        ]
    parts.append(_text(_LEFT + _WIDE / 2, _TOP + _HIGH + 36, across.name))
    parts.append(f'<g transform="rotate(-90 16 {_TOP + _HIGH / 2})">{_text(16, _TOP + _HIGH / 2, up.name)}</g>')
    for number, line in enumerate(lines):
        dots = [
            f"{_LEFT + _WIDE * across.place(x):.1f} {_TOP + _HIGH * (1 - min(max(up.place(y), 0), 1)):.1f}"
            for x, y in line.points
        ]
        style = (
            f'fill="none" stroke="{_COLOURS[number % 4]}" stroke-width="2" stroke-dasharray="{_DASHES[number % 4]}"'
        )
        top = _TOP + _HIGH + 55 + 20 * number
        parts += [f'<path d="M{"L".join(dots)}" {style}/>', f'<path d="M{_LEFT} {top - 4}h40" {style}/>']
        parts.append(_text(_LEFT + 50, top, line.name, "start"))
    return "\n".join([*parts, "</svg>", ""])


def pixels(title: str, panels: Sequence[tuple[str, Sequence[Sequence[float]]]], size: int = 8) -> str:
    """Pictures side by side: a pixel is from 0, white, to 1, black."""
    wide, high = len(panels[0][1][0]) * size, len(panels[0][1]) * size
    parts = [*_frame(title, (wide + 24) * len(panels) + 24, high + 74)]
    for number, (name, rows) in enumerate(panels):
        left, top = 24 + number * (wide + 24), 24
        for down, row in enumerate(rows):
            for across, value in enumerate(row):
                grey = round(255 * (1 - min(max(value, 0), 1)))
                if grey < 255:
                    place = f'x="{left + size * across}" y="{top + size * down}" width="{size}" height="{size}"'
                    parts.append(f'<rect {place} fill="#{grey:02x}{grey:02x}{grey:02x}"/>')
        parts.append(f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" fill="none" stroke="#767676"/>')
        parts.append(_text(left + wide / 2, top + high + 24, name))
    return "\n".join([*parts, "</svg>", ""])


def _frame(title: str, width: float, height: float) -> Iterator[str]:
    yield f'<svg {_ALIKE} viewBox="0 0 {width:g} {height:g}">'
    yield f"<title>{escape(title)}</title>"
    yield f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>'


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#333">{escape(words)}</text>'
