"""The picture of docs/learning.md, a training curve with its band, drawn from the tables of that page.

words:
  curve  of the model after each round, what it tells right: the mean of some fleets, and from the least to the most
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tools.price_plot import _text

__all__ = ["Point", "drawn"]

_WIDE, _HIGH, _LEFT, _TOP = 560, 230, 56, 24
_COLOUR, _GREY = "#0072b2", "#767676"


class Point(NamedTuple):
    """What one row of the table says."""

    mean: float
    """The part that is told right, of all fleets."""
    least: float
    """Of the fleet whose model tells least."""
    most: float
    """And most."""


def drawn(points: Sequence[Point], plain: float, about: str) -> str:
    """The picture as SVG; `plain` is told without privacy."""
    width, height = _LEFT + _WIDE + 20, _TOP + _HIGH + 84
    opening = f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {opening}>',
        f"<title>What a model tells right after each round: {about}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *_lines(points, plain),
        _text(_LEFT + _WIDE / 2, _TOP + _HIGH + 34, "rounds", "middle"),
        _text(_LEFT, _TOP + _HIGH + 56, f"{about}: the mean of the fleets, and from the least to the most"),
        _text(_LEFT, _TOP + _HIGH + 74, "dashed: without privacy"),
    ]
    return "\n".join([*parts, "</svg>", ""])


def _lines(points: Sequence[Point], plain: float) -> Iterator[str]:
    low = math.floor(10 * min(point.least for point in points)) / 10

    def place(number: int, told: float) -> str:
        return f"{_LEFT + _WIDE * number / (len(points) - 1):.1f} {_TOP + _HIGH * (1 - told) / (1 - low):.1f}"

    for tenth in range(round(10 * low), 11):
        start, y = place(0, tenth / 10), float(place(0, tenth / 10).split()[1])
        yield f'<path d="M{start}h{_WIDE}" stroke="#ddd"/>'
        yield _text(_LEFT - 6, y + 4, f"{10 * tenth}%", "end")
    for number in range(len(points)):
        yield _text(float(place(number, 0).split()[0]), _TOP + _HIGH + 16, str(number + 1), "middle")
    band = [place(number, point.most) for number, point in enumerate(points)]
    band += [place(number, points[number].least) for number in reversed(range(len(points)))]
    yield f'<path d="M{"L".join(band)}Z" fill="{_COLOUR}" fill-opacity="0.18"/>'
    mean = "L".join(place(number, point.mean) for number, point in enumerate(points))
    yield f'<path d="M{mean}" fill="none" stroke="{_COLOUR}" stroke-width="2"/>'
    yield f'<path d="M{place(0, plain)}h{_WIDE}" stroke="{_GREY}" stroke-dasharray="5 3"/>'
