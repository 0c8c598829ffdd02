"""Means in a table: how much more variance `auto` has than the best of all channels. `--write` puts it into a page.

python -m tools.mean_accuracy            print it: some minutes
python -m tools.mean_accuracy --write    and replace it in docs/means.md

words:
  channel   from values on the range to numbers, unbiased: the mean of what is sent is the value, whichever it is
  best      the channel whose variance is least for the value where it is greatest, as a linear program finds it
  levels    the numbers that may be sent, evenly spaced: more of them make the program's channel better
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array
from tools.page_parts import Part

from deniable import Epsilon
from deniable.kinds import Number

__all__ = ["EPSILONS", "PAGE", "asked", "least_variance", "rows"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "means.md"
_PART = Part("<!-- means: tools/mean_accuracy.py -->", "<!-- end of means -->")
EPSILONS = ("0.25", "0.5", "1", "1.5", "2", "3", "4", "6", "8")
_VALUES, _LEVELS, _COARSE = 81, 241, 81

_Floats = NDArray[np.float64]


def least_variance(epsilon: float, values: int = _VALUES, levels: int = _LEVELS) -> float:
    """The variance of the best channel, in squared half ranges, for so many values, evenly spaced, and levels.

    What is sent of the most extreme levels is looked for first, so that none are spent on what is not sent.
    """
    reach = 1 / math.tanh(epsilon / 4)  # the farthest level of the piecewise mechanism
    spaced = np.linspace(-reach, reach, _COARSE)
    base = _solved(epsilon, min(values, 21), spaced)[1]
    farthest = 2 * reach / _COARSE + float(spaced[base > 1e-7].max())
    return _solved(epsilon, values, np.linspace(-farthest, farthest, levels))[0]


def _solved(epsilon: float, values: int, levels: _Floats) -> tuple[float, _Floats]:
    """The least variance, and the least chance that a value has of each level.

    A channel keeps epsilon if and only if each chance is between the least and e^eps times that. What is sent of a
    value and of its negative may as well be mirrored, so that one half of the values is enough.
    """
    shares, size = np.linspace(0, 1, (values + 1) // 2), len(levels)
    cells = len(shares) * size
    cell, least, goal = np.arange(cells), cells + np.tile(np.arange(size), len(shares)), cells + size
    own, place = np.divmod(cell, size)
    one = np.ones(cells)
    above = [(cell, cell, one), (cell, least, -math.exp(epsilon) * one)]
    below = [(cells + cell, cell, -one), (cells + cell, least, one)]
    square = [(2 * cells + own, cell, levels[place] ** 2)]
    most = [(2 * cells + np.arange(len(shares)), np.full(len(shares), goal), -np.ones(len(shares)))]
    half = np.arange(size // 2)
    sure = [(own, cell, one), (len(shares) + own, cell, levels[place])]
    mirrored = [(2 * len(shares) + half, cells + half, np.ones(len(half))),
                (2 * len(shares) + half, cells + size - 1 - half, -np.ones(len(half)))]  # fmt: skip
    found = linprog(
        np.append(np.zeros(goal), 1.0),
        _matrix([*above, *below, *square, *most], goal + 1),
        np.concatenate([np.zeros(2 * cells), shares**2]),
        _matrix([*sure, *mirrored], goal + 1),
        np.concatenate([np.ones(len(shares)), shares, np.zeros(len(half))]),
        method="highs-ipm",
    )
    assert found.x is not None, found.message
    return float(found.x[goal]), found.x[cells:goal]


def _matrix(parts: list[tuple[NDArray[np.int64], NDArray[np.int64], _Floats]], columns: int) -> Any:
    row, column, number = (np.concatenate(each) for each in zip(*parts, strict=True))
    return coo_array((number, (row, column)), shape=(int(row.max()) + 1, columns))


def asked(epsilon: str) -> tuple[str, float]:
    """What `auto` asks for a number by, and its variance in squared half ranges where it is greatest."""
    first = Number(Fraction(0), Fraction(1), Fraction(1, 100)).choices(Epsilon.of(Fraction(epsilon)))[0]
    return first.name, 4 * float(first.variance)


def rows(page: str) -> list[list[str]]:
    """The cells of the table on the page."""
    lines = _PART.of(page).splitlines()[2:]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def table() -> str:
    """The table, as the page has it."""
    lines = ["| epsilon | mechanism | its variance | least variance | times the least |", "|---|---|---|---|---|"]
    for epsilon in EPSILONS:
        (name, own), least = asked(epsilon), least_variance(float(epsilon))
        print(f"epsilon {epsilon}", file=sys.stderr, flush=True)
        lines.append(f"| {epsilon} | {name} | {own:.4g} | {least:.4g} | {own / least:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    made = table()
    if "--write" in sys.argv:
        _PART.write(PAGE, made)
    else:
        print(made)
