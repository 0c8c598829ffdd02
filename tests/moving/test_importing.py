"""Counters that are moved in files: they add up, once, whatever is repeated, killed or made up."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.ingest import Calendar
from deniable_aggregator.moving import FileFault, Imported, ImportRefused, bring, export
from deniable_aggregator.moving.lines import LONGEST_KEPT
from deniable_aggregator.store import Doubt, Doubted, EpochKey, Named, Store
from deniable_aggregator.store.keys import origins_name
from support.moved import LAYOUT, OLD, counted, exported, put
from support.stored import stored

SUMS = {(0, 0): {0: 5, 1: 7}, (0, 1): {1: 2}, (1, 1): {3: 1, 16_384: 4, 39_999: 6}}
TODAY = OLD + 30


@contextlib.asynccontextmanager
async def three() -> AsyncIterator[tuple[Store, Store, Store]]:
    """Three stores, of which the first two have counters of one epoch."""
    async with stored() as one, stored() as other, stored() as third:
        await put(one, OLD, SUMS)
        await put(other, OLD, {(0, 0): {0: 10}, (1, 0): {2: 3}})
        yield one, other, third


async def sums(store: Store, epoch: int = OLD) -> dict[tuple[int, int], dict[int, int]]:
    """All counters of an epoch that are not zero."""
    found = {
        (column, segment): await counted(store, epoch, column, segment) for column in (0, 1) for segment in (0, 1)
    }
    return {where: own for where, own in found.items() if own}


def test_regions_add_up_once(tmp_path: Path) -> None:
    """Two files are added to a third store: it has both sums; either of them again changes nothing and says so; what
    it makes of both can go on to nobody who has either, nor back to itself."""
    first, second, both = (tmp_path / name for name in ("first", "second", "both"))

    async def move() -> None:
        async with three() as (one, other, third):
            await exported(one, first)
            await exported(other, second)
            await put(third, OLD, {(0, 0): {0: 100}})
            assert (await bring(third, first, [LAYOUT])).added == 1
            assert (await bring(third, second, [LAYOUT])).added == 1
            total = {**SUMS, (0, 0): {0: 115, 1: 7}, (1, 0): {2: 3}}
            assert await sums(third) == total
            for file in (first, second, first):
                again = await bring(third, file, [LAYOUT])
                assert (again.added, again.known) == (0, 1)
            await exported(third, both)
            with pytest.raises(ImportRefused, match="they are its own: epoch"):
                await bring(third, both, [LAYOUT])
            with pytest.raises(ImportRefused, match="they are its own: epoch"):
                await bring(one, both, [LAYOUT])
            assert await sums(third) == total
            assert await sums(one) == SUMS
            async with stored() as fourth:
                await bring(fourth, second, [LAYOUT])
                with pytest.raises(ImportRefused, match="another file has brought counters of the same devices"):
                    await bring(fourth, both, [LAYOUT])
                assert await sums(fourth) == {(0, 0): {0: 10}, (1, 0): {2: 3}}

    asyncio.run(move())


def test_a_file_without_counters_is_told_as_that(tmp_path: Path) -> None:
    """Of a store that has none, or none but zeros: it was not imported before."""
    empty, zeros = tmp_path / "empty", tmp_path / "zeros"

    async def move() -> None:
        async with stored() as one, stored() as other:
            await exported(one, empty)
            await put(one, OLD, {(0, 0): {0: 1}})
            await put(one, OLD, {(0, 0): {0: -1}})
            await exported(one, zeros)
            for file, epochs in ((empty, 0), (zeros, 1)):
                found = await bring(other, file, [LAYOUT])
                assert (found.epochs, found.added, found.known) == (epochs, 0, 0)

    asyncio.run(move())


def test_what_was_brought_is_remembered_for_longer_than_anything_is_kept(tmp_path: Path) -> None:
    """Not only for as long as the file's own store keeps it: the one that it comes to may keep it for longer."""
    file = tmp_path / "file"

    async def move() -> None:
        async with three() as (one, _, third):
            await exported(one, file)
            await bring(third, file, [LAYOUT])
            name = origins_name(EpochKey(LAYOUT.digest, OLD))
            (until,) = await third._servers.ask(name, ("EXPIRETIME", name))
            assert until > (OLD + 1) * LAYOUT.epoch_seconds + LONGEST_KEPT

    asyncio.run(move())


def test_a_later_file_of_the_same_store_is_refused_as_a_whole(tmp_path: Path) -> None:
    """It has the same batches in it: not even its other epochs are added, and it says which are in the way."""

    async def move() -> None:
        async with three() as (one, _, third):
            await exported(one, tmp_path / "first")
            await bring(third, tmp_path / "first", [LAYOUT])
            await put(one, OLD, {(0, 0): {0: 1}})
            await put(one, OLD + 1, {(0, 0): {0: 1}})
            await exported(one, tmp_path / "later")
            with pytest.raises(ImportRefused, match=f"already: epoch {OLD} of editor; export the other epochs"):
                await bring(third, tmp_path / "later", [LAYOUT])
            assert await sums(third) == SUMS
            assert await sums(third, OLD + 1) == {}

    asyncio.run(move())


def test_an_import_that_was_killed_goes_on(tmp_path: Path) -> None:
    """Whichever parcel it ended at, the next one adds what is missing; two at the same time add everything once."""
    wide = {(1, segment): dict.fromkeys(range(0, 40_000, 7), 3) for segment in (0, 1)}

    async def move() -> None:
        async with stored() as one:
            for epoch in range(OLD, OLD + 3):
                await put(one, epoch, wide)
            await exported(one, tmp_path / "file")
        for parcels in range(7):
            async with stored() as third:
                left = parcels

                async def merge(*said: Any, third: Store = third) -> bool:
                    nonlocal left
                    if left == 0:
                        raise ConnectionError("killed")
                    left -= 1
                    return await Store.merge(third, *said)

                with pytest.MonkeyPatch.context() as patch, contextlib.suppress(ConnectionError):
                    patch.setattr(third, "merge", merge)
                    await bring(third, tmp_path / "file", [LAYOUT])
                told = await asyncio.gather(*(bring(third, tmp_path / "file", [LAYOUT]) for _ in range(2)))
                assert sum(each.added for each in told) == 6 - parcels
                assert {each.added + each.known for each in told} == {6}
                for epoch in range(OLD, OLD + 3):
                    assert await sums(third, epoch) == wide

    asyncio.run(move())


def test_what_is_said_of_epochs_and_collections_comes_along(tmp_path: Path) -> None:
    """A doubt of there is one here, before anything is added; what is said here stays. What is removed there brings
    no counters."""
    doubted, removed, both = (Doubted("editor", 86_400, epoch) for epoch in (OLD, OLD + 1, OLD + 2))

    async def move() -> None:
        async with stored() as one, stored() as third:
            for epoch in range(OLD, OLD + 3):
                await put(one, epoch, SUMS)
            await one.doubts.put({doubted: Doubt("fakes"), removed: Doubt("bad", removed=True), both: Doubt("there")})
            await third.doubts.put({both: Doubt("here")})
            await exported(one, tmp_path / "file")
            found = await bring(third, tmp_path / "file", [LAYOUT])
            assert (found.epochs, found.doubts) == (2, 2)
            assert await third.doubts.all() == {doubted: Doubt("fakes"), removed: Doubt("bad"), both: Doubt("here")}
            assert await third.known.all() == {LAYOUT.digest: Named("editor", 86_400)}
            assert await sums(third, OLD + 1) == {}

    asyncio.run(move())


def test_whoever_has_read_an_epoch_learns_that_it_has_changed(tmp_path: Path) -> None:
    """Its version is another one: an import is seen at once."""

    async def move() -> None:
        async with three() as (one, _, third):
            await exported(one, tmp_path / "file")
            before = await third.seen(LAYOUT.digest, [OLD])
            await bring(third, tmp_path / "file", [LAYOUT])
            assert await third.seen(LAYOUT.digest, [OLD]) != before

    asyncio.run(move())


def test_open_epochs_are_left_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    """For what comes later could not be brought."""

    async def move() -> None:
        async with stored() as one:
            await put(one, OLD, SUMS)
            await put(one, TODAY, SUMS)
            closed = await exported(one, tmp_path / "file", with_open=False)
            assert f'"epoch":{OLD},'.encode() in closed
            assert f'"epoch":{TODAY},'.encode() not in closed
            assert f'"epoch":{TODAY},'.encode() in await exported(one, tmp_path / "file")

    asyncio.run(move())


@pytest.mark.parametrize(("seconds", "written"), [(0, False), (3599, False), (3600, True)])
def test_an_epoch_that_has_just_closed_is_open_for_an_hour_yet(tmp_path: Path, seconds: int, written: bool) -> None:
    """A batch that came in its last second may be on its way to the store."""

    async def move() -> None:
        async with stored() as one:
            await put(one, OLD, SUMS)
            closes = (OLD + 1 + Calendar().accept_late) * LAYOUT.epoch_seconds
            calendar = Calendar(clock=lambda: closes + seconds)
            found = await export(one, tmp_path / "file", [LAYOUT], release="test", calendar=calendar)
            assert (found.epochs, found.open) == ((1, 0) if written else (0, 1))

    asyncio.run(move())


def test_a_store_for_real_devices_takes_no_simulated_ones(tmp_path: Path) -> None:
    """Whatever the file is called."""

    async def move() -> None:
        async with three() as (one, _, third):
            text = await exported(one, tmp_path / "file")
            lines = [json.loads(line) for line in text.splitlines()]
            lines[0]["simulated"] = True
            (tmp_path / "file").write_bytes(written(lines[:-1]))
            with pytest.raises(ImportRefused, match="simulated devices, and this store is for real ones"):
                await bring(third, tmp_path / "file", [LAYOUT])

    asyncio.run(move())


def test_a_file_has_sums_and_nothing_that_was_added(tmp_path: Path) -> None:
    """No id of a batch, in whatever form, and no time but until when counters are kept."""

    async def move() -> None:
        async with stored() as one:
            await put(one, OLD, SUMS, batches=20)
            text = (await exported(one, tmp_path / "file")).decode()
            ids = [
                member
                for (found,) in await one._servers.ask_everywhere(("KEYS", "deniable:*seen*"))
                for name in found
                for member in (await one._servers.ask(name, ("SMEMBERS", name)))[0]
            ]
        assert len(ids) >= 20
        assert not [each for each in ids if each.hex() in text]
        assert {key for line in text.splitlines() for key in json.loads(line)} == {
            "deniable counters", "release", "simulated", "digest", "collection", "epoch_seconds", "epoch", "until",
            "origins", "column", "segment", "first", "counters", "lines", "sha256",
        }  # fmt: skip

    asyncio.run(move())


def written(lines: list[Any]) -> bytes:
    """Lines as a file whose end is right."""
    text = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    end = {"lines": text.count(b"\n"), "sha256": hashlib.sha256(text).hexdigest()}
    return text + json.dumps(end).encode() + b"\n"


HEAD = {"deniable counters": 1, "release": "x", "simulated": False}
OF = {"digest": f"{LAYOUT.digest:016x}", "collection": "editor", "epoch_seconds": 86_400}
EPOCH = {"epoch": OLD, "until": int(time.time()) + 10**6, "origins": ["ab" * 16]}
PART = {"column": 0, "segment": 0, "first": 0, "counters": [1, 2]}
GOOD: list[Any] = [HEAD, OF, EPOCH, PART]
DOUBT = {"doubt": 3, "collection": "editor", "epoch_seconds": 86_400, "reason": "r"}
HOSTILE: dict[str, tuple[list[Any], str]] = {
    "another form": ([HEAD | {"deniable counters": 2}], "line 1: is of form 2, and this release reads form 1"),
    "no beginning": ([OF, EPOCH], "line 1: is not how a file of `deniable export` begins"),
    "two beginnings": ([HEAD, HEAD], "line 2: begins a file in the midst of one"),
    "no JSON": ([HEAD, b"{\n"], "line 2: is no JSON"),
    "no object": ([HEAD, b"[]\n"], "line 2: is no object"),
    "a depth": ([HEAD, b"[" * 200_000 + b"\n"], "line 2: is no"),
    "a key twice": ([HEAD, b'{"epoch": 1, "epoch": 2}\n'], "line 2: is no JSON: a key is there twice"),
    "a long line": ([HEAD, b" " * 600_000 + b"\n"], "line 2: is longer than"),
    "a key too many": ([HEAD, OF | {"batches": ["00"]}], "line 2: has batches, collection"),
    "a collection that was not given": ([HEAD, OF | {"digest": "0" * 16}], "line 2: has counters of collection 0000"),
    "a digest that is none": ([HEAD, OF | {"digest": "x"}], "line 2: a digest has 16"),
    "another name": ([HEAD, OF | {"collection": "other"}], "line 2: collection .* has another name"),
    "a collection twice": ([HEAD, OF, OF], "line 3: collections come in the order"),
    "an epoch of nothing": ([HEAD, EPOCH], "line 2: an epoch is of a collection"),
    "an epoch twice": ([HEAD, OF, EPOCH, EPOCH], "line 4: epochs come in order, and each once"),
    "an epoch to come": ([HEAD, OF, EPOCH | {"epoch": TODAY + 9}], f"line 3: epoch {TODAY + 9} has not begun"),
    "for ever": ([HEAD, OF, EPOCH | {"until": 2**32 - 1}], "line 3: until is a whole number of 0 to"),
    "an origin that is none": ([HEAD, OF, EPOCH | {"origins": ["zz" * 16]}], "line 3: an origin has 32"),
    "an origin twice": ([HEAD, OF, EPOCH | {"origins": ["ab" * 16, "AB" * 16]}], "line 3: an origin is said twice"),
    "counters of nothing": ([HEAD, OF, PART], "line 3: counters are of an epoch"),
    "a column": ([HEAD, OF, EPOCH, PART | {"column": 2}], "line 4: column is a whole number of 0 to 1, not 2"),
    "a segment": ([HEAD, OF, EPOCH, PART | {"segment": 2**40}], "line 4: segment is a whole number"),
    "a truth for a number": ([HEAD, OF, EPOCH, PART | {"column": True}], "line 4: column is .* not true"),
    "counters too many": ([HEAD, OF, EPOCH, PART | {"counters": [1] * 50}], "line 4: column 0 has 2 counters"),
    "counters beyond the end": ([HEAD, OF, EPOCH, PART | {"first": 1}], "line 4: column 0 has 2 counters"),
    "a counter twice": ([*GOOD, PART | {"first": 1, "counters": [2]}], "line 5: counters come in the order"),
    "a counter that overflows": ([HEAD, OF, EPOCH, PART | {"counters": [2**63 - 1]}], "line 4: a counter is a whole"),
    "a thousand digits": ([HEAD, OF, EPOCH, PART | {"counters": [10**1000]}], "line 4: a counter is a whole"),
    "half a report": ([HEAD, OF, EPOCH, PART | {"counters": [0.5]}], "line 4: a counter is a whole number"),
    "a doubt of another collection": ([HEAD, DOUBT | {"collection": "x"}], "line 2: doubts an epoch of a collection"),
    "a doubt of two lines": ([HEAD, DOUBT | {"reason": "a\nb"}], "line 2: a reason is one line"),
    "a doubt twice": ([HEAD, DOUBT, DOUBT], "line 3: doubts come before collections, in order, and each once"),
    "something else": ([HEAD, {"x": 1}], "line 2: says none of deniable counters, doubt"),
}  # fmt: skip


def test_a_file_that_is_wrong_anywhere_changes_nothing(tmp_path: Path) -> None:
    """Each names its line and what is wrong with it; so does one that is cut off anywhere, or changed by a bit."""
    file = tmp_path / "file"

    async def refused(store: Store, text: bytes, what: str) -> None:
        file.write_bytes(text)
        with pytest.raises(FileFault, match=what):
            await bring(store, file, [LAYOUT])

    async def move() -> None:
        async with stored() as store:
            for lines, what in HOSTILE.values():
                await refused(store, written(lines), what)
            good = written(GOOD)
            for length in range(len(good)):
                await refused(store, good[:length], "line .*: (the file ends here|does not end)")
            await refused(store, good.replace(b"[1, 2]", b"[1, 3]"), "line 5: the file is not as it was written")
            await refused(store, good + b"x", "line 5: something comes after the end")
            assert await sums(store) == {}
            assert await store.doubts.all() == {}
            assert await store.imports.origins(EpochKey(LAYOUT.digest, OLD)) == []
            file.write_bytes(good)
            assert await bring(store, file, [LAYOUT]) == Imported(epochs=1, added=1, known=0, over=0, doubts=0)
            assert await sums(store) == {(0, 0): {0: 1, 1: 2}}

    asyncio.run(move())
