"""Simulated fleets: what they send is what devices send, and all of it is counted once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import numpy as np
import pytest

from deniable import Collection
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.analysis.windows import reports_of
from deniable_aggregator.ingest.batcher import FlushSettings
from deniable_aggregator.planning import fleet
from deniable_aggregator.serving.server import Server, layout_of
from deniable_aggregator.store import CounterKey
from planning.everything import EVERYTHING, populations
from support.aggregator_server import EPOCH, serving
from support.endpoints import answering

DEVICES = 700
SENDERS = pytest.mark.parametrize("send", [fleet.report, fleet.forward])
Send = Callable[..., Awaitable[None]]


async def reports(server: Server, collection: Collection) -> set[int]:
    """How many reports each metric has, over both segments."""
    found = set()
    for metric in collection.metrics.values():
        sent = 0
        for column in metric.columns:
            keys = [CounterKey(collection.digest, column.number, EPOCH, segment) for segment in (0, 1)]
            stored = [each for each in await server.store.read(keys) if each is not None]
            sent += sum(reports_of(column.shape, each) for each in stored)
        found.add(sent)
    return found


@SENDERS
def test_every_device_is_counted_once_whatever_it_is_asked(tmp_path: Path, send: Send) -> None:
    """Every metric has as many reports as there are devices, and progress ends at all of them."""

    async def check() -> None:
        done: list[int] = []
        async with serving(tmp_path, layout_of(EVERYTHING)) as (server, _):
            endpoint, generator = f"127.0.0.1:{server.port}", np.random.default_rng(1)
            await send(EVERYTHING, populations(DEVICES), endpoint, EPOCH, generator, done.append)
            assert await reports(server, EVERYTHING) == {DEVICES}
        assert sorted(done) == list(range(1, DEVICES + 1))

    asyncio.run(check())


def test_batches_that_are_asked_for_later_are_sent_again(tmp_path: Path) -> None:
    """An aggregator that takes fifty batches at a time and refuses the others still counts each device once."""

    async def check() -> None:
        narrow = FlushSettings(most_batches=10, most_waiting=50)
        async with serving(tmp_path, layout_of(EVERYTHING), flush=narrow) as (server, _):
            endpoint, generator = f"127.0.0.1:{server.port}", np.random.default_rng(1)
            await fleet.forward(EVERYTHING, populations(100), endpoint, EPOCH, generator, lambda _: None)
            assert server.stats.refused
            assert await reports(server, EVERYTHING) == {100}

    asyncio.run(check())


def test_a_device_sends_again_what_is_refused_for_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same batch, with the same id; one that is refused for good, or again and again, ends it."""
    monkeypatch.setattr(fleet, "_PAUSES", (0.01,) * 10)

    def refusing(times: int, code: grpc.StatusCode) -> list[bytes]:
        def answer(number: int, context: grpc.ServicerContext) -> bytes:
            if number < times:
                context.abort(code, "no")
            return b""

        with answering(answer) as endpoint:
            asyncio.run(_sent(fleet.report, EVERYTHING, endpoint.address))
        return endpoint.requests

    sent = refusing(5, grpc.StatusCode.UNAVAILABLE)
    assert (len(sent), len(set(sent))) == (5 + 5, 5)
    for times, code in ((1, grpc.StatusCode.INVALID_ARGUMENT), (100, grpc.StatusCode.RESOURCE_EXHAUSTED)):
        with pytest.raises(fleet.FleetError, match="no"):
            refusing(times, code)


@SENDERS
def test_without_an_aggregator_the_error_says_so(send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody at the endpoint: one error that names it."""
    monkeypatch.setattr(fleet, "_CONNECT_SECONDS", 0.5)
    monkeypatch.setattr(fleet, "_PAUSES", (0.1,))
    with pytest.raises(fleet.FleetError, match=r"127\.0\.0\.1:1: .*is the aggregator running there"):
        asyncio.run(
            _sent(send, EVERYTHING, "127.0.0.1:1"),
        )


async def _sent(send: Send, collection: Collection, endpoint: str) -> None:
    await send(collection, populations(5), endpoint, EPOCH, np.random.default_rng(1), lambda _: None)


@SENDERS
def test_a_collection_that_is_not_served_is_an_error(tmp_path: Path, send: Send) -> None:
    """What will never be taken is not sent for ever."""
    other = layout_of(Collection.loads(Path("examples/editor.toml").read_text(encoding="utf-8")))

    async def check() -> None:
        async with serving(tmp_path, other) as (server, _):
            await _sent(send, EVERYTHING, f"127.0.0.1:{server.port}")

    with pytest.raises(fleet.FleetError, match="collection"):
        asyncio.run(check())


def test_a_simulated_batch_has_what_a_devices_batch_has() -> None:
    """The same fields, the same columns' metrics, each once; rows in random order, ids all different."""
    (request, *others) = fleet.batches(EVERYTHING, populations(40), EPOCH, np.random.default_rng(2))
    answers = {name: own[0] for name, own in populations(40).items()}
    device = SubmitReportsRequest.FromString(fleet.reported(EVERYTHING, answers, EPOCH, 1).request)
    for batch in (request, *others):
        assert len(batch.batch_id) == 16
        assert (batch.collection_digest, batch.epoch) == (device.collection_digest, device.epoch)
        assert metrics(batch) == metrics(device) == sorted(EVERYTHING.metrics)
        assert batch.segment in {0, 1}
    assert len({batch.batch_id for batch in others}) == 39
    assert len({tuple(narrow(batch)) for batch in others}) > 30


def narrow(batch: SubmitReportsRequest) -> list[str]:
    """The metrics of the rows, in their order."""
    rows = np.frombuffer(batch.rows, dtype="<u8") >> np.uint64(48)
    return [EVERYTHING.columns[number].metric for number in rows.tolist()]


def metrics(batch: SubmitReportsRequest) -> list[str]:
    """All metrics, sorted."""
    return sorted(narrow(batch) + [EVERYTHING.columns[wide.column].metric for wide in batch.wide_rows])
