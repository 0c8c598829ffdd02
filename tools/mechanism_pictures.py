"""A picture of every mechanism, from its exact chances: what two answers look like to who sees a report.

python -m tools.mechanism_pictures            what they show
python -m tools.mechanism_pictures --write    draw them, into docs/images/mechanisms

words:
  bar     the chance of one payload under one answer; of many payloads they touch
  ratio   of the two chances of a payload: at most e^epsilon, by whichever answer it is greater
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import NamedTuple

from deniable.epsilon import Epsilon
from deniable.mechanisms import (
    BitwiseResponse,
    Codewords,
    Exponential,
    Gaussian,
    Hybrid,
    Laplace,
    Mechanism,
    Memoized,
    MemoizedBitwise,
    MemoizedSubset,
    PadAndSample,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
    VectorLaplace,
)
from deniable.mechanisms._entries import pack

__all__ = ["PICTURES", "SHOWN", "chances", "drawn"]

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "images" / "mechanisms"
ONE, TWO, FOUR = (Epsilon.of(number) for number in (1, 2, 4))
_WIDE, _HIGH, _LEFT, _TOP = 560, 170, 52, 46
_ALIKE = 'role="img" font-family="sans-serif" font-size="12"'
_COLOURS = ("#0072b2", "#d55e00")


class Shown(NamedTuple):
    """What a picture shows."""

    mechanism: Mechanism
    """A small one."""
    answers: dict[str, int]
    """Two of its inputs, by what they stand for."""
    payloads: str
    """What the bars stand for, from left to right."""


_ENDS = "the low end", "the high end"


def _of(mechanism: Mechanism, first: int, second: int, answers: tuple[str, str], payloads: str) -> Shown:
    return Shown(mechanism, dict(zip(answers, (first, second), strict=True)), payloads)


def _pad_and_sample() -> Shown:
    sets = PadAndSample(ONE, 6, 2)
    answers = "an empty set", "the first two of 6"
    return _of(sets, sets.encode([]), sets.encode([0, 1]), answers, "each item, then each padding")


SHOWN: dict[str, Shown] = {
    "randomized_response": _of(
        RandomizedResponse(ONE, 5), 0, 4, ("the first of 5", "the last"), "each of the 5 answers"
    ),
    "subset_selection": _of(
        SubsetSelection(ONE, 6, 2), 0, 5, ("the first of 6", "the last"), "each pair of the 6 answers"
    ),
    "projective_geometry": _of(
        ProjectiveGeometryResponse(ONE, 13, 3, 3), 0, 12, ("the first of 13", "the last"), "each of 13 symbols"
    ),
    "exponential": _of(
        Exponential(TWO, 9), 0, 4, ("the lowest of 9", "the one in the middle"), "each answer, in order"
    ),
    "bitwise_response": _of(BitwiseResponse(TWO, 4), 0, 15, ("no flag of 4", "all four"), "each bitmap"),
    "hybrid": _of(Hybrid.best(ONE), 0, Hybrid.best(ONE).inputs - 1, _ENDS, "each output, by its level"),
    "laplace": _of(Laplace(ONE, 20), 0, 20, _ENDS, "each level of a grid of 20 steps, and those beyond it"),
    "vector_laplace": _of(VectorLaplace(ONE, 1, 12), pack([-12]), pack([12]), _ENDS, "each level of one entry"),
    "gaussian": _of(
        Gaussian(FOUR, Fraction(1, 100_000), 1, 9), pack([-9]), pack([9]), _ENDS, "each level of one entry"
    ),
    "codewords": _of(
        Codewords(ONE, 2, 9, 16, 5, 1),
        pack([9, 0]),
        pack([-9, 0]),
        ("a vector to the right", "one to the left"),
        "each of 16 codewords that a seed makes",
    ),
    "pad_and_sample": _pad_and_sample(),
    "memoized": _of(
        Memoized(RandomizedResponse(TWO, 5), RandomizedResponse(TWO, 5)),
        0,
        4,
        ("the first of 5", "the last"),
        "each of the 5 answers, through both steps",
    ),
    "memoized_bitwise": _of(
        MemoizedBitwise(BitwiseResponse(TWO, 3), BitwiseResponse(TWO, 3)),
        0,
        7,
        ("no flag of 3", "all three"),
        "each bitmap, through both steps",
    ),
    "memoized_subset": _of(
        MemoizedSubset(SubsetSelection(TWO, 6, 2), TWO),
        0,
        5,
        ("the first of 6", "the last"),
        "each of the 6 answers, through both steps",
    ),
}
"""Of every mechanism one that is small enough to be drawn."""


def chances(shown: Shown) -> list[tuple[float, float]]:
    """Of every payload, in order, under either answer."""
    first, second = shown.answers.values()
    chance = shown.mechanism.probability
    return [(float(chance(each, first)), float(chance(each, second))) for each in shown.mechanism.payloads()]


def drawn(name: str) -> str:
    """The picture of a mechanism, as SVG."""
    shown = SHOWN[name]
    found = chances(shown)
    worst = max(max(a / b, b / a) for a, b in found if a and b)
    most = max(max(each) for each in found)
    title = f"{name}: the chance of each payload under two answers"
    width, height = _LEFT + _WIDE + 12, _TOP + _HIGH + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_ALIKE}>',
        f"<title>{title}</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *_grid(most),
        *_bars(found, most),
        *_legend(shown),
    ]
    bound = math.exp(float(shown.mechanism.epsilon))
    epsilon = shown.mechanism.epsilon
    words = f"epsilon {epsilon}, e^epsilon {bound:.3f}: two bars of a payload differ by {worst:.3f} at most"
    parts += [_text(_LEFT, _TOP + _HIGH + 16, shown.payloads), _text(_LEFT, _TOP + _HIGH + 36, words)]
    return "\n".join([*parts, "</svg>", ""])


def _grid(most: float) -> Iterator[str]:
    for part in (0.0, 0.5, 1.0):
        y = _TOP + _HIGH * (1 - part)
        yield f'<path d="M{_LEFT} {y:.1f}h{_WIDE}" stroke="#ddd"/>'
        yield _text(_LEFT - 6, y + 4, f"{100 * part * most:.3g}%", "end")


def _bars(found: list[tuple[float, float]], most: float) -> Iterator[str]:
    """Two of each payload, side by side; of very many two lines."""
    step = _WIDE / len(found)
    for number, colour in enumerate(_COLOURS):
        heights = [_HIGH * each[number] / most for each in found]
        if len(found) > 60:
            path = "L".join(f"{_LEFT + at * step:.1f} {_TOP + _HIGH - high:.1f}" for at, high in enumerate(heights))
            yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
            continue
        for at, high in enumerate(heights):
            x = _LEFT + step * (at + 0.1 + 0.4 * number)
            size = f'width="{0.4 * step:.1f}" height="{high:.1f}"'
            yield f'<rect x="{x:.1f}" y="{_TOP + _HIGH - high:.1f}" {size} fill="{colour}"/>'


def _legend(shown: Shown) -> Iterator[str]:
    for number, (answer, colour) in enumerate(zip(shown.answers, _COLOURS, strict=True)):
        x = _LEFT + 280 * number
        yield f'<rect x="{x}" y="14" width="14" height="12" fill="{colour}"/>'
        yield _text(x + 20, 24, f"the answer is {answer}")


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#333">{escape(words)}</text>'


def main() -> None:
    """Draw them, or say what they show."""
    for name, shown in SHOWN.items():
        if "--write" in sys.argv[1:]:
            (PICTURES / f"{name}.svg").write_text(drawn(name), encoding="utf-8")
        else:
            print(f"{name}: {' and '.join(shown.answers)}; {shown.payloads}")


if __name__ == "__main__":
    main()
