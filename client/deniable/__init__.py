"""Telemetry that the people it counts can deny: every device randomises its own answer before anything leaves it.

Nothing outside the standard library is imported before the first upload.
"""

from __future__ import annotations

from deniable.client import Client, Consent, Settings
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
from deniable.ledger import Charge

__all__ = [
    "Budget",
    "BudgetExceededError",
    "Charge",
    "Client",
    "Collection",
    "CollectionError",
    "Column",
    "Consent",
    "DeniableError",
    "Epsilon",
    "InvalidValueError",
    "Metric",
    "Problem",
    "Report",
    "Settings",
    "StateError",
    "UnknownMetricError",
]
