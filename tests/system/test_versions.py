"""A collection's first change, as its owner makes it: a spelling is mended, and nothing vanishes."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import grpc
import pytest

from deniable import Collection
from deniable_aggregator.serving.answering import answering
from deniable_aggregator.serving.server import Settings
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.supervisor import Program, Supervisor
from support.aggregator_server import DAY, Client, connected, request
from support.aggregators import running
from support.collection_files import head, metric
from support.commands import told
from support.waiting import until

FIRST = head("shop", 9) + metric("open", "boolean", "The shop is opn")
SECOND = FIRST.replace("opn", "open")


NUMBERED = SECOND.replace("[budget]", "version = 1\n[budget]")


async def is_served(client: Client, text: str) -> bool:
    """Whether a report for a collection is taken."""
    digest, today = Collection.loads(text).digest, int(time.time() // DAY)
    try:
        await client.submit(request((0, 1), epoch=today, segment=0, collection_digest=digest))
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
            raise
        return False
    return True


def test_a_mended_spelling_cuts_nothing_whatever_the_file_is_called(tmp_path: Path) -> None:
    """The file of the new version stands before the old one's in the directory, which is served as a whole.

    What both versions have reported is one answer under the bare name, and what was read again is told. Without a
    version's number the new file is refused, with what to do, and what is served stays as it is.
    """
    room, log = tmp_path / "collections", tmp_path / "log"
    room.mkdir()
    (room / "z_old.toml").write_text(FIRST)

    async def life() -> None:
        async with (
            running(room, "--data", tmp_path / "data", log=log) as aggregator,
            connected(aggregator.port) as client,
        ):
            assert await is_served(client, FIRST)
            (room / "a_new.toml").write_text(SECOND)
            await until(lambda: "give the newer one a greater number, such as version = 1" in log.read_text())
            assert not await is_served(client, SECOND)
            (room / "a_new.toml").write_text(NUMBERED)
            await until(lambda: "read again: shop: worded anew open\n" in log.read_text())
            while not await is_served(client, SECOND):  # noqa: ASYNC110 - another process is waited for
                await asyncio.sleep(0.02)
            assert await is_served(client, FIRST)
            found = await asyncio.to_thread(told, "estimates", "--endpoint", aggregator.endpoint, "--format", "csv")
            assert found.returncode == 0, found.stderr
            header, row, *_ = found.stdout.splitlines()
            cells = dict(zip(header.split(","), row.split(","), strict=True))
            assert (cells["collection"], cells["metric"], cells["reports"]) == ("shop", "open", "3")
        async with running(room, "--data", tmp_path / "data", log=log) as again, connected(again.port) as client:
            assert await is_served(client, FIRST), "nothing is answered in it alone, and devices have it"
            assert await is_served(client, SECOND)

    asyncio.run(life())


def test_a_version_that_is_left_out_is_told_in_the_log(tmp_path: Path) -> None:
    """Who serves the new file alone reads, once, that the older one's reports are there and not shown."""
    room, log = tmp_path / "collections", tmp_path / "log"
    room.mkdir()
    (room / "old.toml").write_text(FIRST)

    async def life() -> None:
        async with (
            running(room, "--data", tmp_path / "data", log=log) as aggregator,
            connected(aggregator.port) as client,
        ):
            assert await is_served(client, FIRST)
        assert "its file is not served" not in log.read_text()
        (room / "old.toml").rename(tmp_path / "old.toml")
        (room / "new.toml").write_text(NUMBERED)
        async with running(room, "--data", tmp_path / "data", log=log):
            await until(
                lambda: "in 1 epoch, and its file is not served: they are not shown; serve it" in log.read_text()
            )

    asyncio.run(life())
    assert log.read_text().count("its file is not served") == 1


def test_versions_that_can_not_be_told_apart_are_not_begun_with(tmp_path: Path) -> None:
    """The command ends with the message."""
    for name, text in (("a.toml", FIRST), ("b.toml", SECOND)):
        (tmp_path / name).write_text(text)
    refused = told("serve", tmp_path, "--data", tmp_path / "data", "--http", "off")
    assert refused.returncode == 2
    assert "b.toml: collection.version: is 0 as in " in refused.stderr


def test_reloads_are_kept_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The newest first, each with what it changed; one that changes nothing, or fails, is only logged."""
    file = tmp_path / "collection.toml"
    file.write_text(FIRST)
    supervisor = Supervisor(Program(Settings(data_dir=tmp_path), Sources((tmp_path,)), answering), 1)
    supervisor.reload()
    supervisor.reload()
    (tmp_path / "next.toml").write_text(SECOND)
    supervisor.reload()
    with caplog.at_level(logging.INFO):
        (tmp_path / "next.toml").write_text(NUMBERED.replace("open]", "opened]"))
        supervisor.reload()
    first, second = (Collection.loads(text) for text in (FIRST, NUMBERED.replace("open]", "opened]")))
    assert [reload.changes for reload in supervisor.reloads] == [
        (f"shop version 1 ({second.digest:016x}) is served", "shop: added opened; gone open"),
        (f"shop version 0 ({first.digest:016x}) is served",),
    ]
    assert "read again: shop: added opened; gone open" in caplog.text
    assert len(supervisor.layouts) == 2, "devices may have either"
