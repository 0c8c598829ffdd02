"""Vectors of batches, which both ends read alike; and of answers: counters become estimates and intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tools.porting_collections import Loaded
from tools.porting_words import Stream, fed

from deniable import Collection, Metric, Report
from deniable.device.outbox import Batch
from deniable.wire.rows import encode_rows, encode_wide_rows
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.answers import Target, answer

__all__ = ["TOLERANCE", "answers", "batches", "dense", "rows"]

TOLERANCE = 1e-6
"""Of an interval's width: so near another implementation has to come to a number of a row."""
_DEVICES = 240
_WORDS = 400
"""No report takes as many words."""


def batches(every: list[Loaded]) -> dict[str, Any]:
    """Batches of each collection: of some reports, of one; in the first epochs and in the last one that there is."""
    cases = []
    for each in every:
        collection, stream = each.collection, Stream(f"batches {each.collection.name}")
        metrics = list(collection.metrics.values())
        for number, epoch in enumerate((0, 1, 20_000, (1 << 32) - 1, *([20_001] * len(metrics)))):
            asked = metrics[number - 4 : number - 3] if number >= 4 else metrics[number % 2 :: number + 1] or metrics
            segment = stream.below(collection.segment_count) if number else 0
            cases.append(_batch(each, epoch, segment, [_report(metric, number, stream) for metric in asked], stream))
    return {"cases": cases}


def _batch(each: Loaded, epoch: int, segment: int, reports: list[Report], stream: Stream) -> dict[str, Any]:
    collection = each.collection
    batch = Batch.of(bytes(stream.below(256) for _ in range(16)), collection, epoch, segment, reports)
    return {
        "collection": collection.name,
        "digest": f"{collection.digest:016x}",
        "batch_id": batch.batch_id.hex(),
        "epoch": epoch,
        "segment": _segment(collection, segment),
        "segment_index": segment,
        "reports": [[column, f"{payload:x}"] for column, payload in reports],
        "rows": encode_rows(reports, collection.columns).hex(),
        "wide_rows": [[column, payload.hex()] for column, payload in encode_wide_rows(reports, collection.columns)],
        "request": batch.request.hex(),
    }


def _segment(collection: Collection, index: int) -> dict[str, str]:
    values = {}
    for name, names in reversed(list(collection.segments.items())):
        index, place = divmod(index, len(names))
        values[name] = names[place]
    return dict(reversed(values.items()))


def _report(metric: Metric, number: int, stream: Stream) -> Report:
    """One of an audit's two answers, randomised with a stream's words."""
    with fed([stream.word() for _ in range(_WORDS)]):
        return metric.randomize(metric.kind.apart()[number % 2])


def answers(every: list[Loaded]) -> dict[str, Any]:
    """Of each kind's metric what reports add up to, and what that says; of none, of a few and of more reports."""
    cases = []
    for each in every:
        for metric in each.collection.metrics.values():
            stream = Stream(f"answers {each.collection.name} {metric.name}")
            for devices in _devices(metric):
                reports = [_report(metric, number % 3 // 2, stream) for number in range(devices)]
                counters = accumulate(metric, reports)
                cases += [_answered(each, metric, counters, *how) for how in _ways(devices)]
    return {"tolerance": TOLERANCE, "cases": cases}


def _devices(metric: Metric) -> tuple[int, ...]:
    return (60,) if metric.kind.name in {"text", "vector"} else (0, 5, _DEVICES)


def _ways(devices: int) -> list[tuple[float, Target, bool]]:
    plain = (0.95, Target.POPULATION, False)
    return (
        [plain, (0.9, Target.REPORTING, False), (0.99, Target.POPULATION, True)] if devices == _DEVICES else [plain]
    )


def _answered(
    each: Loaded, metric: Metric, counters: list[NDArray[np.int64]], confidence: float, target: Target, all_: bool
) -> dict[str, Any]:
    return {
        "collection": each.collection.name,
        "metric": metric.name,
        "confidence": confidence,
        "target": target.value,
        "simultaneous": all_,
        "counters": [_sparse(column) for column in counters],
        "rows": rows(metric, counters, confidence, target, simultaneous=all_),
    }


def rows(
    metric: Metric, counters: Sequence[NDArray[np.int64]], confidence: float, target: Target, *, simultaneous: bool
) -> list[list[Any]]:
    """Series, key, value, low, high and standard error of every row; what is not known or has no end is null."""
    told = answer(metric, list(counters), confidence, target, simultaneous)
    return [
        [where.series, where.key, *(_known(getattr(row, name)) for name in ("value", "low", "high", "std_error"))]
        for where, row in zip(told.ids, told.rows, strict=True)
    ]


def _known(number: float) -> float | None:
    return float(f"{number:.10g}") if math.isfinite(number) else None


def _sparse(counters: NDArray[np.int64]) -> list[list[int]]:
    """Which are not 0, and what they are."""
    return [[place, int(number)] for place, number in enumerate(counters.tolist()) if number]


def dense(counted: Sequence[Sequence[int]], size: int) -> NDArray[np.int64]:
    """All counters of a column, from those that are not 0."""
    counters = np.zeros(size, dtype=np.int64)
    for place, number in counted:
        counters[place] = number
    return counters
