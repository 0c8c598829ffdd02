"""Telemetry that the people it counts can deny: every device randomises its own answer before anything leaves it.

Nothing outside the standard library is imported before the first upload, and no part of this package before it is
first used: an application that imports it and has not been asked to collect anything pays for this page only.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # the module typing is a third of an empty interpreter's start
if TYPE_CHECKING:
    from typing import Any

    from deniable.accessor import Accessor
    from deniable.client import Client
    from deniable.collection import Budget, Collection, Column, Metric, Report
    from deniable.device.consent import Consent
    from deniable.device.ledger import Charge
    from deniable.device.settings import Settings, Status
    from deniable.device.statefile import state_path
    from deniable.device.transcript import Entry
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
    from deniable.wire.credentials import Credentials

__all__ = [
    "Accessor",
    "Budget",
    "BudgetExceededError",
    "Charge",
    "Client",
    "Collection",
    "CollectionError",
    "Column",
    "Consent",
    "Credentials",
    "DeniableError",
    "Entry",
    "Epsilon",
    "InvalidValueError",
    "Metric",
    "Problem",
    "Report",
    "Settings",
    "StateError",
    "Status",
    "UnknownMetricError",
    "state_path",
]

_ROOMS = {
    "accessor": ("Accessor",),
    "client": ("Client",),
    "collection": ("Budget", "Collection", "Column", "Metric", "Report"),
    "device.consent": ("Consent",),
    "device.ledger": ("Charge",),
    "device.settings": ("Settings", "Status"),
    "device.statefile": ("state_path",),
    "device.transcript": ("Entry",),
    "epsilon": ("Epsilon",),
    "errors": (
        "BudgetExceededError",
        "CollectionError",
        "DeniableError",
        "InvalidValueError",
        "Problem",
        "StateError",
        "UnknownMetricError",
    ),
    "wire.credentials": ("Credentials",),
}
_ROOM = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _ROOM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_ROOM[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
