"""Vectors in a table: how much noise each mechanism adds, and how much a report weighs.

python -m tools.vectors            print it
python -m tools.vectors --write    and replace it in docs/vectors.md

words:
  n Var     the variance of all entries of one report's estimate together, of vectors of length 1
  PrivUnit  names a point of the sphere at random, rather one of a cap around the vector: at its best cap nothing of
            its family has less variance (arXiv 2205.02466)
"""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import lru_cache
from math import expm1
from pathlib import Path

from tools.page_parts import Part

from deniable import Epsilon
from deniable.kinds import Vector
from deniable.mechanisms import Codewords, Gaussian, VectorLaplace
from deniable.mechanisms._sphere import _nodes

__all__ = ["PAGE", "placed", "privunit", "table"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "vectors.md"
_PART = Part("<!-- vectors: tools/vectors.py -->", "<!-- end of vectors -->")
_ROW_BYTES = 8
_DELTA = Fraction(1, 10**6)
DIMENSIONS = (16, 64, 256, 1024)
EPSILONS = ("0.5", "1", "2", "4", "8")


@lru_cache
def privunit(dimensions: int, epsilon: float) -> float:
    """n Var of PrivUnit on the sphere of one more dimension, at its best cap.

    A cap of the chance u is e^eps times as likely as the rest when it is named with p = u e^eps / (u e^eps + 1 - u):
    the mean point is then its first moment times (p / u - (1 - p) / (1 - u)).
    """
    nodes, excess = _nodes(dimensions + 1), expm1(epsilon)
    reach = max(first * excess / (tail * excess + 1) for first, tail in zip(nodes.firsts, nodes.tails, strict=True))
    return 1 / reach**2 - 1


def _sums(epsilon: str, dimensions: int) -> tuple[float, float, float]:
    """n Var of codewords and of Gaussian noise, of vectors of l2 norm 1, and of Laplace noise, of l1 norm 1."""
    known, kinds = (
        Epsilon.of(Fraction(epsilon)),
        [Vector(dimensions, Fraction(1), norm) for norm in ("l2", "l2", "l1")],
    )
    codewords = Codewords.best(known, dimensions, kinds[0].bound)
    gaussian = Gaussian(known, _DELTA, dimensions, kinds[1].bound).variance / kinds[1].grid ** 2
    laplace = VectorLaplace(known, dimensions, kinds[2].bound).variance / kinds[2].grid ** 2
    return 1 / codewords.reach**2 - 1, dimensions * gaussian, dimensions * laplace


def table() -> str:
    """The table, as the page has it."""
    lines = [
        "| entries | epsilon | codewords | over PrivUnit | Gaussian, delta = 10^-6 | Laplace (l1) | bytes |",
        "|---|---|---|---|---|---|---|",
    ]
    for dimensions in DIMENSIONS:
        for epsilon in EPSILONS:
            codewords, gaussian, laplace = _sums(epsilon, dimensions)
            over = codewords / privunit(dimensions, float(epsilon))
            cells = [
                f"{dimensions:,}",
                epsilon,
                _digits(codewords),
                f"{over:.3f}",
                _digits(gaussian),
                _digits(laplace),
            ]
            lines.append(f"| {' | '.join(cells)} | {_ROW_BYTES}, {4 * dimensions:,} |")
    return "\n".join(lines)


def _digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def placed(page: str) -> str:
    """The page with the table of the code."""
    return _PART.put(page, table())


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(placed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
