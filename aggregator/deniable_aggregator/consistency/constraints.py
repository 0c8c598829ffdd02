"""What is known from elsewhere put upon estimates: weighted sums of rows that are so much, or between so and so much.

Known are a share that somebody else has counted, two shares that are equal, one that is at most another. Nearest to
the estimates, in units of their standard errors, is the point of a convex set, and that is never farther from any
point of the set (so from the truth, if what is said is so) than the estimates are: in the norm that is weighted as
they are. The solver is Clarabel's (an interior point method; Goulart and Chen, 2024), which is installed with the
extra `constraints`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.consistency.hierarchy import Reals

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Between", "constrained", "nearest"]


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """A sum of rows, each times a factor, that lies between two numbers; where these are one, it is that."""

    factors: Reals
    """One a row."""
    low: float
    """The least that the sum can be; -inf where there is none."""
    high: float
    """The most; inf where there is none."""


def constrained(values: Reals, errors: Reals, known: Sequence[Between]) -> Reals:
    """What is nearest to the values, in units of their standard errors, of all that fits what is known.

    A ValueError where nothing fits. To nine digits of the greatest value.
    """
    from scipy.sparse import csr_array, vstack

    rows = [csr_array(np.asarray(each.factors, dtype=np.float64)[None, :]) for each in known]
    low, high = (np.array([getattr(each, end) for each in known]) for end in ("low", "high"))
    if not len(known):
        return np.asarray(values, dtype=np.float64)
    return nearest(values, 1 / np.square(errors), vstack(rows, format="csr"), low, high)


def nearest(values: Reals, weights: Reals, factors: csr_array, low: Reals, high: Reals) -> Reals:
    """The numbers nearest to the values (weighted, squared) of whose sums, a row of factors each, none is less than
    its low end or more than its high one."""
    from scipy.sparse import csc_array, diags_array, vstack

    try:
        import clarabel
    except ImportError as absent:
        raise ImportError("constraints need clarabel: pip install deniable-aggregator[constraints]") from absent

    values, weights = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(values).all() and np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError("what is to fit has to be known: a value is finite, and its standard error, above zero")
    if np.isnan(low).any() or np.isnan(high).any() or (low > high).any():
        raise ValueError("a low end is not above the high one")
    # Of u = sqrt(weight) * (x - value), which has one scale for all, the least sum of squares.
    moved = factors @ values
    scaled = factors @ diags_array(1 / np.sqrt(weights))
    equal = low == high
    under, over = ~equal & np.isfinite(high), ~equal & np.isfinite(low)
    rows = vstack([scaled[equal], scaled[under], -scaled[over]], format="csc")
    ends = np.concatenate([(low - moved)[equal], (high - moved)[under], (moved - low)[over]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(int(under.sum() + over.sum()))]
    identity = csc_array(diags_array(np.ones(len(values))))
    solver = clarabel.DefaultSolver(identity, np.zeros(len(values)), csc_array(rows), ends, cones, settings)
    solution = solver.solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        raise ValueError(f"nothing fits all that is said to be known ({solution.status})")
    found: Reals = values + np.asarray(solution.x) / np.sqrt(weights)
    return found
