"""Consistent views: what is known of the truth (shares are not negative and add up to 1) put upon raw estimates.

A consistent view is shown beside the raw estimate and never instead of it: it is biased where it corrects, and no
interval of the raw estimate belongs to it.
"""

from __future__ import annotations

import numpy as np

from deniable import Metric
from deniable_aggregator.answers import Estimate, Measure
from deniable_aggregator.consistency.simplex import on_simplex

__all__ = ["consistent", "on_simplex"]

_ADD_UP = {"category", "ordinal"}
"""Kinds of which every device has exactly one of the values that the rows are about."""


def consistent(metric: Metric, estimate: Estimate) -> list[float | None]:
    """For each row what it would be if it fitted the others; None where nothing is known, or nothing to fit."""
    shares = [row.measure is Measure.SHARE for row in estimate.rows]
    raw = np.array([row.value for row, share in zip(estimate.rows, shares, strict=True) if share])
    fitted = on_simplex(raw) if metric.kind.name in _ADD_UP else np.clip(raw, 0.0, 1.0)
    values = iter(fitted.tolist())
    found = [next(values) if share else None for share in shares]
    return [None if value is None or np.isnan(value) else value for value in found]
