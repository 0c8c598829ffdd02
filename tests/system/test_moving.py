"""Counters that are exported, imported, backed up and restored while devices report: they add up to the batch."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from deniable import Collection
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator import Reader
from deniable_aggregator.store import CounterKey, Store
from support.aggregator_server import Client, request
from support.aggregators import EXACT, connections, running, today
from support.commands import deniable
from support.stored import stored_in
from support.waiting import until

TEXT = EXACT.replace("epoch = 1.0", "epoch = 2.0") + EXACT[EXACT.index("[metrics.level]") :].replace(
    "[metrics.level]", "[metrics.same]"
)
"""Every batch answers both metrics alike."""
COLLECTION = Collection.loads(TEXT)
LEVELS = COLLECTION.columns[0].shape.counters
DEVICES = 8


@dataclass
class Fleet:
    """Devices, each of whose batches carries a level that no other one has, twice."""

    first: int = 0
    """The level of its first batch."""
    sent: int = field(init=False)
    """The level of the next one."""
    batches: dict[int, SubmitReportsRequest] = field(default_factory=dict)
    """By level."""
    acknowledged: set[int] = field(default_factory=set)
    ended: bool = False

    def __post_init__(self) -> None:
        self.sent = self.first

    async def device(self, client: Client) -> None:
        """Report, again and again, until there is nothing left to say."""
        while not self.ended and self.sent < LEVELS:
            level, self.sent = self.sent, self.sent + 1
            batch = request(
                (0, level), (1, level), epoch=today(), segment=level % 3, collection_digest=COLLECTION.digest
            )
            self.batches[level] = batch
            await client.submit(batch)
            self.acknowledged.add(level)

    async def more(self, batches: int) -> None:
        """Return when so many more are acknowledged."""
        goal = min(len(self.acknowledged) + batches, LEVELS - self.first)
        await until(lambda: len(self.acknowledged) >= goal)


@contextlib.asynccontextmanager
async def reporting(port: int, first: int = 0) -> AsyncIterator[Fleet]:
    """Devices that report meanwhile."""
    fleet = Fleet(first)
    async with connections(port, DEVICES) as clients:
        devices = [asyncio.create_task(fleet.device(client)) for client in clients]
        yield fleet
        fleet.ended = True
        await asyncio.gather(*devices)


async def levels(store: Store, epoch: int) -> list[list[int]]:
    """Of both columns: the levels that are counted, each once."""
    found = []
    for column in (0, 1):
        read = await store.read([CounterKey(COLLECTION.digest, column, epoch, segment) for segment in range(3)])
        total = np.sum([own for own in read if own is not None], axis=0)
        assert set(total.tolist()) <= {0, 1}
        found.append(np.flatnonzero(total).tolist())
    return found


def written(file: Path) -> list[list[int]]:
    """The same of a file."""
    found = [np.zeros(LEVELS, dtype=np.int64), np.zeros(LEVELS, dtype=np.int64)]
    for line in map(json.loads, file.read_bytes().splitlines()):
        if "counters" in line:
            found[line["column"]][line["first"] : line["first"] + len(line["counters"])] += line["counters"]
    assert {each for own in found for each in own.tolist()} <= {0, 1}
    return [np.flatnonzero(own).tolist() for own in found]


def test_export_and_import_under_load(tmp_path: Path) -> None:
    """A file that is written while devices report has every batch that was acknowledged before, each whole; imported
    into an aggregator that runs it is answered at once, with exactly so many reports, and a second time changes
    nothing. When devices have ended the sums are equal to the last batch."""
    metrics, data, there = tmp_path / "metrics.toml", tmp_path / "data", tmp_path / "there"
    metrics.write_text(TEXT)

    async def told(*words: str | Path) -> str:
        found = await asyncio.to_thread(deniable, *words)
        assert (found.returncode, found.stderr) == (0, "")
        return found.stdout

    async def load() -> None:
        epoch = today()
        async with running(metrics, "--data", data) as one, running(metrics, "--data", there) as other:
            async with reporting(one.port) as fleet:
                for number in range(5):
                    await fleet.more(100)
                    before, file = set(fleet.acknowledged), tmp_path / str(number)
                    await told("export", file, metrics, "--open", "--data", data)
                    first, second = written(file)
                    assert first == second
                    assert before <= set(first) <= set(range(fleet.sent))
            assert "added counters of 1 epochs" in await told("import", file, metrics, "--data", there)
            with Reader(other.endpoint) as reader:
                rows = await asyncio.to_thread(reader.estimates, "level", last_epoch=epoch)
            assert {row["reports"] for row in rows} == {len(first)}
            again = await told("import", file, metrics, "--data", there)
            assert "nothing is added: all counters of 1 epochs have been imported before" in again
            refused = await asyncio.to_thread(deniable, "import", tmp_path / "0", metrics, "--data", there)
            assert refused.returncode == 2
            assert "another file has brought" in refused.stderr
            await told("export", tmp_path / "last", metrics, "--open", "--data", data)
            assert await other.end() == await one.end() == 0
        assert written(tmp_path / "last") == [sorted(fleet.acknowledged)] * 2
        async with stored_in(there) as store:
            assert await levels(store, epoch) == [first, second]

    asyncio.run(load())


def test_what_is_imported_while_devices_report_is_added_to_what_they_say(tmp_path: Path) -> None:
    """To the same counters of the same epoch, by another process than the one that takes reports: each batch of both
    fleets is counted once, and none fails."""
    metrics, data, there, file = (tmp_path / name for name in ("metrics.toml", "data", "there", "file"))
    metrics.write_text(TEXT)

    async def load() -> None:
        epoch = today()
        async with running(metrics, "--data", data) as one:
            async with reporting(one.port) as brought:
                await brought.more(300)
            assert await one.end() == 0
        async with stored_in(data):
            exported = await asyncio.to_thread(deniable, "export", file, metrics, "--open", "--data", data)
        assert (exported.returncode, exported.stderr) == (0, "")
        async with running(metrics, "--data", there) as other:
            async with reporting(other.port, LEVELS // 2) as own:
                await own.more(100)
                told = await asyncio.to_thread(deniable, "import", file, metrics, "--data", there)
                assert (told.returncode, told.stderr) == (0, "")
                await own.more(100)
            assert await other.end() == 0
        async with stored_in(there) as store:
            assert await levels(store, epoch) == [sorted(brought.acknowledged | own.acknowledged)] * 2

    asyncio.run(load())


@pytest.mark.parametrize("again", ["killed", "ended"])
def test_backup_and_restore_under_load(tmp_path: Path, again: str) -> None:
    """A copy is made while devices report, then all is lost. The copy has every batch that was acknowledged before,
    each whole; devices that repeat all that they said are told which of it is there: nothing is counted twice."""
    metrics, data, copy = tmp_path / "metrics.toml", tmp_path / "data", tmp_path / "copy"
    metrics.write_text(TEXT)

    async def load() -> None:
        epoch = today()
        async with running(metrics, "--data", data) as one:
            async with reporting(one.port) as fleet:
                await fleet.more(300)
                before = set(fleet.acknowledged)
                told = await asyncio.to_thread(deniable, "backup", copy, "--data", data)
                assert (told.returncode, told.stderr) == (0, "")
                assert "of 1 collections; it has been opened and read" in told.stdout
                await fleet.more(300)
            if again == "ended":
                assert await one.end() == 0
            else:
                one.kill()
        shutil.rmtree(data)
        async with stored_in(copy) as store:
            first, second = await levels(store, epoch)
        assert first == second
        assert before <= set(first) <= set(range(fleet.sent))
        assert not fleet.acknowledged <= set(first), "what was acknowledged later is not in it"
        async with running(metrics, "--data", copy) as other, connections(other.port, 4) as clients:
            for level in range(fleet.sent):
                duplicate = await clients[level % 4].submit(fleet.batches[level])
                assert duplicate == (level in set(first))
            assert await other.end() == 0
        async with stored_in(copy) as store:
            assert await levels(store, epoch) == [list(range(fleet.sent))] * 2

    asyncio.run(load())


def test_a_backup_is_whole_or_not_there(tmp_path: Path) -> None:
    """One that fails leaves nothing; what is there already is not touched; one at a time."""
    metrics, data = tmp_path / "metrics.toml", tmp_path / "data"
    metrics.write_text(TEXT)

    async def load() -> None:
        async with stored_in(data):
            (tmp_path / "there").mkdir()
            (tmp_path / "there" / "file").write_text("mine")
            told = await asyncio.to_thread(deniable, "backup", tmp_path / "there", "--data", data)
            assert (told.returncode, os.listdir(tmp_path / "there")) == (2, ["file"])
            assert "is there already" in told.stderr
            (data / "dump.rdb").mkdir()  # so that the server can write none
            told = await asyncio.to_thread(deniable, "backup", tmp_path / "copy", "--data", data)
            assert told.returncode == 2
            assert "can not write a snapshot" in told.stderr
            (data / "dump.rdb").rmdir()
            assert sorted(os.listdir(tmp_path)) == ["data", "metrics.toml", "there"]
            with (data / "backup.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                told = await asyncio.to_thread(deniable, "backup", tmp_path / "copy", "--data", data)
            assert "another backup" in told.stderr
            told = await asyncio.to_thread(deniable, "backup", tmp_path / "copy", "--data", data)
            assert (told.returncode, told.stderr) == (0, "")
        told = await asyncio.to_thread(deniable, "backup", tmp_path / "none", "--data", tmp_path)
        assert "is no aggregator's" in told.stderr

    asyncio.run(load())
