"""Estimates: rows of (label, value, low, high, standard error) with the number of reports behind them."""

from __future__ import annotations

import csv
import enum
import io
import math
from dataclasses import dataclass
from typing import Any

from deniable_aggregator.estimators import Target

__all__ = ["Estimate", "Measure", "Row"]

_NUMBERS = ("value", "low", "high", "std_error")


class Measure(enum.StrEnum):
    """What the numbers of a row are."""

    SHARE = "share"
    """A share of devices: 0 to 1."""
    QUANTITY = "quantity"
    """In the unit of the metric: a mean, a deviation, a quantile, a rank."""
    TOTAL = "total"
    """In the unit of the metric, added up over the devices that reported: it grows with their number."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an answer."""

    label: str
    """What it is about."""
    value: float
    """The estimate, not corrected: it may lie outside of what is possible; nan without reports."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval; infinite where nothing is known of it, as the estimate's note says."""
    std_error: float
    """Standard error of the value, as the reports show it; nan where it is not known."""
    measure: Measure = Measure.SHARE
    """What these numbers are."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The answer of one metric."""

    metric: str
    """Its name."""
    reports: int
    """How many reports are behind it."""
    rows: tuple[Row, ...]
    """Its lines."""
    confidence: float
    """The confidence level of each interval."""
    target: Target
    """Whom the intervals are about."""
    simultaneous: bool = False
    """Whether all intervals together hold with this confidence, not just each."""
    note: str = ""
    """What keeps an interval from having an end; empty where nothing does."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows in plain Python; what is not known is None."""
        return [
            {"metric": self.metric, "reports": self.reports, "label": row.label}
            | {name: _known(getattr(row, name)) for name in _NUMBERS}
            for row in self.rows
        ]

    def to_csv(self) -> str:
        """The rows as a CSV table with a header; what is not known is empty."""
        text = io.StringIO()
        writer = csv.DictWriter(text, ["metric", "reports", "label", *_NUMBERS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.to_dicts())
        return text.getvalue()


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
