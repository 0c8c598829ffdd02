"""Normal noise: how large it has to be, and why one printed formula is far too small.

With the deviation s, and results that are 1 apart, the least delta at epsilon is P(N > eps s - 1/(2 s)) - e^eps P(N
> eps s + 1/(2 s)): exactly, for a standard normal N. The classical s = sqrt(2 ln(1.25/delta))/eps is enough up to
epsilon 1, and three to six tenths more than it takes. It has been printed as a variance of ln(1.25/delta)/eps:
without the 2 and the squares. At epsilon 0.1 that is less than a quarter of the deviation, and a delta of 0.0069
where 0.00001 is said. At epsilon 10 the classical one fails, too. The system takes the exact one. (Balle and Wang,
ICML 2018; Dwork and Roth, 2014, theorem A.1.)
"""

from __future__ import annotations

import math
from fractions import Fraction

from scipy.stats import norm

from deniable import Epsilon
from deniable.mechanisms._calibration import deviation
from deniable_aggregator.telling.terminal import table

from ._drawing import Axis, Curve, curves
from ._running import run

__all__ = ["SHOWS", "as_deviation", "classical", "exact", "main", "misprinted", "truly"]

SHOWS: tuple[str, ...] = ("C10", "E1")
DELTA = 1e-5
_LEAST = 1e-10
"""What is less is not drawn."""


def classical(epsilon: float, delta: float = DELTA) -> float:
    """The textbook's deviation."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def misprinted(epsilon: float, delta: float = DELTA) -> float:
    """The deviation of the formula that lacks the 2 and the squares."""
    return math.sqrt(math.log(1.25 / delta) / epsilon)


def as_deviation(epsilon: float, delta: float = DELTA) -> float:
    """The same formula, if it is read as a deviation: safe at epsilon 1, and 2.4 times what it takes there."""
    return math.log(1.25 / delta) / epsilon


def exact(epsilon: float, delta: float = DELTA) -> float:
    """The least deviation that is enough, as the system calibrates it."""
    return float(deviation(Epsilon.of(epsilon).exp, Fraction(repr(delta))))


def truly(spread: float, epsilon: float) -> float:
    """The least delta at an epsilon, of results that are 1 apart."""
    middle, half = epsilon * spread, 1 / (2 * spread)
    return float(norm.sf(middle - half) - math.exp(epsilon) * norm.sf(middle + half))


def told() -> str:
    """Three formulas, and the delta that each of them really keeps."""
    rows = []
    for epsilon in (0.1, 0.5, 1.0, 2.0, 10.0):
        for name, formula in (("exact", exact), ("classical", classical), ("misprinted", misprinted)):
            spread = formula(epsilon)
            kept = truly(spread, epsilon)
            verdict = "holds" if kept <= DELTA * 1.001 else f"{kept / DELTA:,.1f} times what is said"
            rows.append((f"{epsilon:g}", name, f"{spread:.4f}", f"{kept:.3e}", verdict))
    header = ("epsilon", "formula", "deviation", "delta", f"delta {DELTA:g} is said")
    return table(header, rows, (True, False, True, True, False))


def drawn() -> str:
    """The delta that each formula really keeps."""
    points = [10 ** (power / 20) for power in range(-20, 21)]
    lines = [
        Curve(name, [(epsilon, kept) for epsilon in points if (kept := truly(formula(epsilon), epsilon)) > _LEAST])
        for name, formula in (("misprinted", misprinted), ("classical", classical))
    ]
    lines.append(Curve("what is said", [(epsilon, DELTA) for epsilon in points]))
    across = Axis("epsilon", [0.1, 1, 10], powers=True)
    up = Axis("delta", [10.0**power for power in range(-10, 1, 2)], powers=True)
    return curves("The delta that normal noise keeps, by three formulas", across, up, lines)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
