"""Telemetry that the people it counts can deny: every device randomises its own answer before anything leaves it.

Nothing outside the standard library is imported before the first upload.
"""

from __future__ import annotations

from deniable.collection import Budget, Collection, Column, Metric, Report
from deniable.epsilon import Epsilon
from deniable.errors import (
    BudgetExceededError,
    CollectionError,
    DeniableError,
    InvalidValueError,
    Problem,
    StateError,
    UnknownMetricError,
)

__all__ = [
    "Budget",
    "BudgetExceededError",
    "Collection",
    "CollectionError",
    "Column",
    "DeniableError",
    "Epsilon",
    "InvalidValueError",
    "Metric",
    "Problem",
    "Report",
    "StateError",
    "UnknownMetricError",
]
