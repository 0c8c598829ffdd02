"""Rows of shares, for every kind whose answer is how often something occurs."""

from __future__ import annotations

from collections.abc import Sequence

from deniable_aggregator.answers._estimate import Row
from deniable_aggregator.estimators import Frequencies, Target

__all__ = ["share_rows"]


def share_rows(labels: Sequence[str], frequencies: Frequencies, confidence: float, target: Target) -> tuple[Row, ...]:
    """A row a label."""
    lows, highs = frequencies.intervals(confidence, target)
    columns = (frequencies.values, lows, highs, frequencies.std_errors(target))
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(Row(label, *row) for label, row in zip(labels, numbers, strict=True))
