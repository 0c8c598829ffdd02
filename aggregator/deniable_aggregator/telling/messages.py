"""Answers and collections as they travel: over gRPC, and as JSON to the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from google.protobuf.timestamp_pb2 import Timestamp

from deniable import Collection, Metric
from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.anytime import Looks
from deniable_aggregator.analysis.catalog import Catalog, Place
from deniable_aggregator.analysis.dates import Dates, moment_of
from deniable_aggregator.analysis.question import Answer, EpochDoubt, Overview, Query, Trend
from deniable_aggregator.answers import Heading, Measure, Row, RowId, Series, Target, headings, view
from deniable_aggregator.telling.digits import decimals, text
from deniable_aggregator.telling.few import TOO_FEW, Reading, readings
from deniable_aggregator.telling.reveals import reveals

__all__ = [
    "LOOKS",
    "collection_message",
    "dates_of",
    "doubt_messages",
    "estimate_message",
    "heading_message",
    "in_numbers",
    "overview_message",
    "place_message",
    "query_of",
]

_TARGETS = {
    pb.TARGET_UNSPECIFIED: Target.POPULATION,
    pb.TARGET_POPULATION: Target.POPULATION,
    pb.TARGET_REPORTING: Target.REPORTING,
}
LOOKS = {Looks.ONE: pb.LOOKS_ONE, Looks.GROWING: pb.LOOKS_GROWING, Looks.ANY: pb.LOOKS_ANY}
_MEASURES = {
    Measure.SHARE: pb.MEASURE_SHARE,
    Measure.QUANTITY: pb.MEASURE_QUANTITY,
    Measure.TOTAL: pb.MEASURE_TOTAL,
}


def dates_of(window: pb.Query | pb.Before) -> Dates:
    """What a message says of a window."""
    start: str = getattr(window, "from")
    return Dates(start, window.to, window.last, window.last_epoch, window.epochs)


def in_numbers(window: pb.Query | pb.Before, found: Dates) -> None:
    """Have a message say its window in numbers of epochs."""
    for name in ("from", "to", "last"):
        window.ClearField(name)
    window.last_epoch, window.epochs = found.last_epoch, found.epochs


def query_of(query: pb.Query, weighted: bool = False, compared: bool = False) -> Query:
    """A query as the analyst takes it; a ValueError says what is wrong with it."""
    if query.weights and not weighted:
        raise ValueError("weights are for the estimates of a window, at one look")
    if query.fakes and (query.weights or compared):
        raise ValueError(
            "what fakes can have done is told of estimates that are not weighted, and not of comparisons"
        )
    for name, known in (("target", pb.Target), ("looks", pb.Looks)):
        if (said := getattr(query, name)) not in known.values():
            raise ValueError(f"{name} is {' or '.join(known.keys())} here, and not {said}, as in a later version")
    return Query(
        last_epoch=query.last_epoch or None,
        epochs=query.epochs or 1,
        segment=dict(query.segment),
        confidence=query.confidence or 0.95,
        target=_TARGETS[query.target],
        rows=query.rows,
        asked=tuple(RowId(row.series, row.key) for row in query.asked),
        series=tuple(query.series),
        looks=next((own for own, sent in LOOKS.items() if sent == query.looks), Looks.ONE),
        fakes=query.fakes,
        doubtful=query.doubtful,
    )


def estimate_message(found: Answer) -> pb.Estimate:
    """An answer with its rows."""
    estimate, seconds = found.estimate, found.collection.epoch_seconds
    return pb.Estimate(
        collection=found.collection.name,
        metric=found.metric.name,
        kind=found.metric.kind.name,
        first_epoch=found.first_epoch,
        last_epoch=found.last_epoch,
        start_time=Timestamp(seconds=found.first_epoch * seconds),
        end_time=Timestamp(seconds=(found.last_epoch + 1) * seconds),
        segment=found.segment,
        reports=estimate.reports,
        effective_reports=found.effective,
        confidence=estimate.confidence,
        target=pb.TARGET_POPULATION if estimate.target is Target.POPULATION else pb.TARGET_REPORTING,
        series=_series_messages(found),
        note=estimate.note,
        looks=LOOKS[found.looks],
        weighted_by=found.weighted_by,
        place=place_message(found.place),
        doubts=doubt_messages(found.doubts, seconds),
        suspicions=_suspicion_messages(found, seconds),
        fakes=found.fakes,
        devices=estimate.devices.value if estimate.devices else 0,
        devices_low=estimate.devices.low if estimate.devices else 0,
        devices_high=estimate.devices.high if estimate.devices else 0,
    )


def doubt_messages(doubts: Iterable[EpochDoubt], seconds: int) -> Iterator[pb.Doubt]:
    """The epochs that an operator does not trust."""
    for own in doubts:
        yield pb.Doubt(
            epoch=own.epoch,
            text=moment_of(own.epoch, seconds),
            reason=own.reason,
            removed=own.removed,
            left_out=own.left_out,
        )


def _suspicion_messages(found: Answer, seconds: int) -> Iterator[pb.Suspicion]:
    """The marks that fakes have left."""
    for own in found.suspicions:
        named = moment_of(own.epoch, seconds)
        yield pb.Suspicion(epoch=own.epoch, text=named, what=own.what, chance=own.chance)


def place_message(place: Place) -> pb.Place:
    """Where an answer stands among those of other versions."""
    return pb.Place(title=place.title, since_version=place.since, earlier=place.earlier, later=place.later)


def _series_messages(found: Answer) -> Iterator[pb.Series]:
    place, read = 0, readings(found.metric, found.estimate)
    for series, count in zip(found.estimate.series, found.row_counts, strict=True):
        until = place + len(series.rows)
        consistent = found.consistent[place:until]
        truth = found.truth[place:until] if found.truth else [math.nan] * len(series.rows)
        every = zip(series.rows, read[place:until], consistent, truth, strict=True)
        rows = [_row_message(series, *own) for own in every]
        for row, ends in zip(rows, found.bounds[place:until], strict=False):  # of no row, where nobody has asked
            _bound(row, series.heading, ends)
        least = series.least
        words = "" if least is None else text(least, series.heading.measure, decimals(series.heading))
        heading = heading_message(series.heading)
        yield pb.Series(heading=heading, rows=rows, row_count=count, least=least, least_text=words)
        place = until


def _row_message(series: Series, row: Row, read: Reading, consistent: float | None, truth: float) -> pb.EstimateRow:
    measure, places = series.heading.measure, decimals(series.heading)

    def words(value: float | None) -> str:
        return "" if value is None else text(value, measure, places)

    asked, chance = _known(truth), series.heading.chance
    return pb.EstimateRow(
        key=row.key,
        parent=row.parent,
        value=_known(row.value),
        low=row.low,
        high=row.high,
        std_error=_known(row.std_error),
        text=read.text,
        cut=read.value,
        too_few=read.few,
        raw_text=words(row.value),
        low_text="" if chance else words(row.low),
        high_text="" if chance else words(row.high),
        consistent=consistent,
        consistent_text=TOO_FEW if read.few and consistent is not None else words(consistent),
        truth=asked,
        truth_text=words(asked),
    )


def _bound(row: pb.EstimateRow, heading: Heading, ends: tuple[float, float]) -> None:
    """Have a row say what it could be without fakes."""
    row.fakes_low, row.fakes_high = ends
    low, high = (text(end, heading.measure, decimals(heading)) for end in ends)
    row.fakes_low_text, row.fakes_high_text = low, high


def heading_message(heading: Heading) -> pb.Heading:
    """What stands above the rows of a series."""
    least, most = heading.span or (None, None)
    return pb.Heading(
        name=heading.name,
        measure=_MEASURES[heading.measure],
        unit=heading.unit,
        decimals=decimals(heading),
        least=least,
        most=most,
        adds_up=heading.adds_up,
        ordered=heading.ordered,
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
        series=trend.row.series,
        key=trend.row.key,
        epochs=[point.epoch for point in trend.points],
        reports=[point.reports for point in trend.points],
        values=[row.value for row in rows],
        lows=[row.low for row in rows],
        highs=[row.high for row in rows],
    )


def collection_message(collection: Collection, catalog: Catalog, simulated: bool = False) -> pb.CollectionInfo:
    """A collection of a catalog, as people read it; where its store is for simulated devices, that it is."""
    return pb.CollectionInfo(
        name=collection.name,
        digest=f"{collection.digest:016x}",
        owner=collection.owner,
        epoch_seconds=collection.epoch_seconds,
        title=catalog.title(collection),
        version=collection.version,
        simulated=simulated,
        metrics=[_metric_message(metric, collection, catalog) for metric in collection.metrics.values()],
        segments=[pb.SegmentInfo(name=name, values=values) for name, values in collection.segments.items()],
        budget_epoch=float(collection.budget.epoch),
        budget_lifetime=float(collection.budget.lifetime or 0),
        sample=float(collection.sample),
    )


def _metric_message(metric: Metric, collection: Collection, catalog: Catalog) -> pb.MetricInfo:
    return pb.MetricInfo(
        name=metric.name,
        kind=metric.kind.name,
        description=metric.description,
        epsilon=float(metric.epsilon),
        epsilon_text=str(metric.epsilon),
        instantaneous_epsilon=float(metric.instantaneous or 0),
        mechanism=metric.mechanism,
        unit=metric.kind.unit,
        memoized=metric.memoize,
        expires=metric.expires.isoformat() if metric.expires else "",
        reveals=reveals(metric, collection.about(metric)),
        headings=map(heading_message, headings(metric)),
        view=view(metric),
        revision=metric.revision,
        place=place_message(catalog.place(collection, metric.name)),
    )
