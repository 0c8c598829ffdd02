"""What is known from elsewhere, said in the words of an answer: of rows, by their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deniable_aggregator.answers._estimate import Estimate, Measure, RowId, Series
from deniable_aggregator.consistency.constraints import Between, constrained

__all__ = ["Known", "knowing"]


@dataclass(frozen=True, slots=True)
class Known:
    """Something that is known of the rows of a series: of their sum, each times a factor."""

    factors: Mapping[str, float]
    """The factor of each row that counts, by its key."""
    low: float
    """The least that the sum can be."""
    high: float
    """The most; the same as the least where the sum is known."""


def knowing(found: Estimate, known: Sequence[Known], series: str = "") -> dict[RowId, float]:
    """What the rows of a series (the first, unless it is named) would be if they fitted what is known; of shares also
    that they are not negative, at most 1, and, where every device is in one row, 1 together.

    It is the nearest to the estimates, each in units of its standard error, and no farther from the truth in these
    units than they are, where what is said is true. Like every consistent view it has no intervals, stands beside the
    estimate, and costs no privacy. A ValueError where nothing fits; needs the extra `constraints`.
    """
    own = next((each for each in found.series if series in ("", each.heading.name)), None)
    if own is None:
        raise LookupError(f"{found.metric} has no series {series!r}")
    values, errors = (np.array([getattr(row, part) for row in own.rows]) for part in ("value", "std_error"))
    fitted = constrained(values, errors, [*_possible(own), *(_between(own, each) for each in known)])
    return {RowId(own.heading.name, row.key): value for row, value in zip(own.rows, fitted.tolist(), strict=True)}


def _possible(series: Series) -> list[Between]:
    """What is known of every series of its measure."""
    if series.heading.measure is not Measure.SHARE:
        return []
    each = [Between(row, 0.0, 1.0) for row in np.eye(len(series.rows))]
    return [*each, Between(np.ones(len(series.rows)), 1.0, 1.0)] if series.heading.adds_up else each


def _between(series: Series, known: Known) -> Between:
    places = {row.key: place for place, row in enumerate(series.rows)}
    factors = np.zeros(len(places))
    for key, factor in known.factors.items():
        if key not in places:
            raise LookupError(f"there is no row {key!r} of {series.heading.name!r}")
        factors[places[key]] = factor
    return Between(factors, known.low, known.high)
