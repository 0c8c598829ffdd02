"""Flags: the proportion of devices with each flag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Flags
from deniable_aggregator.answers._estimate import Estimate
from deniable_aggregator.answers._shares import share_rows
from deniable_aggregator.estimators import Target, frequencies

__all__ = ["answer", "shared", "truth"]


def answer(metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target) -> Estimate:
    """A row a flag; where a device answers one of them, each has the reports of its own column.

    The devices that have drawn a flag are a random sample of those that reported: also where these alone are meant,
    an interval has to account for sampling.
    """
    assert isinstance(metric.kind, Flags)
    found = [frequencies(column.mechanism, own) for column, own in zip(metric.columns, counters, strict=True)]
    reports = sum(each.reports for each in found)
    if len(found) == 1:
        rows = share_rows(metric.kind.flags, found[0], confidence, target)
    else:
        pairs = zip(metric.kind.flags, found, strict=True)
        rows = tuple(share_rows(("", flag), own, confidence, Target.POPULATION)[1] for flag, own in pairs)
    return Estimate(metric.name, reports, rows, confidence, target)


def shared(
    metric: Metric, counters: Sequence[NDArray[np.int64]], spread: Sequence[float], confidence: float, target: Target
) -> NDArray[np.float64]:
    """What of the variance of each row is of what devices keep; a remembered answer is about one flag for ever."""
    found = [frequencies(column.mechanism, own) for column, own in zip(metric.columns, counters, strict=True)]
    if len(found) == 1:
        return found[0].shared(spread[0], confidence, target)
    pairs = zip(found, spread, strict=True)
    return np.hstack([each.shared(own, confidence, Target.POPULATION)[:, 1:] for each, own in pairs])


def truth(metric: Metric, values: Sequence[Any]) -> list[float]:
    """What the rows would say if the values were known."""
    assert isinstance(metric.kind, Flags)
    return [sum(flag in names for names in values) / len(values) for flag in metric.kind.flags]
