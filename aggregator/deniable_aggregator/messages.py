"""Answers and collections as they travel: over gRPC, and as JSON to the page."""

from __future__ import annotations

import math

from google.protobuf.timestamp_pb2 import Timestamp

from deniable import Collection, Metric
from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.answers import Measure, Target
from deniable_aggregator.digits import bounds, decimals, text
from deniable_aggregator.query import Answer, Overview, Query, Trend
from deniable_aggregator.reveals import reveals

__all__ = ["collection_message", "estimate_message", "overview_message", "query_of"]

_TARGETS = {
    pb.TARGET_UNSPECIFIED: Target.POPULATION,
    pb.TARGET_POPULATION: Target.POPULATION,
    pb.TARGET_REPORTING: Target.REPORTING,
}
_MEASURES = {
    Measure.SHARE: pb.MEASURE_SHARE,
    Measure.QUANTITY: pb.MEASURE_QUANTITY,
    Measure.TOTAL: pb.MEASURE_TOTAL,
}


def query_of(query: pb.Query) -> Query:
    """A query as the analyst takes it; a ValueError says what is wrong with it."""
    return Query(
        last_epoch=query.last_epoch or None,
        epochs=query.epochs or 1,
        segment=dict(query.segment),
        confidence=query.confidence or 0.95,
        target=_TARGETS[query.target],
        rows=query.rows,
    )


def estimate_message(found: Answer) -> pb.Estimate:
    """An answer with its rows."""
    estimate, seconds = found.estimate, found.collection.epoch_seconds
    return pb.Estimate(
        collection=found.collection.name,
        metric=found.metric.name,
        kind=found.metric.kind.name,
        unit=found.metric.kind.unit,
        first_epoch=found.first_epoch,
        last_epoch=found.last_epoch,
        start_time=Timestamp(seconds=found.first_epoch * seconds),
        end_time=Timestamp(seconds=(found.last_epoch + 1) * seconds),
        segment=found.segment,
        reports=estimate.reports,
        effective_reports=found.effective,
        confidence=estimate.confidence,
        target=pb.TARGET_POPULATION if estimate.target is Target.POPULATION else pb.TARGET_REPORTING,
        rows=[_row_message(found, place) for place in range(len(estimate.rows))],
        row_count=found.row_count,
        note=estimate.note,
    )


def _row_message(found: Answer, place: int) -> pb.EstimateRow:
    row = found.estimate.rows[place]
    places = decimals(found.metric, row.measure)

    def words(value: float | None) -> str:
        return "" if value is None else text(value, row.measure, places)

    consistent = found.consistent[place]
    truth = _known(found.truth[place]) if found.truth else None
    return pb.EstimateRow(
        label=row.label,
        value=_known(row.value),
        low=row.low,
        high=row.high,
        std_error=_known(row.std_error),
        measure=_MEASURES[row.measure],
        text=words(row.value),
        low_text=words(row.low),
        high_text=words(row.high),
        consistent=consistent,
        consistent_text=words(consistent),
        truth=truth,
        truth_text=words(truth),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def overview_message(found: Overview) -> pb.GetOverviewResponse:
    """The answers of a collection, and their trends."""
    return pb.GetOverviewResponse(
        estimates=map(estimate_message, found.answers),
        trends=map(_trend_message, found.trends),
    )


def _trend_message(trend: Trend) -> pb.Trend:
    rows = [point.row for point in trend.points]
    return pb.Trend(
        label=trend.label,
        epochs=[point.epoch for point in trend.points],
        reports=[point.reports for point in trend.points],
        values=[row.value for row in rows],
        lows=[row.low for row in rows],
        highs=[row.high for row in rows],
    )


def collection_message(collection: Collection) -> pb.CollectionInfo:
    """A collection, as people read it."""
    return pb.CollectionInfo(
        name=collection.name,
        digest=f"{collection.digest:016x}",
        owner=collection.owner,
        epoch_seconds=collection.epoch_seconds,
        metrics=[_metric_message(metric, collection) for metric in collection.metrics.values()],
        segments=[pb.SegmentInfo(name=name, values=values) for name, values in collection.segments.items()],
        budget_epoch=float(collection.budget.epoch),
        budget_lifetime=float(collection.budget.lifetime or 0),
    )


def _metric_message(metric: Metric, collection: Collection) -> pb.MetricInfo:
    least, most = bounds(metric) or (None, None)
    return pb.MetricInfo(
        name=metric.name,
        kind=metric.kind.name,
        description=metric.description,
        epsilon=float(metric.epsilon),
        epsilon_text=str(metric.epsilon),
        instantaneous_epsilon=float(metric.instantaneous or 0),
        mechanism=metric.columns[0].mechanism.name,
        unit=metric.kind.unit,
        memoized=metric.memoize,
        expires=metric.expires.isoformat() if metric.expires else "",
        reveals=reveals(metric, collection.about(metric)),
        decimals=decimals(metric, Measure.QUANTITY),
        least=least,
        most=most,
    )
