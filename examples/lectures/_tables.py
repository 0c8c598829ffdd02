"""What the topics share: a question as a collection asks it, and the privacy of any table of chances.

words:
  matrix  a row for each input, a column for each result: the chances of a mechanism
  worst   the epsilon of a matrix: the logarithm of the greatest ratio of two rows
  lost    the delta of a matrix at an epsilon: the most that one row has above e^epsilon times another
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable import Collection, Metric

__all__ = ["asked", "lost", "matrix", "worst"]


def asked(kind: str, epsilon: str, more: str = "") -> Metric:
    """A metric, as a collection file asks it."""
    text = f"""
[collection]
name = "lecture"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 32.0
[metrics.asked]
kind = "{kind}"
description = "What is asked"
epsilon = {epsilon}
{more}
"""
    return Collection.loads(text).metrics["asked"]


def matrix(metric: Metric) -> NDArray[np.float64]:
    """The chances of a metric's mechanism, exactly computed and rounded once."""
    (column,) = metric.columns
    return np.array([[float(chance) for chance in row.values()] for row in column.channel()])


def worst(table: ArrayLike) -> float:
    """The least epsilon that a matrix keeps; infinite where a result is possible with one input alone."""
    return max((_ratio(one, other) for one, other in _pairs(table)), default=0.0)


def lost(table: ArrayLike, epsilon: float) -> float:
    """The least delta that a matrix keeps at an epsilon."""
    odds = math.exp(epsilon)
    return max(float(np.maximum(one - odds * other, 0).sum()) for one, other in _pairs(table))


def _pairs(table: ArrayLike) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    rows = np.asarray(table, dtype=np.float64)
    return ((rows[a], rows[b]) for a in range(len(rows)) for b in range(len(rows)) if a != b)


def _ratio(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The logarithm of the greatest ratio, over results that the first makes possible."""
    own = one > 0
    with np.errstate(divide="ignore"):
        return float(np.log(one[own] / other[own]).max())
