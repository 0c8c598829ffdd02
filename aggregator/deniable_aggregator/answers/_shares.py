"""Rows of shares, for every kind whose answer is how often something occurs."""

from __future__ import annotations

from collections.abc import Sequence

from deniable_aggregator.answers._estimate import Row
from deniable_aggregator.estimators import Shares, Target

__all__ = ["share_rows"]


def share_rows(labels: Sequence[str], shares: Shares, confidence: float, target: Target) -> tuple[Row, ...]:
    """A row a label."""
    lows, highs = shares.intervals(confidence, target)
    columns = (shares.values, lows, highs, shares.std_errors(target))
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(Row(label, *row) for label, row in zip(labels, numbers, strict=True))
