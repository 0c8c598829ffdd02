"""The picture of docs/price.md, drawn from the table of that page: nothing is measured here.

words:
  line    what one way to learn tells right, against the number of devices
  panel   the lines of one data set and one epsilon
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

__all__ = ["Line", "drawn"]

_WIDE, _HIGH, _LEFT, _TOP = 250, 210, 56, 30
_GAP, _ROW = 22, 58
_STYLES = {
    "naive Bayes, each device": ("#d55e00", ""),
    "naive Bayes, counts": ("#d55e00", "5 3"),
    "logistic regression, each device": ("#0072b2", ""),
    "logistic regression, output": ("#0072b2", "1.5 3"),
    "logistic regression, objective": ("#0072b2", "5 3"),
    "logistic regression, descent": ("#0072b2", "9 3 2 3"),
}
"""The colour and the dashes of a line: models by their colours, and noise of each device's own without dashes."""
_GREY = "#767676"
_ALIKE = 'role="img" font-family="sans-serif" font-size="12"'


class Line(NamedTuple):
    """What one row of the table says."""

    data: str
    """What is learned from."""
    model: str
    """What is learned."""
    noise: str
    """Who adds it, or to what; empty where nobody does."""
    epsilon: str
    """Of every device; empty where there is no noise."""
    told: tuple[float | None, ...]
    """The part that is told right, for every number of devices; None where that was not measured."""


def drawn(lines: Sequence[Line], fleets: Sequence[int]) -> str:
    """The picture as SVG: a row of panels for each data set, a column for each epsilon."""
    sets = list(dict.fromkeys(line.data for line in lines))
    epsilons = list(dict.fromkeys(line.epsilon for line in lines if line.epsilon))
    width = _LEFT + len(epsilons) * (_WIDE + _GAP)
    height = _TOP + len(sets) * (_HIGH + _ROW) + 20 + 18 * math.ceil((len(_STYLES) + 1) / 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_ALIKE}>',
        "<title>What is told right, against the number of devices, by who adds the noise</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for down, data in enumerate(sets):
        own = [line for line in lines if line.data == data]
        low = _low(own)
        for across, epsilon in enumerate(epsilons):
            place = _LEFT + across * (_WIDE + _GAP), _TOP + down * (_HIGH + _ROW)
            parts += _panel([line for line in own if line.epsilon in {"", epsilon}], fleets, low, place, not across)
            parts.append(_text(place[0] + _WIDE / 2, place[1] - 10, f"{data}, epsilon {epsilon}", "middle"))
    parts += _legend(_LEFT, _TOP + len(sets) * (_HIGH + _ROW))
    return "\n".join([*parts, "</svg>", ""])


def _low(lines: Sequence[Line]) -> float:
    """Where the axis of a data set begins: at a multiple of 20%."""
    least = min(told for line in lines for told in line.told if told is not None)
    return math.floor(least * 5) / 5


def _panel(
    lines: Sequence[Line], fleets: Sequence[int], low: float, place: tuple[float, float], first: bool
) -> Iterator[str]:
    left, top = place
    logs = [math.log10(devices) for devices in fleets]

    def across(log: float) -> float:
        return left + _WIDE * (log - logs[0]) / (logs[-1] - logs[0])

    def down(told: float) -> float:
        return top + _HIGH * (1 - told) / (1 - low)

    for tenth in range(round(low * 10), 11, 1 if low > 0.5 else 2):
        height = down(tenth / 10)
        yield f'<path d="M{left} {height:.1f}h{_WIDE}" stroke="#ddd"/>'
        if first:
            yield _text(left - 6, height + 4, f"{10 * tenth}%", "end")
    for power in range(math.ceil(logs[0]), math.floor(logs[-1]) + 1):
        yield f'<path d="M{across(power):.1f} {top}v{_HIGH}" stroke="#ddd"/>'
        yield _text(across(power), top + _HIGH + 16, f"{10**power:,}", "middle")
    yield _text(left + _WIDE / 2, top + _HIGH + 32, "devices", "middle")
    for line in lines:
        colour, dashes = _STYLES[f"{line.model}, {line.noise or 'each device'}"]
        dots = [(across(log), down(told)) for log, told in zip(logs, line.told, strict=True) if told is not None]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in dots)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{2 if line.noise else 1}"{dashed}/>'
        if line.noise == "each device":
            yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in dots)


def _legend(left: float, top: float) -> Iterator[str]:
    for number, (name, (colour, dashes)) in enumerate([*_STYLES.items(), ("without privacy", (_GREY, ""))]):
        x, y = left + 330 * (number % 2), top + 18 * (number // 2)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        yield f'<path d="M{x} {y}h40" stroke="{colour}" stroke-width="{1 if colour == _GREY else 2}"{dashed}/>'
        if name.endswith("each device"):
            yield f'<circle cx="{x + 20}" cy="{y}" r="3" fill="{colour}"/>'
        yield _text(x + 48, y + 4, name)


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#333">{escape(words)}</text>'
