"""Answers of a running aggregator, in Python: `Reader("127.0.0.1:8470").estimates().to_pandas()`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from types import TracebackType
from typing import Any, Self, Unpack

import grpc

from deniable import Credentials
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable.wire.outcome import speaks_http1
from deniable_aggregator.telling.asking import (
    Before,
    CompareOptions,
    EstimateOptions,
    IntervalOptions,
    RowOptions,
    WindowOptions,
    before_of,
    query_of,
)
from deniable_aggregator.telling.change_tables import Changes
from deniable_aggregator.telling.counters import CounterTable
from deniable_aggregator.telling.tables import Table

__all__ = ["Reader", "RemoteError"]

_MOST_MESSAGE_BYTES = 64 << 20


class RemoteError(Exception):
    """The aggregator could not be asked, or would not answer; the message says why."""


class Reader:
    """Asks an aggregator; close it, or use it in a `with` block.

    Of every question the window can be said: `from_` a day `to` a day, such as "2026-11-13" (hours as
    "2026-11-13T14:00", in UTC), the `last` "7d" or 7 epochs, or up to an epoch's number, `last_epoch`. It ends with
    the newest epoch that is well under way, and has one, unless that is said. Likewise the `segment`, such as
    {"platform": "linux"}; the `confidence` of the intervals, and their `target`: the "population" that the devices
    are a sample of, or just the devices "reporting". Who looks again and again asks for intervals that hold
    `anytime`: at all looks at "growing" windows, which begin with the same epoch, or at a year of looks at "any"
    windows. Of each series that has no order of its own, just the largest `rows` can be asked for. With `credentials`
    TLS is spoken, as the SDK speaks it.
    """

    def __init__(
        self, endpoint: str = "127.0.0.1:8470", *, timeout: float = 60.0, credentials: Credentials | None = None
    ) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._metadata = credentials.metadata if credentials else ()
        options = (("grpc.max_receive_message_length", _MOST_MESSAGE_BYTES),)
        self._channel = (
            credentials.channel(endpoint, options) if credentials else grpc.insecure_channel(endpoint, options)
        )
        self._service = estimate_service_pb2_grpc.EstimateServiceStub(self._channel)

    def collections(self) -> list[pb.CollectionInfo]:
        """The collections that the aggregator knows."""
        return list(self._ask(self._service.ListCollections, pb.ListCollectionsRequest()).collections)

    def estimates(
        self,
        metric: str = "",
        *,
        collection: str = "",
        **options: Unpack[EstimateOptions],
    ) -> Table:
        """The answers of one metric, or of all of them; `collection` is needed where there are several.

        Just some `series` can be asked for. Of a distribution any `quantiles` can be, such as [0.5, 0.999], and the
        `shares` of ranges: [(2000, None), (None, 200), (200, 2000)] are what lies above 2000, what lies below 200,
        and what between both. Of a text any `words` can be asked for; `candidates` says which of many words there
        are. Where it is known how the population is made up, `weights` say so, such as {"platform": {"linux": 0.6,
        "windows": 0.4}}, and the answers are weighted by it. With `fakes`, such as 0.01, each row says what it could
        be without so many of its reports, if these were made up.
        """
        query = query_of(options, EstimateOptions)
        if metric:
            one = pb.GetEstimateRequest(collection=collection, metric=metric, query=query)
            return Table.of([self._ask(self._service.GetEstimate, one).estimate])
        every = pb.ListEstimatesRequest(collection=collection, query=query)
        return Table.of(self._ask(self._service.ListEstimates, every).estimates)

    def candidates(
        self,
        metric: str,
        words: Sequence[str],
        *,
        collection: str = "",
        false_discovery_rate: float = 0.05,
        **options: Unpack[IntervalOptions],
    ) -> Table:
        """Of a text, those of some words that some devices have, at a false discovery rate over all of them.

        Words that are too long have no share of their own, and are left out.
        """
        from deniable_aggregator.analysis.discoveries import found  # loads what answers need
        from deniable_aggregator.analysis.question import MOST_ASKED, MOST_KEY
        from deniable_aggregator.answers import CANDIDATES

        rows: list[dict[str, Any]] = []
        short = [word for word in words if len(word) + len(CANDIDATES) <= MOST_KEY]
        for start in range(0, len(short), MOST_ASKED):
            told = self.estimates(
                metric,
                collection=collection,
                words=short[start : start + MOST_ASKED],
                series=[CANDIDATES],
                **options,
            )
            rows += [row for row in told if row["series"] == CANDIDATES]
        chances = [_by_chance(row["value"], row["std_error"]) for row in rows]
        return Table(
            row for row, own in zip(rows, found(chances, false_discovery_rate, apart=True), strict=True) if own
        )

    def epochs(
        self,
        metric: str,
        *,
        collection: str = "",
        **options: Unpack[RowOptions],
    ) -> Table:
        """The answers of a metric in each epoch of the window; with the options that `estimates` has."""
        query = query_of(options, RowOptions)
        request = pb.ListEpochEstimatesRequest(collection=collection, metric=metric, query=query)
        return Table.of(self._ask(self._service.ListEpochEstimates, request).estimates)

    def segments(
        self,
        metric: str,
        name: str,
        *,
        collection: str = "",
        **options: Unpack[RowOptions],
    ) -> Table:
        """The answers of a metric in each value of a segment; with the options that `estimates` has."""
        query = query_of(options, RowOptions)
        request = pb.ListSegmentEstimatesRequest(collection=collection, metric=metric, segment=name, query=query)
        return Table.of(self._ask(self._service.ListSegmentEstimates, request).estimates)

    def compare(
        self,
        metric: str = "",
        *,
        collection: str = "",
        before: Before | None = None,
        baseline: Mapping[str, float] | None = None,
        apart: bool = False,
        changed: float | None = None,
        false_discovery_rate: float = 0.05,
        **options: Unpack[CompareOptions],
    ) -> Changes:
        """By how much the answers of one metric, or of all of them, differ.

        `before` says from which other ones, by `from_` and `to`, `last`, `last_epoch` and `segment`: at first from
        those of as many epochs before, and of another segment in the same epochs. Or a `baseline` has numbers that
        are known, by their rows' keys. Nobody can tell whether the same devices stand on both sides; who knows that
        none does says `apart`, and who knows that all do, that no more than so many of them have `changed` their
        answer.
        """
        query = query_of(options, CompareOptions)
        request = pb.ListComparisonsRequest(
            collection=collection,
            metric=metric,
            query=query,
            before=before_of(before or {}),
            baseline=[pb.BaselineRow(key=key, value=value) for key, value in (baseline or {}).items()],
            apart=apart,
            changed=changed,
            false_discovery_rate=false_discovery_rate,
        )
        return Changes.told(self._ask(self._service.ListComparisons, request).comparisons)

    def counters(
        self,
        metric: str = "",
        *,
        collection: str = "",
        **options: Unpack[WindowOptions],
    ) -> CounterTable:
        """The raw counters of one metric, or of all: sums over randomised reports, each with what it counts."""
        query = query_of(options, WindowOptions)
        request = pb.ListCountersRequest(collection=collection, metric=metric, query=query)
        return CounterTable.told(self._ask(self._service.ListCounters, request).columns)

    def watch(
        self,
        *,
        collection: str = "",
        **options: Unpack[EstimateOptions],
    ) -> Iterator[Table]:
        """The answers of all metrics, again whenever they have changed; with the options that `estimates` has."""
        query = query_of(options, EstimateOptions)
        request = pb.WatchEstimatesRequest(collection=collection, query=query)
        stream = self._service.WatchEstimates(request, metadata=self._metadata)
        try:
            for told in stream:
                yield Table.of(told.estimates)
        except grpc.RpcError as error:
            raise RemoteError(self._words(error)) from error
        finally:
            stream.cancel()

    def close(self) -> None:
        """Let go of the connection."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, call: Any, request: Any) -> Any:
        try:
            return call(request, timeout=self._timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise RemoteError(self._words(error)) from error

    def _words(self, error: Any) -> str:
        if error.code() is grpc.StatusCode.UNAVAILABLE:
            if speaks_http1(str(error.details())):
                return (
                    f"{self._endpoint}: speaks HTTP/1.1, as a page does: questions go to the port of `deniable serve "
                    "--listen` (8470 unless said), and not to that of --http (8471)"
                )
            return f"{self._endpoint}: {error.details()}; is the aggregator running there? (deniable serve)"
        return f"{self._endpoint}: {error.details()}"


def _by_chance(value: float | None, error: float | None) -> float:
    """How often a share would be estimated so high where there is none."""
    return NormalDist().cdf(-value / error) if value is not None and error else math.nan
