"""/metrics: population estimates and the aggregator's own counts, for Prometheus.

An estimate is three gauges, its value and the ends of its interval, so that each can be added, compared and drawn
by itself; a bound in a label could not. All are about the newest epoch that is well under way, over all segments, at
95%, for the population: as on the page. These are raw, and there as long as there are reports: noise can take an
estimate where no truth can be, but whoever cuts it before adding or averaging is wrong on average, and a gauge that
comes and goes, or is no number, breaks alerts. What people are shown is another gauge: cut to what is possible, and
not there where reports are too few to tell. Of a series with many rows only the largest are told, of one whose rows
have an order, such as a curve, none: the page and the API have all of them. A curve is told as
`deniable_share_below`, at values that stay the same, which makes a heat map. Of changes since the epoch before only
those are told that are found, at a rate at which one epoch of a thousand has a false one: they wake somebody. Nothing
that is told here is about one device.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from deniable import Collection
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.changes import Before, Changed, changes
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import Answer, Query
from deniable_aggregator.answers import RowId, always
from deniable_aggregator.ingest import Histogram, IngestStats
from deniable_aggregator.store import StoreError
from deniable_aggregator.telling.digits import decimals
from deniable_aggregator.telling.few import readings
from deniable_aggregator.web.health import VERSION, Fleet, Health, State

__all__ = ["Metrics"]

MOST_ROWS = 20
"""Rows of a series that are told."""
REASONS = (
    "BUSY",
    "COLLECTION_RETIRED",
    "DRAINING",
    "EPOCH_TOO_NEW",
    "EPOCH_TOO_OLD",
    "MALFORMED_BATCH",
    "OTHER_COLLECTION",
    "OVER_RATE",
    "STORE_UNAVAILABLE",
    "UNKNOWN_COLLECTION",
)
"""Reasons that are told from the beginning, so that the first refusal is seen as a change."""
_QUERY = Query(confidence=0.95, rows=MOST_ROWS)
_RATE = 0.001
"""The false discovery rate of changes. Where nothing has changed all that is found is false: in so many epochs."""
_ABOUT = ["collection", "metric"]


class Metrics:
    """The handler of /metrics."""

    def __init__(self, analyst: Analyst, health: Health) -> None:
        self._analyst = analyst
        self._health = health

    def routes(self) -> list[web.RouteDef]:
        """What is answered."""
        return [web.get("/metrics", self._scrape)]

    async def _scrape(self, request: web.Request) -> web.Response:
        registry = CollectorRegistry()
        try:
            families = await self.families()
        except LookupError:  # collections were replaced meanwhile
            families = await self.families()
        registry.register(_Now(families))
        ProcessCollector(registry=registry)
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        response = web.Response(body=encode(registry), headers={"Content-Type": content_type})
        response.enable_compression()
        return response

    async def families(self) -> list[Metric]:
        """All that is told, as it is now; a LookupError where collections were replaced meanwhile."""
        state = await self._health.state()  # first: then what is accepted is in the estimates of the same scrape
        try:
            answers = [
                each
                for collection in self._analyst.catalog.collections()
                for each in await self._analyst.answers(f"{collection.digest:016x}", _QUERY)
            ]
            found = [own for each in self._analyst.catalog.collections() for own in await self._changes(each)]
        except StoreError:
            answers, found = [], []
        catalog = self._analyst.catalog
        return [
            *_estimates(catalog, answers),
            _changed(catalog, found),
            *_asked(catalog),
            *_ingest(state.ingest),
            *_store(catalog, state),
            _build(),
        ]

    async def _changes(self, collection: Collection) -> list[Changed]:
        asked = f"{collection.digest:016x}", _QUERY, Before()
        return (await changes(self._analyst, *asked, rate=_RATE)).changed


class _Now(Collector):
    """Families as they are at one moment."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """The families."""
        return self._families

    def describe(self) -> Iterable[Metric]:
        """None: without this, a registry would collect before it is asked to."""
        return ()


def _estimates(catalog: Catalog, answers: Sequence[Answer]) -> Iterator[Metric]:
    labels = [*_ABOUT, "series", "key"]
    value = GaugeMetricFamily("deniable_estimate", "Estimate for the population, not corrected.", labels=labels)
    low = GaugeMetricFamily("deniable_estimate_lower_bound", "Lower end of its 95% interval.", labels=labels)
    high = GaugeMetricFamily(
        "deniable_estimate_upper_bound", "Upper end of its 95% interval; +Inf where it has none.", labels=labels
    )
    shown = GaugeMetricFamily(
        "deniable_estimate_told",
        "Estimate as people read it, cut to what is possible; absent where reports are too few to tell.",
        labels=labels,
    )
    told = InfoMetricFamily("deniable_row", "What an estimate is, and how it is written.", labels=labels)
    reports = GaugeMetricFamily("deniable_reports", "Reports behind the estimates of a metric.", labels=_ABOUT)
    devices = GaugeMetricFamily(
        "deniable_devices",
        "About how many devices have an answer, also where coins draw a part of them.",
        labels=_ABOUT,
    )
    marks = GaugeMetricFamily(
        "deniable_suspicions",
        "Marks that made-up reports leave in the counters of an epoch, and honest ones hardly ever.",
        labels=_ABOUT,
    )
    starts = GaugeMetricFamily(
        "deniable_estimate_epoch_start_timestamp_seconds",
        "Start of the epoch that estimates are about.",
        labels=_ABOUT,
    )
    below = GaugeMetricFamily(
        "deniable_share_below", "Share of devices below a value, made monotone.", labels=[*_ABOUT, "below"]
    )
    for found in answers:
        about = [catalog.title(found.collection), found.metric.name]
        reports.add_metric(about, found.estimate.reports)
        devices.add_metric(about, found.estimate.size)
        marks.add_metric(about, len(found.suspicions))
        starts.add_metric(about, found.first_epoch * found.collection.epoch_seconds)
        if not found.estimate.reports:
            continue
        for key, share in _curve(found):
            below.add_metric([*about, key], share)
        every = iter(readings(found.metric, found.estimate))
        for series in found.estimate.series:
            heading, read = series.heading, [next(every) for _ in series.rows]
            if len(series.rows) > MOST_ROWS:
                continue
            more = {"measure": heading.measure, "unit": heading.unit, "decimals": str(decimals(heading))}
            for row, own in zip(series.rows, read, strict=True):
                where = [*about, heading.name, row.key]
                if own.value is not None:
                    shown.add_metric(where, own.value)
                ends = () if heading.chance else ((low, row.low), (high, row.high))
                for family, number in ((value, row.value), *ends):
                    family.add_metric(where, number)
                told.add_metric(where, more)
    yield from (value, low, high, shown, told, below, reports, devices, marks, starts)


def _curve(found: Answer) -> Iterator[tuple[str, float]]:
    """Of a distribution the shares below those values at which every answer has one, and below any."""
    fits = dict(zip(found.estimate.ids, found.consistent, strict=True))
    for name, keys in always(found.metric).items():
        known = ((key, fits.get(RowId(name, key))) for key in keys)
        yield from ((key, share) for key, share in known if share is not None)
        yield "+Inf", 1.0


def _changed(catalog: Catalog, found: Sequence[Changed]) -> Metric:
    words = "By how much an estimate differs from that of the epoch before, where that is more than noise explains."
    family = GaugeMetricFamily("deniable_change", words, labels=[*_ABOUT, "series", "key"])
    for own in found:
        about = [catalog.title(own.collection), own.metric.name]
        for (heading, every), rows in zip(own.comparison.series, own.rows, strict=True):
            for change, is_found, _ in rows:
                if is_found and (not heading.ordered or len(every) <= MOST_ROWS):
                    family.add_metric([*about, heading.name, change.key], change.value)
    return family


def _asked(catalog: Catalog) -> Iterator[Metric]:
    info = InfoMetricFamily("deniable_metric", "What is asked.", labels=_ABOUT)
    epsilon = GaugeMetricFamily("deniable_metric_epsilon", "What one epoch's answer costs a device.", labels=_ABOUT)
    expires = GaugeMetricFamily(
        "deniable_metric_expiry_timestamp_seconds", "When devices stop answering.", labels=_ABOUT
    )
    retired = GaugeMetricFamily(
        "deniable_collection_retirement_timestamp_seconds",
        "When a collection is, or was, retired on purpose: its metrics have no end of their own.",
        labels=["collection"],
    )
    for collection in catalog.collections():
        if collection.retired:
            retired.add_metric([catalog.title(collection)], _begin(collection.retired))
        for metric in collection.metrics.values():
            about = [catalog.title(collection), metric.name]
            info.add_metric(
                about,
                {
                    "identity": f"{collection.identities[metric.name]:016x}",
                    "kind": metric.kind.name,
                    "mechanism": metric.mechanism,
                    "unit": metric.kind.unit,
                },
            )
            epsilon.add_metric(about, float(metric.epsilon))
            if metric.expires and metric.expires != collection.retired:
                expires.add_metric(about, _begin(metric.expires))
    yield from (info, epsilon, expires, retired)


def _begin(day: dt.date) -> float:
    return dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()


def _ingest(stats: IngestStats) -> Iterator[Metric]:
    yield CounterMetricFamily("deniable_batches_accepted", "Batches stored.", value=stats.accepted)
    yield CounterMetricFamily("deniable_reports_accepted", "Reports of stored batches.", value=stats.reports)
    yield CounterMetricFamily(
        "deniable_batches_duplicate", "Batches that had been stored before.", value=stats.duplicate
    )
    refused = CounterMetricFamily("deniable_batches_refused", "Batches that were refused.", labels=["reason"])
    for reason, count in sorted({**dict.fromkeys(REASONS, 0), **stats.refused}.items()):
        refused.add_metric([reason], count)
    errors = CounterMetricFamily("deniable_store_errors", "Flushes that the store did not take.", labels=["error"])
    for error, count in sorted(stats.store_errors.items()):
        errors.add_metric([error], count)
    yield from (refused, errors)
    yield GaugeMetricFamily("deniable_batches_waiting", "Batches that wait to be stored.", value=stats.waiting)
    yield _histogram(
        "deniable_flush_duration_seconds", "Time that it took to store waiting batches.", stats.flush_seconds
    )
    yield _histogram("deniable_flush_batches", "Batches that were stored together.", stats.flush_batches)


def _histogram(name: str, words: str, histogram: Histogram) -> Metric:
    running, buckets = 0, []
    for bound, count in zip([*map(str, histogram.bounds), "+Inf"], histogram.counts, strict=True):
        running += count
        buckets.append((bound, float(running)))
    return HistogramMetricFamily(name, words, buckets=buckets, sum_value=histogram.total)


def _store(catalog: Catalog, state: State) -> Iterator[Metric]:
    yield GaugeMetricFamily("deniable_store_up", "Whether the store answers.", value=state.store is not None)
    if state.store is None:
        return
    store = state.store
    yield GaugeMetricFamily("deniable_store_round_trip_seconds", "Time of a round trip.", value=store.seconds)
    yield GaugeMetricFamily("deniable_store_memory_bytes", "Memory that the store uses.", value=store.memory_bytes)
    yield GaugeMetricFamily(
        "deniable_store_memory_limit_bytes",
        "Memory that it may use; 0 without limit.",
        value=store.memory_limit_bytes,
    )
    yield CounterMetricFamily("deniable_store_evicted_keys", "Keys thrown away to make room.", value=store.evicted)
    yield from _margins(catalog, state.fleets)


def _margins(catalog: Catalog, fleets: Sequence[Fleet]) -> Iterator[Metric]:
    margin = GaugeMetricFamily(
        "deniable_id_window_margin_seconds",
        "How long ids outlive the acceptance of their batches.",
        labels=["collection"],
    )
    for fleet in fleets:
        if fleet.margin is not None:
            margin.add_metric([catalog.title(catalog.version(fleet.layout.digest))], fleet.margin)
    yield margin


def _build() -> Metric:
    return InfoMetricFamily("deniable_build", "The aggregator's version.", value={"version": VERSION})
