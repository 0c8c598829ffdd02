"""The aggregator as a whole: starting, health, reflection, draining, and what it does without a store."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from deniable import Collection
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.ingest import FlushSettings, Layout
from deniable_aggregator.serving.answering import answering
from deniable_aggregator.serving.server import Server, Settings, layout_of
from deniable_aggregator.store import EmbeddedStore, ShardMismatch, Store, StoreUnavailable
from support.aggregator_server import COLLECTION, LAYOUT, connected, counted, request, serving, store_of
from support.waiting import PATIENCE, until

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
REPORTS = "deniable.v1.ReportService"


async def follow(health: health_pb2_grpc.HealthStub, service: str, seen: list[int]) -> None:
    """Write down every state of a service's health."""
    async for answer in health.Watch(health_pb2.HealthCheckRequest(service=service)):
        seen.append(answer.status)  # noqa: PERF401  (as they come)


def test_a_collection_becomes_a_layout() -> None:
    """A layout says of a collection what ingest needs: digest, epochs, segments, and a shape a column."""
    assert layout_of(COLLECTION) == Layout(
        COLLECTION.name,
        COLLECTION.digest,
        86_400,
        6,
        tuple((column.metric, column.shape) for column in COLLECTION.columns),
    )
    assert isinstance(COLLECTION, Collection)


def test_health_follows_the_store(tmp_path: Path) -> None:
    """While the store is away, health is NOT_SERVING and batches are UNAVAILABLE; both recover with it."""

    async def watch() -> None:
        async with serving(tmp_path) as (server, client):
            health = health_pb2_grpc.HealthStub(client.channel)
            seen: list[int] = []

            following = asyncio.create_task(follow(health, REPORTS, seen))
            await until(lambda: seen == [SERVING])
            stopped = store_of(server).pid
            assert stopped
            os.kill(stopped, signal.SIGSTOP)
            told = asyncio.create_task(client.refused(request((0, 1))))
            await until(lambda: seen == [SERVING, NOT_SERVING])
            assert (await told).reason == "STORE_UNAVAILABLE"
            os.kill(stopped, signal.SIGCONT)
            await until(lambda: seen == [SERVING, NOT_SERVING, SERVING])
            assert await client.submit(request((0, 2))) is False
            overall = await health.Check(health_pb2.HealthCheckRequest())
            assert overall.status == SERVING
            following.cancel()

    asyncio.run(watch())


def test_draining_is_said_first_and_watchers_do_not_hold_it_up(tmp_path: Path) -> None:
    """Draining turns health to NOT_SERVING before the aggregator goes, and ends soon though someone watches."""

    async def watch() -> None:
        async with serving(tmp_path, grace=10 * PATIENCE) as (server, client):
            health = health_pb2_grpc.HealthStub(client.channel)
            seen: list[int] = []

            following = asyncio.create_task(follow(health, "", seen))
            await until(lambda: seen == [SERVING])
            await asyncio.wait_for(server.drain(), PATIENCE)
            with pytest.raises(grpc.aio.AioRpcError):
                await following
            assert seen == [SERVING, NOT_SERVING]

    asyncio.run(watch())


def test_draining_ends_within_the_grace_period_without_a_store(tmp_path: Path) -> None:
    """With a store that hangs, batches that wait are given up after the grace period: none is acknowledged."""

    async def hang() -> None:
        async with serving(tmp_path / "store") as (behind, _):
            stopped = store_of(behind).pid
            assert stopped
            url = store_of(behind).url
            async with serving(tmp_path, redis_url=url, grace=0.5) as (server, client):
                os.kill(stopped, signal.SIGSTOP)
                sent = asyncio.create_task(client.submit(request((0, 1))))
                await until(lambda: server.stats.waiting == 1)
                await asyncio.wait_for(server.drain(), PATIENCE)
                with pytest.raises(grpc.aio.AioRpcError):
                    await sent
                os.kill(stopped, signal.SIGCONT)

    asyncio.run(hang())


def test_other_services_are_served_beside(tmp_path: Path) -> None:
    """A service that is added gets the store, is served and named by reflection, and has a health of its own."""

    async def ask() -> None:
        given: list[Store] = []

        def add(server: grpc.aio.Server, store: Store) -> str:
            given.append(store)

            async def say(message: bytes, _: object) -> bytes:
                return message[::-1]

            handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
                "Say": grpc.unary_unary_rpc_method_handler(say)
            }
            server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("other.Echo", handlers)])
            return "other.Echo"

        server = Server(Settings(listen="127.0.0.1:0", data_dir=tmp_path), [LAYOUT], [add])
        await server.start()
        try:
            assert given == [server.store]
            async with connected(server.port) as client:
                say: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = client.channel.unary_unary("/other.Echo/Say")
                assert await say(b"abc") == b"cba"
                health = health_pb2_grpc.HealthStub(client.channel)
                answer = await health.Check(health_pb2.HealthCheckRequest(service="other.Echo"))
                assert answer.status == SERVING
            names = await asyncio.to_thread(_reflected, server.port)
            assert {REPORTS, "other.Echo", "grpc.health.v1.Health"} <= names
        finally:
            await server.drain()

    asyncio.run(ask())


def test_no_method_has_a_queue_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No service's methods are registered with gRPC: its loop would wait for one more queue each at every call."""
    registered: list[str] = []

    async def start() -> None:
        kind = type(grpc.aio.server())
        monkeypatch.setattr(kind, "add_registered_method_handlers", lambda _, name, __: registered.append(name))
        server = Server(Settings(listen="127.0.0.1:0", data_dir=tmp_path), [LAYOUT], answering(Catalog([])))
        await server.start()
        await server.drain()

    asyncio.run(start())
    assert registered == []


def _reflected(port: int) -> set[str]:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        file = database.FindFileContainingSymbol(REPORTS)
        assert "SubmitReports" in {method.name for method in file.service[0].method}
        return set(database.get_services())


def test_a_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    """A second aggregator on the same port does not start, and leaves no store behind; sharing is asked for."""

    async def start() -> None:
        async with serving(tmp_path / "first", reuse_port=True) as (server, _):
            listen = f"127.0.0.1:{server.port}"
            alone = Server(Settings(listen=listen, data_dir=tmp_path / "second"), [LAYOUT])
            with pytest.raises(OSError, match=listen):
                await alone.start()
            free = EmbeddedStore(tmp_path / "second", patience=0.0)
            await free.start()
            await free.stop()
            sharing = Server(Settings(listen=listen, data_dir=tmp_path / "third", reuse_port=True), [LAYOUT])
            await sharing.start()
            assert sharing.port == server.port
            await sharing.drain()

    asyncio.run(start())


def test_another_number_of_shards_is_an_error(tmp_path: Path) -> None:
    """An aggregator with another number of shards than its store was begun with does not start."""

    async def start() -> None:
        async with serving(tmp_path, shards=2):
            pass
        with pytest.raises(ShardMismatch):
            await Server(Settings(listen="127.0.0.1:0", data_dir=tmp_path, shards=3), [LAYOUT]).start()
        async with serving(tmp_path, shards=2):
            pass

    asyncio.run(start())


def test_without_a_store_there_is_no_aggregator(tmp_path: Path) -> None:
    """An aggregator whose Redis does not answer does not start; one with none or two does not make sense."""
    settings = Settings(listen="127.0.0.1:0", redis_url=f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(StoreUnavailable):
        asyncio.run(Server(settings, [LAYOUT]).start())
    for wrong in ({}, {"data_dir": tmp_path, "redis_url": "redis://x"}):
        with pytest.raises(ValueError, match="either"):
            Settings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="grace"):
        Settings(data_dir=tmp_path, grace=-1.0)
    with pytest.raises(ValueError, match="share the port"):
        Settings(data_dir=tmp_path, listeners=2)


def test_a_restart_picks_up_where_it_was(tmp_path: Path) -> None:
    """After a restart the counters go on, and a batch from before it is still known."""

    async def restart() -> None:
        batch = request((0, 4))
        async with serving(tmp_path, flush=FlushSettings(interval=0.0)) as (_, client):
            assert await client.submit(batch) is False
        async with serving(tmp_path) as (server, client):
            assert await client.submit(batch) is True
            assert await client.submit(request((0, 4))) is False
            assert await counted(server, 0) == [0, 0, 0, 0, 2]

    asyncio.run(restart())
