"""Folding: increments get into the counters once and exactly, whoever folds and whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from deniable_aggregator.store import (
    Arrivals,
    CounterOverflow,
    EpochKey,
    Store,
    StoreError,
    StoreUnavailable,
    folding,
)
from deniable_aggregator.store.additions import Sum
from deniable_aggregator.store.folding import Folding
from deniable_aggregator.store.servers import Places, Script
from support.aggregator_proxy import proxied
from support.aggregator_store import (
    OWN,
    SIZE,
    Fresh,
    Place,
    add,
    additions,
    admission,
    batch_ids,
    counters,
    fresh_key,
    window_of,
)
from support.waiting import soon, until

LARGEST = 2**63 - 1


@pytest.mark.parametrize(("start", "amount"), [(LARGEST - 4, 5), (LARGEST, 1), (LARGEST, LARGEST), (-LARGEST, -2)])
def test_overflow_is_never_counted(fresh: Fresh, start: int, amount: int) -> None:
    """A counter that would leave 64 bits keeps its value and is an error: none is lost, none is half added."""
    key = fresh_key()
    other = key._replace(column=1)
    seen = EpochKey(key.digest, key.epoch)
    with fresh() as here:
        here.run(add(here.store, key, {7: start}))
        assert here.run(counters(here.store, key))[7] == start
        both = additions({other: {0: 1}, key: {0: 1, 7: amount}}, SIZE)
        here.run(here.store.add(0, {seen: admission(batch_ids())}, both))
        for _ in range(2):
            with pytest.raises(CounterOverflow):
                here.run(here.store.read([key]))
        with here.raw() as raw:
            assert raw.llen("deniable:{0}:deltas") == 1
            stored = np.frombuffer(raw.get(f"deniable:{{0}}:counts:{key.digest:016x}.0:{key.epoch}:2"), dtype="<i8")
            assert (stored[0], stored[7]) == (0, start)
            assert not raw.exists(f"deniable:{{0}}:counts:{key.digest:016x}.1:{key.epoch}:2")


@pytest.mark.parametrize(("start", "amount"), [(LARGEST - 5, 5), (-LARGEST, -1)])
def test_the_last_value_is_reached(here: Place, start: int, amount: int) -> None:
    """Counters take values up to 2^63 - 1 and down to -2^63."""
    key = fresh_key()
    here.run(add(here.store, key, {0: start}))
    here.run(add(here.store, key, {0: amount}))
    assert here.run(counters(here.store, key))[0] == start + amount


@pytest.mark.parametrize("amounts", [{0: 1, 1: 1}, {99: 1}])
def test_a_key_of_another_length_is_not_touched(fresh: Fresh, amounts: dict[int, int]) -> None:
    """Counters that are shorter than their column are an error; nothing is lost until they are mended."""
    key = fresh_key()
    with fresh() as here, here.raw() as raw:
        here.run(add(here.store, key, {0: 1}))
        here.run(here.store.fold(0))
        name = f"deniable:{{0}}:counts:{key.digest:016x}.0:{key.epoch}:2"
        whole = raw.get(name)
        raw.set(name, bytes(12), keepttl=True)
        here.run(add(here.store, key, amounts))
        with pytest.raises(StoreError, match="DAMAGED"):
            here.run(here.store.read([key]))
        assert raw.get(name) == bytes(12)
        raw.set(name, whole, keepttl=True)
        assert sum(here.run(counters(here.store, key))) == 1 + len(amounts)


def test_many_who_fold_fold_once(fresh: Fresh) -> None:
    """Increments that several fold at the same time, while more come, are added once each."""
    key = fresh_key()

    async def fold_and_add(here: Place) -> None:
        others = [Store(here.url) for _ in range(4)]

        async def adding(store: Store) -> None:
            for number in range(100):
                await add(store, key, {number: 1})

        async def folding(store: Store) -> None:
            for _ in range(40):
                await store.fold(0)

        await asyncio.gather(*map(adding, others), *map(folding, [*others, *others]))
        assert await counters(here.store, key) == [4] * SIZE
        for store in others:
            await store.close()

    with fresh() as here:
        here.run(fold_and_add(here))


@pytest.mark.parametrize("script", [1, 2, 3], ids=["head", "look", "fold"])
def test_a_lost_reply_to_a_fold_is_no_harm(here: Place, script: int) -> None:
    """A fold one of whose replies is lost is an error; asked again, nothing is added twice."""
    key = fresh_key()

    async def lose() -> None:
        await add(here.store, fresh_key(), {0: 1})
        await here.store.fold(0)  # so that the server knows the scripts: one that it does not know is sent again
        async with proxied(here.url) as proxy:
            store = Store(proxy.url)
            for _ in range(3):
                await add(store, key, {0: 1})
            proxy.drop = script
            with pytest.raises(StoreUnavailable):
                await store.fold(0)
            assert proxy.dropped == 1
            with here.raw() as raw:
                assert raw.llen("deniable:{0}:deltas") == (0 if script == 3 else 3)
            assert (await counters(store, key))[0] == 3
            await store.close()

    here.run(lose())


def test_scattered_increments_are_folded_a_few_at_a_time(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much waits, no script adds more than so much, but for one increment alone; later more again."""
    key = fresh_key()
    seen = EpochKey(key.digest, key.epoch)
    work: list[tuple[int, int]] = []

    async def spy(self: Folding, shard: int, last: bytes, added: Sum) -> bool:
        work.append((added.increments, added.work))
        return await original(self, shard, last, added)

    async def fold_again(increments: int) -> list[tuple[int, int]]:
        for _ in range(increments):
            await add(here.store, fresh_key(), {0: 1})
        del work[:]
        await here.store.fold(0)
        return list(work)

    original = Folding._write
    monkeypatch.setattr(Folding, "_write", spy)
    monkeypatch.setattr(folding, "_MOST_WORK", 1000)
    size = 50_000
    scattered = [
        range(20 * number, size, 400) for number in range(16)
    ]  # entries of one lie far from those of another
    for one in scattered:
        here.run(here.store.add(0, {seen: admission(batch_ids())}, additions({key: dict.fromkeys(one, 1)}, size)))
    here.run(here.store.fold(0))
    assert sum(increments for increments, _ in work) == 16
    assert max(amount for _, amount in work) <= 1000
    assert 1 < max(increments for increments, _ in work) < 16
    for _ in range(3):
        here.run(fold_again(2))
    assert here.run(fold_again(20)) == [(20, 60)]
    assert sum(here.run(counters(here.store, key))) == sum(map(len, scattered))


@pytest.mark.parametrize(("limit", "parts"), [("_MOST_INCREMENTS", [60, 60, 30]), ("_MOST_BYTES", [60, 60, 30])])
def test_much_that_waits_is_taken_in_parts(
    here: Place, monkeypatch: pytest.MonkeyPatch, limit: str, parts: list[int]
) -> None:
    """Only so many increments are held at a time, and only so many bytes of them; all are folded."""
    key = fresh_key()
    held: list[int] = []

    async def spy(self: Folding, shard: int, increments: Sequence[bytes]) -> int:
        held.append(len(increments))
        return await original(self, shard, increments)

    original = Folding._some
    monkeypatch.setattr(Folding, "_some", spy)
    for number in range(150):
        here.run(add(here.store, key, {number % SIZE: number + 1}))
    with here.raw() as raw:
        each = len(raw.lindex("deniable:{0}:deltas", 0))
    monkeypatch.setattr(folding, limit, 60 if limit == "_MOST_INCREMENTS" else 61 * each - 1)
    assert here.run(counters(here.store, key)) == [2 * n + 102 if n < 50 else n + 1 for n in range(SIZE)]
    assert held == parts


def test_an_increment_larger_than_all_together_is_folded_alone(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An increment with more bytes, or more work, than any number of them may have is still folded."""
    monkeypatch.setattr(folding, "_MOST_BYTES", 1)
    monkeypatch.setattr(folding, "_MOST_WORK", 1)
    key = fresh_key()
    for _ in range(3):
        here.run(add(here.store, key, {0: 1, 50: 1}))
    values = here.run(counters(here.store, key))
    assert (values[0], values[50], sum(values)) == (3, 3, 6)


def test_counters_whose_time_has_come_do_not_begin(fresh: Fresh) -> None:
    """An increment that waited for longer than its counters are kept leaves nothing behind and holds up no other."""
    old, new = fresh_key(), fresh_key()
    with fresh() as here, here.raw() as raw:
        for key, keep in ((old, 1), (new, 60)):
            one = additions({key: {0: 1}}, SIZE)
            here.run(here.store.add(0, {EpochKey(key.digest, key.epoch): Arrivals(batch_ids(), 60, keep)}, one))
        begun, _ = raw.time()
        soon(lambda: raw.time()[0] > begun + 1, "the time of the first key")
        assert here.run(counters(here.store, new))[0] == 1
        assert here.run(here.store.read([old])) == [None]
        assert {name for name in raw.scan_iter() if raw.ttl(name) == -1} == OWN


def test_counters_without_room_leave_increments_waiting(fresh: Fresh) -> None:
    """Where the server does not make a key as long as its column, the fold is an error and nothing is dropped."""
    key = fresh_key()
    size = 1 << 18
    with fresh() as here, here.raw() as raw:
        limit = raw.config_get("proto-max-bulk-len")["proto-max-bulk-len"]
        raw.config_set("proto-max-bulk-len", "1mb")
        some = additions({key: {0: 1, size - 1: 1}}, size)
        here.run(here.store.add(0, {EpochKey(key.digest, key.epoch): admission(batch_ids())}, some))
        with pytest.raises(StoreError) as caught:
            here.run(here.store.fold(0))
        assert caught.type is StoreError, "this does not pass by itself"
        assert raw.llen("deniable:{0}:deltas") == 1
        raw.config_set("proto-max-bulk-len", limit)
        assert sum(here.run(counters(here.store, key))) == 2


def test_a_shard_that_can_not_be_folded_delays_no_other(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are folded; it is told once which shard, and once more when it is folded again."""
    monkeypatch.setattr(folding, "_FOLD_SECONDS", 0.02)
    key = fresh_key()
    name = f"deniable:{{0}}:counts:{key.digest:016x}.0:{key.epoch}:2"

    tries, fold = 0, Folding.fold

    async def counted(folding: Folding, shard: int) -> None:
        nonlocal tries
        tries += shard == 0
        await fold(folding, shard)

    monkeypatch.setattr(Folding, "fold", counted)

    async def keep(here: Place) -> None:
        nonlocal tries
        for shard in range(3):
            await here.store.add(shard, {window_of(key): admission(batch_ids())}, additions({key: {0: 1}}))
        with here.raw() as raw:
            raw.set(name, b"cut short")
            folding_all = asyncio.create_task(here.store.keep_folding())
            await until(lambda: not raw.exists("deniable:{1}:deltas", "deniable:{2}:deltas"))
            assert raw.llen("deniable:{0}:deltas") == 1
            tries = 0
            await until(lambda: tries > 3)
            raw.delete(name)
            await until(lambda: "again" in caplog.text)
            assert raw.llen("deniable:{0}:deltas") == 0
        folding_all.cancel()

    with fresh(shards=3) as here:
        here.run(keep(here))
        assert here.run(counters(here.store, key))[0] == 3
    assert [("shard 0" in said, "can not" in said, "again" in said) for said in caplog.messages] == [
        (True, True, False),
        (True, False, True),
    ]


def in_between(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, act: Callable[[], None]) -> list[int]:
    """Do something once, just before a fold calls this; tells whether it has been done."""
    original = getattr(owner, name)
    done: list[int] = []

    def called(*arguments: object) -> object:
        if not done:
            done.append(1)
            act()
        return original(*arguments)

    monkeypatch.setattr(owner, name, called)
    return done


def test_counters_of_another_history_are_not_added_to(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody folds what waits, and a server without that takes over while we fold: increments are added once."""
    key = fresh_key()
    names = ["deniable:{0}:deltas", f"deniable:{{0}}:counts:{key.digest:016x}.0:{key.epoch}:2"]
    before: dict[str, bytes] = {}
    run = Places.run

    def fold_elsewhere() -> None:
        async def fold() -> None:
            store = Store(here.url)
            await store.fold(0)
            await store.close()

        with here.raw() as raw:
            before.update({name: raw.dump(name) for name in names})
        asyncio.run(fold())
        monkeypatch.setattr(Places, "run", look_and_take_over)

    async def look_and_take_over(self: Places, script: Script, *arguments: Any) -> Any:
        assert script is folding._LOOK
        monkeypatch.undo()
        found = await run(self, script, *arguments)
        with here.raw() as raw:
            assert raw.llen(names[0]) == 0
            for name in names:
                raw.restore(name, 60_000, before[name], replace=True)
        return found

    here.run(add(here.store, key, {0: 10}))
    here.run(here.store.fold(0))
    here.run(add(here.store, key, {0: 5}))
    in_between(monkeypatch, folding, "add_up", fold_elsewhere)
    here.run(here.store.fold(0))
    assert before
    assert Places.run is run, "another server has taken over"
    assert here.run(counters(here.store, key))[0] == 15


def test_increments_of_another_history_are_not_dropped(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server takes over that has another increment instead of the last one that we fold: that one is not lost."""
    key = fresh_key()

    def take_over() -> None:
        with here.raw() as raw:
            raw.rpop("deniable:{0}:deltas")
            raw.rpush("deniable:{0}:deltas", other)
            raw.expire("deniable:{0}:deltas", 60)

    with here.raw() as raw:
        here.run(add(here.store, key, {0: 1000}))
        other = raw.rpop("deniable:{0}:deltas")
    for amount in (1, 10, 100):
        here.run(add(here.store, key, {0: amount}))
    taken = in_between(monkeypatch, Sum, "onto", take_over)
    assert here.run(counters(here.store, key))[0] == 1011
    assert taken


def test_counters_that_expire_while_they_are_added_to_begin_again(
    here: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counters that are gone when sums are written do not come back with them, and no increment is lost."""
    key = fresh_key()
    name = f"deniable:{{0}}:counts:{key.digest:016x}.0:{key.epoch}:2"
    here.run(add(here.store, key, {0: 5}))
    here.run(here.store.fold(0))

    def expire() -> None:
        with here.raw() as raw:
            assert raw.delete(name) == 1

    expired = in_between(monkeypatch, Sum, "onto", expire)
    here.run(add(here.store, key, {0: 2, 1: 1}))
    assert here.run(counters(here.store, key))[:2] == [2, 1]
    assert expired
    with here.raw() as raw:
        assert raw.ttl(name) > 0
