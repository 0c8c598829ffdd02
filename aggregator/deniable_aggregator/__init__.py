"""The service that turns randomised reports into population estimates with intervals.

Importing it imports nothing: a name is loaded from its room when it is first used, so that no process holds what it
does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable_aggregator.analysis.comparison import Change, Comparison, Devices
    from deniable_aggregator.analysis.offline import compare, estimate
    from deniable_aggregator.answers import Bound, Estimate, Heading, Measure, Row, RowId, Series, Target
    from deniable_aggregator.answers._known import Known, knowing
    from deniable_aggregator.answers.tree import whole_numbers
    from deniable_aggregator.telling.asking import (
        Before,
        CompareOptions,
        EstimateOptions,
        IntervalOptions,
        RowOptions,
        WindowOptions,
    )
    from deniable_aggregator.telling.remote import Reader, RemoteError
    from deniable_aggregator.telling.tables import Table

__all__ = [
    "Before", "Bound", "Change", "CompareOptions", "Comparison", "Devices", "Estimate", "EstimateOptions", "Heading",
    "IntervalOptions", "Known", "Measure", "Reader", "RemoteError", "Row", "RowId", "RowOptions", "Series", "Table",
    "Target", "WindowOptions", "compare", "estimate", "knowing", "whole_numbers",
]  # fmt: skip

_ROOM = {
    "Before": "telling.asking",
    "Bound": "answers",
    "Change": "analysis.comparison",
    "CompareOptions": "telling.asking",
    "Comparison": "analysis.comparison",
    "Devices": "analysis.comparison",
    "Estimate": "answers",
    "EstimateOptions": "telling.asking",
    "Heading": "answers",
    "IntervalOptions": "telling.asking",
    "Known": "answers._known",
    "Measure": "answers",
    "Reader": "telling.remote",
    "RemoteError": "telling.remote",
    "Row": "answers",
    "RowId": "answers",
    "RowOptions": "telling.asking",
    "Series": "answers",
    "Table": "telling.tables",
    "Target": "answers",
    "WindowOptions": "telling.asking",
    "compare": "analysis.offline",
    "estimate": "analysis.offline",
    "knowing": "answers._known",
    "whole_numbers": "answers.tree",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _ROOM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_ROOM[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
