"""A simulated fleet that reports over real gRPC.

words:
  device    one set of values, answered once
  report    each device randomises with the SDK's own code and submits its batch, as an application does
  forward   the vectorised twins, which have the SDK's channels, draw for many devices at once, and all batches go
            through one stream, as a gateway's do
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray

from deniable import Collection
from deniable.device.outbox import Batch
from deniable.randomness import shuffle
from deniable.v1.report_service_pb2 import StreamReportsRequest, StreamReportsResponse, SubmitReportsRequest, WideRow
from deniable.wire.upload import METHOD, ONCE
from deniable_aggregator.planning.population import with_fed
from deniable_aggregator.planning.simulate import randomized

__all__ = ["LARGE", "FleetError", "batches", "forward", "report", "reported"]

LARGE = 50_000
"""More devices than this are better forwarded."""

_IN_FLIGHT = 64
_SUBMIT_SECONDS = 30.0
_PAUSES = (0.2, 0.4, 0.8, 1.6)
"""In seconds, between the tries of a batch: time for a worker to be replaced."""
_CONNECT_SECONDS = 10.0
_STREAM = "/deniable.v1.ReportService/StreamReports"
_DEVICES = 1 << 14
"""So many are drawn at a time."""
_TOGETHER = 200
_FRAME_BYTES = 4
_BYTES_TOGETHER = 1 << 16
"""A message of a stream has so many batches, or is full: it is longer than so many bytes by one batch at the most."""
_UNANSWERED = 20
"""So many messages may be under way on a stream."""
_ID_BYTES = 16
_FOR_NOW = {code.value[0] for code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)}
"""Refusals that pass: the aggregator is busy, or its store is away."""

_Values = Mapping[str, Sequence[Any]]
_Progress = Callable[[int], None]


class FleetError(Exception):
    """A fleet can not report; the message says why."""

    @classmethod
    def of(cls, endpoint: str, error: grpc.aio.AioRpcError) -> FleetError:
        """What a failed call says."""
        away = error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}
        hint = "; is the aggregator running there? (deniable serve)" if away else ""
        return cls(f"{endpoint}: {error.details()}{hint}")


async def report(
    collection: Collection,
    values: _Values,
    endpoint: str,
    epoch: int,
    generator: np.random.Generator,
    progress: _Progress,
) -> None:
    """Every device answers every metric, in a segment drawn at random; returns when all batches are stored."""
    values = with_fed(collection, values)
    devices = _devices(values)
    segments = generator.integers(collection.segment_count, size=devices).tolist()
    waiting = iter(range(devices))
    done = 0
    async with grpc.aio.insecure_channel(endpoint, [ONCE]) as channel:
        submit: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)

        async def work() -> None:
            nonlocal done
            for device in waiting:
                answers = {name: own[device] for name, own in values.items()}
                batch = reported(collection, answers, epoch, segments[device])
                await _insist(submit, batch.request)
                done += 1
                progress(done)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(_IN_FLIGHT):
                    group.create_task(work())
        except* grpc.aio.AioRpcError as errors:
            (first, *_) = errors.exceptions
            assert isinstance(first, grpc.aio.AioRpcError)
            raise FleetError.of(endpoint, first) from first


async def _insist(submit: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes], request: bytes) -> None:
    """Send a batch, and again while it is refused for now, as a device does; its id is counted once."""
    for pause in (*_PAUSES, None):
        try:
            await submit(request, timeout=_SUBMIT_SECONDS)
        except grpc.aio.AioRpcError as error:
            if pause is None or error.code().value[0] not in _FOR_NOW:
                raise
            await asyncio.sleep(pause)
        else:
            return


def reported(collection: Collection, answers: Mapping[str, Any], epoch: int, segment: int) -> Batch:
    """One device's batch."""
    reports = [collection.metrics[name].randomize(value) for name, value in answers.items()]
    shuffle(reports)
    return Batch.of(os.urandom(16), collection, epoch, segment, reports)


async def forward(
    collection: Collection,
    values: _Values,
    endpoint: str,
    epoch: int,
    generator: np.random.Generator,
    progress: _Progress,
) -> None:
    """The same through one stream."""
    stream = _Stream(batches(collection, values, epoch, generator), progress)
    async with grpc.aio.insecure_channel(endpoint, [ONCE]) as channel:
        try:
            await asyncio.wait_for(channel.channel_ready(), _CONNECT_SECONDS)
            method: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(_STREAM)
            call = method(stream.messages())
            try:
                async for answer in call:
                    stream.answered(StreamReportsResponse.FromString(answer))
            finally:
                call.cancel()
        except TimeoutError:
            raise FleetError(
                f"{endpoint}: nobody answers; is the aggregator running there? (deniable serve)"
            ) from None
        except grpc.aio.AioRpcError as error:
            raise FleetError.of(endpoint, error) from error


class _Stream:
    """The batches of one call of StreamReports: which have to be sent, and which are not answered yet."""

    def __init__(self, requests: Iterator[SubmitReportsRequest], progress: _Progress) -> None:
        self._requests = requests
        self._progress = progress
        self._sequences = itertools.count()
        self._stored = 0
        self._unanswered: dict[int, list[SubmitReportsRequest]] = {}
        self._later = 0
        self._again: deque[list[SubmitReportsRequest]] = deque()
        self._moved = asyncio.Event()

    async def messages(self) -> AsyncIterator[bytes]:
        """Every batch, many at a time, and once more those that the aggregator asks for later."""
        while True:
            if len(self._unanswered) < _UNANSWERED and (own := self._next()):
                sequence = next(self._sequences)
                self._unanswered[sequence] = own
                yield StreamReportsRequest(sequence=sequence, batches=own).SerializeToString()
            elif self._unanswered or self._later:
                self._moved.clear()
                await self._moved.wait()
            else:
                return

    def _next(self) -> list[SubmitReportsRequest]:
        if self._again:
            return self._again.popleft()
        own, size = [], 0
        for batch in self._requests:
            own.append(batch)
            size += batch.ByteSize() + _FRAME_BYTES
            if len(own) == _TOGETHER or size > _BYTES_TOGETHER:
                break
        return own

    def answered(self, answer: StreamReportsResponse) -> None:
        """The batches of a message are stored, have to be sent again, or will never be taken."""
        own = self._unanswered.pop(answer.sequence)
        later: list[SubmitReportsRequest] = []
        wait = 0
        for other in answer.others:
            if other.code not in {0, *_FOR_NOW}:
                raise FleetError(f"a batch is not taken: {other.message}")
            if other.code:
                later.append(own[other.place])
                wait = max(wait, other.retry_after_ms)
        if later:
            self._later += 1
            asyncio.get_running_loop().call_later(wait / 1000, self._once_more, later)
        for _ in range(len(own) - len(later)):
            self._stored += 1
            self._progress(self._stored)
        self._moved.set()

    def _once_more(self, batches: list[SubmitReportsRequest]) -> None:
        self._later -= 1
        self._again.append(batches)
        self._moved.set()


def batches(
    collection: Collection, values: _Values, epoch: int, generator: np.random.Generator
) -> Iterator[SubmitReportsRequest]:
    """The batches of all devices, drawn many at a time."""
    values = with_fed(collection, values)
    for start in range(0, _devices(values), _DEVICES):
        some = {name: own[start : start + _DEVICES] for name, own in values.items()}
        rows, wide_rows = _drawn(collection, some, generator)
        segments = generator.integers(collection.segment_count, size=len(rows)).tolist()
        ids = os.urandom(_ID_BYTES * len(rows))
        for device, own in enumerate(rows):
            yield SubmitReportsRequest(
                batch_id=ids[_ID_BYTES * device : _ID_BYTES * (device + 1)],
                collection_digest=collection.digest,
                epoch=epoch,
                segment=segments[device],
                rows=own,
                wide_rows=[WideRow(column=column, payload=payload) for column, payload in wide_rows.get(device, ())],
            )


def _drawn(
    collection: Collection, values: _Values, generator: np.random.Generator
) -> tuple[list[bytes], dict[int, list[tuple[int, bytes]]]]:
    """The rows of every device, and the wide rows of those that have some."""
    devices = _devices(values)
    rows: NDArray[np.uint64] = np.zeros((devices, len(values)), dtype=np.uint64)
    there = np.zeros(rows.shape, dtype=np.bool_)
    wide_rows: dict[int, list[tuple[int, bytes]]] = {}
    for place, (name, own) in enumerate(values.items()):
        for sent in randomized(collection.metrics[name], own, generator):
            if sent.column.shape.wide:
                for device, row in zip(sent.devices.tolist(), sent.wide_rows(sent.column.number), strict=True):
                    wide_rows.setdefault(device, []).append(row)
            else:
                rows[sent.devices, place] = sent.rows(sent.column.number)
                there[sent.devices, place] = True
    order = np.argsort(np.where(there, generator.random(rows.shape), 2.0), axis=1)
    packed = np.take_along_axis(rows, order, axis=1).astype("<u8").tobytes()
    width = rows.itemsize * rows.shape[1]
    ends = rows.itemsize * there.sum(axis=1)
    return [packed[width * device : width * device + end] for device, end in enumerate(ends.tolist())], wide_rows


def _devices(values: _Values) -> int:
    return len(next(iter(values.values())))
