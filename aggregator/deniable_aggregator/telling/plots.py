"""Curves on logarithmic axes: as signs for a terminal, as an SVG, and as a page that has it and needs nothing else.

words:
  panel   one curve with its axes, and the point on it where something stands
  ticks   numbers at which an axis is named: powers of ten, and where there are few, twice and five times these
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Panel", "page", "plotted", "svg"]

_COLUMNS, _LINES = 56, 9
_WIDE, _LEFT, _RIGHT, _TOP, _HIGH, _BELOW = 360, 52, 14, 42, 120, 40
_ALIKE = 'role="img" aria-labelledby="name more"'
_FEW = 2
"""An axis with fewer powers of ten is named at twice and five times them, too."""
_STYLE = """
text{font:12px system-ui,sans-serif;fill:#222}.faint{fill:#595959}.grid{stroke:#ddd}
.curve{fill:none;stroke:#0060a8;stroke-width:2}.here{fill:#b34000;stroke:#fff}.back{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#eee}.faint{fill:#b0b0b0}.grid{stroke:#444}
.curve{stroke:#6db8f2}.here{fill:#ffa366;stroke:#181818}.back{fill:#181818}}
"""
_PAGE_STYLE = """
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:1rem auto;padding:0 1rem;max-width:44rem;
background:#fff;color:#222}svg{width:100%;max-width:30rem;height:auto}pre{overflow-x:auto;font-size:.8rem}
@media (prefers-color-scheme:dark){body{background:#181818;color:#eee}}
"""


class Panel(NamedTuple):
    """One curve; numbers of both axes are above 0."""

    title: str
    """What it is about."""
    across: str
    """What the axis below is."""
    points: Sequence[tuple[float, float]]
    """From left to right; what they are high is told in percent."""
    here: tuple[float, float]
    """Where something stands."""
    at: str = "{} devices"
    """How a place on the axis below is told."""

    @property
    def stands(self) -> str:
        """Where something stands, in words."""
        return f"±{_percent(self.here[1])} at {self.at.format(_number(self.here[0]))}"

    @property
    def words(self) -> str:
        """The panel for who does not see it."""
        ends = [self.points[0], self.points[-1]]
        told = " to ".join(f"±{_percent(high)} at {self.at.format(_number(place))}" for place, high in ends)
        return f"{self.title}: {told}; here {self.stands}"


class _Axis(NamedTuple):
    """From where to where an axis goes, in powers of ten."""

    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> _Axis:
        low, high = math.log10(min(numbers)), math.log10(max(numbers))
        return cls(low, high) if high - low > 1e-9 else cls(low - 0.5, high + 0.5)

    def part(self, number: float) -> float:
        """Where on the axis a number is, from 0 to 1."""
        return (math.log10(number) - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> list[float]:
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        inside = sum(self.low - 1e-9 <= power <= self.high + 1e-9 for power in powers)
        every = [times * 10.0**power for power in powers for times in ((1,) if inside > _FEW else (1, 2, 5))]
        return [each for each in every if self.low - 1e-9 <= math.log10(each) <= self.high + 1e-9]


def plotted(panel: Panel) -> str:
    """A panel as lines of signs: the curve of dots, and a circle where something stands."""
    across, down = _axes(panel)
    cells = [[" "] * _COLUMNS for _ in range(_LINES)]

    def put(place: float, high: float, sign: str) -> None:
        column, line = round(across.part(place) * (_COLUMNS - 1)), round((1 - down.part(high)) * (_LINES - 1))
        cells[line][column] = sign

    for place, high in _dense(panel.points):
        put(place, high, "·")
    put(*panel.here, "●")
    names = {round((1 - down.part(tick)) * (_LINES - 1)): f"±{_percent(tick)}" for tick in down.ticks}
    wide = max(map(len, names.values()), default=0)
    lines = [f"{names.get(line, ''):>{wide}} │{''.join(row).rstrip()}".rstrip() for line, row in enumerate(cells)]
    below = [" "] * (_COLUMNS + 12)
    for tick in across.ticks:
        text, start = _number(tick), round(across.part(tick) * (_COLUMNS - 1))
        start = max(start - len(text) // 2, 0)
        if "".join(below[max(start - 1, 0) : start + len(text) + 1]).strip() == "":
            below[start : start + len(text)] = text
    axis = [f"{'':>{wide}} └{'─' * _COLUMNS}", f"{'':>{wide}}  {''.join(below).rstrip()}  {panel.across}"]
    return "\n".join([f"{panel.title}: ● {panel.stands}", *lines, *axis])


def svg(panels: Sequence[Panel], title: str) -> str:
    """All panels, one below the other: as wide as a telephone, in light and dark."""
    step = _TOP + _HIGH + _BELOW
    high = step * len(panels) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {high}" {_ALIKE}>',
        f'<title id="name">{escape(title)}</title>',
        f'<desc id="more">{escape(". ".join(panel.words for panel in panels))}.</desc>',
        f'<style>{_STYLE}</style><rect class="back" width="{_WIDE}" height="{high}"/>',
    ]
    for number, panel in enumerate(panels):
        parts += _drawn(panel, number * step + _TOP)
    return "\n".join([*parts, "</svg>", ""])


def page(panels: Sequence[Panel], title: str, text: str) -> str:
    """The picture and what is told besides, as one file without scripts and without anything from elsewhere."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_PAGE_STYLE}</style></head>\n<body><main><h1>{escape(title)}</h1>\n"
        f'{svg(panels, title)}<pre tabindex="0" role="region" aria-label="The plan">{escape(text)}</pre>\n'
        "</main></body></html>\n"
    )


def _axes(panel: Panel) -> tuple[_Axis, _Axis]:
    every = [*panel.points, panel.here]
    return _Axis.of([place for place, _ in every]), _Axis.of([high for _, high in every])


def _drawn(panel: Panel, top: float) -> Iterator[str]:
    across, down = _axes(panel)
    wide = _WIDE - _LEFT - _RIGHT

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return _LEFT + wide * across.part(point[0]), top + _HIGH * (1 - down.part(point[1]))

    yield _text(8, top - 24, panel.title)
    yield _text(8, top - 8, f"here {panel.stands}", "faint")
    for tick in down.ticks:
        y = top + _HIGH * (1 - down.part(tick))
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}h{wide}"/>'
        yield _text(_LEFT - 6, y + 4, f"±{_percent(tick)}", "faint", "end")
    for tick in across.ticks:
        x = _LEFT + wide * across.part(tick)
        yield f'<path class="grid" d="M{x:.1f} {top}v{_HIGH}"/>'
        yield _text(x, top + _HIGH + 15, _short(tick), "faint", "middle")
    yield _text(_LEFT + wide / 2, top + _HIGH + 31, panel.across, "faint", "middle")
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in map(place, panel.points))
    x, y = place(panel.here)
    yield f'<path class="curve" d="M{path}"/><circle class="here" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def _dense(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The lines between points, as points for every column."""
    for (start, first), (end, last) in pairwise(points):
        for step in range(_COLUMNS):
            part = step / _COLUMNS
            yield start * (end / start) ** part, first * (last / first) ** part
    yield points[-1]


def _text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    own = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{own}>{escape(words)}</text>'


def _percent(part: float) -> str:
    return f"{100 * part:.3g}%"


def _number(number: float) -> str:
    return f"{number:,.0f}" if number >= 1_000 else f"{number:.4g}"


def _short(number: float) -> str:
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{sign}"
    return f"{number:g}"
