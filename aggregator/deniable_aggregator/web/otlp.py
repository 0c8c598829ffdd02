"""The figures of /metrics, for an OpenTelemetry collector: the same families, in another form, and no others.

They are sent once a minute, or as often as OTEL_METRIC_EXPORT_INTERVAL says (milliseconds, as everywhere in
OpenTelemetry), but never more often than a Prometheus comes: who gets them more often sees more sharply when a device
that is alone has called. And once more when the aggregator ends, at a moment that its operator has chosen.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client.core import Metric

from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.serving.server import Aggregator, ended
from deniable_aggregator.store import Store
from deniable_aggregator.tracing import PATIENCE_SECONDS, resource
from deniable_aggregator.web.health import VERSION, Health
from deniable_aggregator.web.prometheus import Metrics

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import export

__all__ = ["LEAST_SECONDS", "Figures", "every"]

LEAST_SECONDS = 15.0
"""As Prometheus does (deploy/prometheus/prometheus.yml)."""
_SECONDS = 60.0
_MOST_POINTS = 4_000
"""In one message, of which gRPC takes four megabytes."""


def every(said: str | None) -> float:
    """How many seconds lie between two sendings, where the environment says so."""
    try:
        return max(float(said or "") / 1000, LEAST_SECONDS)
    except ValueError:
        return _SECONDS


class Figures:
    """Sends what /metrics tells."""

    def __init__(self, collector: str, analyst_of: Callable[[Store], Analyst]) -> None:
        self._collector = collector
        self._analyst_of = analyst_of

    @contextlib.asynccontextmanager
    async def beside(self, server: Aggregator) -> AsyncIterator[None]:
        """Send them for as long as a server runs."""
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

        exporter = OTLPMetricExporter(
            endpoint=self._collector, timeout=PATIENCE_SECONDS, max_export_batch_size=_MOST_POINTS
        )
        metrics, began = Metrics(self._analyst_of(server.store), Health(server)), time.time_ns()

        async def send() -> None:
            with contextlib.suppress(LookupError):  # collections were replaced meanwhile: the next time
                told = _told(await metrics.families(), began, time.time_ns())
                await asyncio.to_thread(exporter.export, told)

        async def keep_sending() -> None:
            while True:
                await asyncio.sleep(every(os.environ.get("OTEL_METRIC_EXPORT_INTERVAL")))
                await send()

        sending = asyncio.create_task(keep_sending())
        try:
            yield
        finally:
            await ended(sending)
            await send()
            exporter.shutdown()


def _told(families: Iterable[Metric], began: int, now: int) -> export.MetricsData:
    """Families as OpenTelemetry has them."""
    from opentelemetry.sdk.metrics import export
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    own = [
        export.Metric(_name(each), each.documentation, each.unit, _data(each, began, now))
        for each in families
        if each.samples
    ]
    scope = export.ScopeMetrics(InstrumentationScope("deniable", VERSION), own, "")
    return export.MetricsData([export.ResourceMetrics(resource("supervisor"), [scope], "")])


def _name(family: Metric) -> str:
    """Of what is only words, with the ending that Prometheus shows."""
    return f"{family.name}_info" if family.type == "info" else str(family.name)


def _data(family: Metric, began: int, now: int) -> export.Sum | export.Gauge | export.Histogram:
    from opentelemetry.sdk.metrics import export

    if family.type == "histogram":
        points = [_histogram(own, began, now) for own in _apart(family)]
        return export.Histogram(points, export.AggregationTemporality.CUMULATIVE)
    numbers = [export.NumberDataPoint(each.labels, began, now, float(each.value)) for each in family.samples]
    if family.type == "counter":
        return export.Sum(numbers, export.AggregationTemporality.CUMULATIVE, is_monotonic=True)
    return export.Gauge(numbers)


def _apart(family: Metric) -> Iterator[tuple[Mapping[str, str], dict[str, float], float]]:
    """Each histogram of a family: its labels, how many are up to each bound, and their sum."""
    found: dict[tuple[tuple[str, str], ...], tuple[dict[str, float], list[float]]] = {}
    for each in family.samples:
        labels = tuple((name, own) for name, own in each.labels.items() if name != "le")
        upto, total = found.setdefault(labels, ({}, []))
        if each.name.endswith("_bucket"):
            upto[each.labels["le"]] = each.value
        elif each.name.endswith("_sum"):
            total.append(each.value)
    yield from ((dict(labels), upto, sum(total)) for labels, (upto, total) in found.items())


def _histogram(own: tuple[Mapping[str, str], dict[str, float], float], began: int, now: int) -> Any:
    from opentelemetry.sdk.metrics import export

    labels, upto, total = own
    running = [int(each) for each in upto.values()]
    counts = [each - before for each, before in zip(running, [0, *running], strict=False)]
    bounds = [float(bound) for bound in upto][:-1]
    nothing: Any = None  # the least and the most are not known
    return export.HistogramDataPoint(labels, began, now, running[-1], total, counts, bounds, nothing, nothing)
