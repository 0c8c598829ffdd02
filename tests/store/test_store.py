"""The store: ids and counters change together or not at all, and exactly."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable_aggregator.store import (
    Admission,
    CounterKey,
    CounterOverflow,
    ShardMismatch,
    Store,
    StoreError,
    StoreFull,
    StoreUnavailable,
    Window,
)
from deniable_aggregator.store import store as store_module
from deniable_aggregator.store.additions import Sum
from support.aggregator_proxy import proxied
from support.aggregator_store import Place, additions, admission, batch_ids, place, redis_place
from support.servers import REDIS

SIZE = 100
LARGEST = 2**63 - 1

Fresh = Callable[..., AbstractContextManager[Place]]
PLACES = [
    place,
    pytest.param(redis_place, marks=pytest.mark.skipif(REDIS is None, reason="no redis-server: make system-tools")),
]


@pytest.fixture(scope="module", params=PLACES, ids=["valkey", "redis"])
def kind(request: pytest.FixtureRequest) -> Fresh:
    """Which server."""
    found: Fresh = request.param
    return found


@pytest.fixture(scope="module")
def here(kind: Fresh, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A store with one shard for all tests that only add to it."""
    with kind(tmp_path_factory.mktemp("store")) as a_place:
        yield a_place


@pytest.fixture
def fresh(kind: Fresh, tmp_path: Path) -> Fresh:
    """Makes a store of a test's own."""
    return partial(kind, tmp_path)


_digests = iter(range(1, 1 << 32))


def fresh_key(column: int = 0) -> CounterKey:
    """A key that no other test uses."""
    return CounterKey(next(_digests), column, 20_000, 2)


async def add(
    store: Store, key: CounterKey, amounts: dict[int, int], ids: list[bytes] | None = None
) -> set[tuple[Window, bytes]]:
    """Add amounts to one key."""
    window = Window(key.digest, key.epoch)
    return await store.add(0, {window: admission(ids or batch_ids())}, additions({key: amounts}, SIZE))


async def counters(store: Store, key: CounterKey) -> list[int]:
    """The counters of a key, which exist."""
    (values,) = await store.read([key])
    assert values is not None
    return [int(value) for value in values]


def test_counters_add_up(here: Place) -> None:
    """What is added is read back as the sum, zero elsewhere, over the whole length of the key."""
    key = fresh_key()
    here.run(add(here.store, key, {3: 1, 50: 7}))
    here.run(add(here.store, key, {3: 2, 99: 5}))
    expected = [0] * SIZE
    expected[3], expected[50], expected[99] = 3, 7, 5
    assert here.run(counters(here.store, key)) == expected


def test_what_was_never_counted_is_none(here: Place) -> None:
    """A key without counters reads as None, beside others that have some."""
    key, other = fresh_key(), fresh_key()
    here.run(add(here.store, key, {0: 1}))
    first, second = here.run(here.store.read([other, key]))
    assert first is None
    assert second is not None


def test_a_known_id_changes_nothing(here: Place) -> None:
    """When one id is known, it is returned, and neither counters nor the other ids are touched."""
    key = fresh_key()
    window = Window(key.digest, key.epoch)
    old, new = batch_ids(2)
    assert here.run(add(here.store, key, {1: 1}, [old])) == set()
    assert here.run(add(here.store, key, {1: 1, 2: 1}, [new, old])) == {(window, old)}
    assert here.run(counters(here.store, key))[1:3] == [1, 0]
    assert here.run(add(here.store, key, {2: 1}, [new])) == set()


def test_an_id_is_known_in_its_window_only(here: Place) -> None:
    """The same id in another epoch is another batch; in one call, each window answers for itself."""
    key = fresh_key()
    later = key._replace(epoch=key.epoch + 1)
    ids = batch_ids()
    windows = [Window(k.digest, k.epoch) for k in (key, later)]
    assert here.run(add(here.store, key, {0: 1}, ids)) == set()
    both = {window: admission(ids) for window in windows}
    amounts = additions({key: {0: 1}, later: {0: 1}}, SIZE)
    assert here.run(here.store.add(0, both, amounts)) == {(windows[0], ids[0])}
    assert here.run(add(here.store, later, {0: 1}, ids)) == set()


def test_thousands_of_ids_at_once(here: Place) -> None:
    """More ids than Lua's stack takes at once are remembered, and found again."""
    key = fresh_key()
    ids = batch_ids(20_000)
    assert here.run(add(here.store, key, {0: 20_000}, ids)) == set()
    known = here.run(add(here.store, key, {0: 2}, [batch_ids()[0], ids[11_111]]))
    assert known == {(Window(key.digest, key.epoch), ids[11_111])}


amounts_of_a_round = st.dictionaries(
    st.integers(0, SIZE - 1),
    st.one_of(
        st.integers(-(2**61), 2**61 - 1),
        st.sampled_from([1, -1, 2**31, 2**32 - 1, 2**32, -(2**32), 2**53, 2**53 + 1]),
    ).filter(bool),
    min_size=1,
)


@settings(max_examples=60, deadline=None)
@given(rounds=st.lists(amounts_of_a_round, min_size=1, max_size=4))
def test_addition_is_exact(here: Place, rounds: list[dict[int, int]]) -> None:
    """Whatever is added, below 2^63 the counters are what Python's integers say, beyond 2^53 too."""
    keys = [fresh_key(column) for column in range(2)]
    expected = [0] * SIZE
    for amounts in rounds:
        for counter, amount in amounts.items():
            expected[counter] += amount
        window = Window(keys[0].digest, keys[0].epoch)
        keys[1] = keys[1]._replace(digest=keys[0].digest)
        here.run(here.store.add(0, {window: admission(batch_ids())}, additions(dict.fromkeys(keys, amounts), SIZE)))
    for key in keys:
        assert here.run(counters(here.store, key)) == expected


@pytest.mark.parametrize(("start", "amount"), [(LARGEST - 4, 5), (LARGEST, 1), (LARGEST, LARGEST), (-LARGEST, -2)])
def test_overflow_is_never_counted(fresh: Fresh, start: int, amount: int) -> None:
    """A counter that would leave 64 bits keeps its value and is an error: no delta is lost, none is half added."""
    key = fresh_key()
    other = key._replace(column=1)
    window = Window(key.digest, key.epoch)
    with fresh() as here:
        here.run(add(here.store, key, {7: start}))
        assert here.run(counters(here.store, key))[7] == start
        both = additions({other: {0: 1}, key: {0: 1, 7: amount}}, SIZE)
        here.run(here.store.add(0, {window: admission(batch_ids())}, both))
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


def test_few_changes_of_many_counters_are_cheap(here: Place) -> None:
    """Adding to four of 65,536 counters, and folding that, writes less than a kilobyte to the append-only file."""
    key = fresh_key()
    window = Window(key.digest, key.epoch)
    size = 65_536
    few = additions({key: {5: 1, 6: 1, 30_000: 1, size - 1: 1}}, size)
    (file,) = (here.data_dir / "appendonlydir").glob("*.incr.aof")
    for _ in range(2):
        before = file.stat().st_size
        here.run(here.store.add(0, {window: admission(batch_ids())}, few))
        here.run(here.store.fold(0))
        assert file.stat().st_size - before < 1024
    values = here.run(counters(here.store, key))
    assert (len(values), sum(values), values[5], values[-1]) == (size, 8, 2, 2)


def test_the_script_is_sent_again(here: Place) -> None:
    """A server that has forgotten the script is given it again."""
    key = fresh_key()
    with here.raw() as raw:
        here.run(add(here.store, key, {0: 1}))
        raw.script_flush()
        here.run(add(here.store, key, {0: 1}))
    assert here.run(counters(here.store, key))[0] == 2


def test_the_names_of_the_keys(fresh: Fresh) -> None:
    """Keys are named as the design says, with the shard as the hash tag, and hold little-endian int64."""
    key = CounterKey(0xABCDEF, 3, 20_000, 2)
    with fresh() as here, here.raw() as raw:
        here.run(add(here.store, key, {1: 258}, [bytes(15) + b"\x05"]))
        seen, counts = b"deniable:{0}:seen:0000000000abcdef.20000", b"deniable:{0}:counts:0000000000abcdef.3:20000:2"
        assert set(raw.keys()) == {b"deniable:shards", b"deniable:{0}:deltas", seen}
        here.run(here.store.fold(0))
        assert set(raw.keys()) == {b"deniable:shards", seen, counts}
        assert raw.get(counts) == bytes(8) + b"\x02\x01" + bytes(6) + bytes(8 * (SIZE - 2))
        assert raw.smembers(seen) == {bytes(15) + b"\x05"}


def test_everything_has_a_time_to_live(fresh: Fresh) -> None:
    """Ids, deltas and counters live as long as they are told; they may be told to live longer, never shorter."""
    key = fresh_key()
    window = Window(key.digest, key.epoch)
    with fresh() as here, here.raw() as raw:
        for remember, keep, lives, kept in (
            (1000, 5000, 1000, 5000),
            (500, 4000, 1000, 5000),
            (2000, 6000, 2000, 6000),
        ):
            one = additions({key: {0: 1}}, SIZE)
            here.run(here.store.add(0, {window: Admission(batch_ids(), remember, keep)}, one))
            assert lives - 2 <= raw.ttl(f"deniable:{{0}}:seen:{key.digest:016x}.{key.epoch}") <= lives
            assert kept - 2 <= raw.ttl("deniable:{0}:deltas") <= kept
        here.run(here.store.fold(0))
        assert 5998 <= raw.ttl(f"deniable:{{0}}:counts:{key.digest:016x}.0:{key.epoch}:2") <= 6000


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


def test_a_full_store_says_so(here: Place) -> None:
    """Without memory the store takes nothing, folds what it has, and takes the same batch when there is room."""
    key = fresh_key()
    ids = batch_ids()
    here.run(add(here.store, key, {0: 1}))
    with here.raw() as raw:
        raw.config_set("maxmemory", 1)
        try:
            with pytest.raises(StoreFull):
                here.run(add(here.store, key, {0: 1}, ids))
            assert here.run(counters(here.store, key))[0] == 1
        finally:
            raw.config_set("maxmemory", 0)
    assert here.run(add(here.store, key, {0: 1}, ids)) == set()
    assert here.run(counters(here.store, key))[0] == 2


def test_a_store_that_nobody_folds_takes_no_more(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deltas that wait are bounded: then batches are refused, unremembered, until some have been folded."""
    monkeypatch.setattr(store_module, "_MOST_DELTAS", 3)
    key = fresh_key()
    ids = batch_ids()
    with fresh() as here:
        for _ in range(3):
            here.run(add(here.store, key, {0: 1}))
        with pytest.raises(StoreFull):
            here.run(add(here.store, key, {0: 1}, ids))
        here.run(here.store.fold(0))
        assert here.run(add(here.store, key, {0: 1}, ids)) == set()
        assert here.run(counters(here.store, key))[0] == 4


def test_many_who_fold_fold_once(fresh: Fresh) -> None:
    """Deltas that several fold at the same time, while more come, are added once each."""
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


def test_scattered_deltas_are_folded_a_few_at_a_time(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much waits, no script adds more than so much, but for one delta alone; later it may be more again."""
    key = fresh_key()
    window = Window(key.digest, key.epoch)
    work: list[tuple[int, int]] = []

    async def spy(self: Store, shard: int, last: bytes, added: Sum) -> bool:
        work.append((added.deltas, added.work))
        return await original(self, shard, last, added)

    async def fold_again(deltas: int) -> list[tuple[int, int]]:
        for _ in range(deltas):
            await add(here.store, fresh_key(), {0: 1})
        del work[:]
        await here.store.fold(0)
        return list(work)

    original = Store._write
    monkeypatch.setattr(Store, "_write", spy)
    monkeypatch.setattr(store_module, "_MOST_WORK", 1000)
    size = 50_000
    scattered = [
        range(20 * number, size, 400) for number in range(16)
    ]  # entries of one lie far from those of another
    for one in scattered:
        here.run(here.store.add(0, {window: admission(batch_ids())}, additions({key: dict.fromkeys(one, 1)}, size)))
    here.run(here.store.fold(0))
    assert sum(deltas for deltas, _ in work) == 16
    assert max(amount for _, amount in work) <= 1000
    assert 1 < max(deltas for deltas, _ in work) < 16
    for _ in range(3):
        here.run(fold_again(2))
    assert here.run(fold_again(20)) == [(20, 60)]
    assert sum(here.run(counters(here.store, key))) == sum(map(len, scattered))


@pytest.mark.parametrize(("limit", "parts"), [("_FOLDED_TOGETHER", [60, 60, 30]), ("_FOLDED_BYTES", [60, 60, 30])])
def test_much_that_waits_is_taken_in_parts(
    here: Place, monkeypatch: pytest.MonkeyPatch, limit: str, parts: list[int]
) -> None:
    """Only so many deltas are held at a time, and only so many bytes of them; all are folded."""
    key = fresh_key()
    held: list[int] = []

    async def spy(self: Store, shard: int, deltas: Sequence[bytes]) -> int:
        held.append(len(deltas))
        return await original(self, shard, deltas)

    original = Store._fold
    monkeypatch.setattr(Store, "_fold", spy)
    for number in range(150):
        here.run(add(here.store, key, {number % SIZE: number + 1}))
    with here.raw() as raw:
        each = len(raw.lindex("deniable:{0}:deltas", 0))
    monkeypatch.setattr(store_module, limit, 60 if limit == "_FOLDED_TOGETHER" else 61 * each - 1)
    assert here.run(counters(here.store, key)) == [2 * n + 102 if n < 50 else n + 1 for n in range(SIZE)]
    assert held == parts


def test_a_delta_larger_than_all_together_is_folded_alone(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A delta with more bytes, or more work, than any number of them may have is still folded."""
    monkeypatch.setattr(store_module, "_FOLDED_BYTES", 1)
    monkeypatch.setattr(store_module, "_MOST_WORK", 1)
    key = fresh_key()
    for _ in range(3):
        here.run(add(here.store, key, {0: 1, 50: 1}))
    values = here.run(counters(here.store, key))
    assert (values[0], values[50], sum(values)) == (3, 3, 6)


def test_counters_whose_time_has_come_do_not_begin(fresh: Fresh) -> None:
    """A delta that waited for longer than its counters are kept leaves nothing behind, nor does it hold up others."""
    old, new = fresh_key(), fresh_key()
    with fresh() as here, here.raw() as raw:
        for key, keep in ((old, 1), (new, 60)):
            one = additions({key: {0: 1}}, SIZE)
            here.run(here.store.add(0, {Window(key.digest, key.epoch): Admission(batch_ids(), 60, keep)}, one))
        time.sleep(1.1)
        assert here.run(counters(here.store, new))[0] == 1
        assert here.run(here.store.read([old])) == [None]
        assert [name for name in raw.scan_iter() if raw.ttl(name) == -1] == [b"deniable:shards"]


def test_counters_without_room_leave_deltas_waiting(fresh: Fresh) -> None:
    """Where the server does not make a key as long as its column, the fold is an error and nothing is dropped."""
    key = fresh_key()
    size = 1 << 18
    with fresh() as here, here.raw() as raw:
        limit = raw.config_get("proto-max-bulk-len")["proto-max-bulk-len"]
        raw.config_set("proto-max-bulk-len", "1mb")
        some = additions({key: {0: 1, size - 1: 1}}, size)
        here.run(here.store.add(0, {Window(key.digest, key.epoch): admission(batch_ids())}, some))
        with pytest.raises(StoreError):
            here.run(here.store.fold(0))
        assert raw.llen("deniable:{0}:deltas") == 1
        raw.config_set("proto-max-bulk-len", limit)
        assert sum(here.run(counters(here.store, key))) == 2


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
    """Somebody folds what waits, and a server without that takes over while we fold: deltas are added once."""
    key = fresh_key()
    names = ["deniable:{0}:deltas", f"deniable:{{0}}:counts:{key.digest:016x}.0:{key.epoch}:2"]
    before: dict[str, bytes] = {}

    def fold_elsewhere() -> None:
        async def fold() -> None:
            store = Store(here.url)
            await store.fold(0)
            await store.close()

        with here.raw() as raw:
            before.update({name: raw.dump(name) for name in names})
        asyncio.run(fold())

    def take_over() -> None:
        with here.raw() as raw:
            for name in names:
                raw.restore(name, 60_000, before[name], replace=True)

    here.run(add(here.store, key, {0: 10}))
    here.run(here.store.fold(0))
    here.run(add(here.store, key, {0: 5}))
    folded = in_between(monkeypatch, store_module, "add_up", fold_elsewhere)
    in_between(monkeypatch, Sum, "onto", take_over)
    here.run(here.store.fold(0))
    assert here.run(counters(here.store, key))[0] == 15
    assert folded


def test_deltas_of_another_history_are_not_dropped(here: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server takes over that has another delta instead of the last one that we fold: that one is not lost."""
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
    """Counters that are gone when sums are written do not come back with them, and nothing of the deltas is lost."""
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


def test_a_store_that_is_away_is_unavailable(tmp_path: Path) -> None:
    """Without a server, every call is a StoreUnavailable."""

    async def calls() -> None:
        store = Store(f"unix://{tmp_path}/nobody.sock")
        for call in (store.open, store.ping, lambda: store.read([fresh_key()])):
            with pytest.raises(StoreUnavailable):
                await call()
        with pytest.raises(StoreUnavailable):
            await add(store, fresh_key(), {0: 1})
        await store.close()

    asyncio.run(calls())


def test_a_lost_reply_is_not_asked_for_again(here: Place) -> None:
    """A reply that is lost after the server has added is an error, not a retry; asked again, ids are known."""
    key = fresh_key()
    ids = batch_ids(3)

    async def lose() -> None:
        async with proxied(here.url) as proxy:
            store = Store(proxy.url)
            await add(store, key, {0: 1})
            proxy.drop = 1
            with pytest.raises(StoreUnavailable):
                await add(store, key, {0: 1}, ids)
            assert (proxy.scripts, proxy.dropped) == (2, 1)
            assert (await counters(store, key))[0] == 2
            assert {known for _, known in await add(store, key, {0: 1}, ids)} == set(ids)
            assert (await counters(store, key))[0] == 2
            await store.close()

    here.run(lose())


def test_shards_add_up(fresh: Fresh) -> None:
    """Batches are spread over the shards by their ids, and reading adds the shards."""
    key = fresh_key()
    window = Window(key.digest, key.epoch)
    with fresh(shards=3) as here:
        used = set()
        for batch_id in batch_ids(60):
            shard = here.store.shard_of(batch_id)
            assert shard == int.from_bytes(batch_id, "big") % 3
            used.add(shard)
            here.run(here.store.add(shard, {window: admission([batch_id])}, additions({key: {4: 1}}, SIZE)))
        assert used == {0, 1, 2}  # one of three stays empty once in 10^10
        assert here.run(counters(here.store, key))[4] == 60


def test_the_number_of_shards_is_kept(fresh: Fresh) -> None:
    """A store that was begun with three shards can be opened again with three and with no other number."""
    with fresh(shards=3) as here:
        here.run(here.store.open())
        other = Store(here.url, shards=2)
        with pytest.raises(ShardMismatch, match=r"begun with 3 shards.* with 2"):
            here.run(other.open())
        here.run(other.close())


def test_what_makes_no_sense_is_not_sent(here: Place) -> None:
    """Ids of a wrong length or twice in a window, and impossible numbers of shards, are errors here."""
    key = fresh_key()
    for ids in ([os.urandom(15)], [bytes(16), bytes(16)], [bytes(15), bytes(17), bytes(16), bytes(16)]):
        with pytest.raises(ValueError, match="ids"):
            here.run(add(here.store, key, {0: 1}, ids))
    for shards in (0, 1025):
        with pytest.raises(ValueError, match="shards"):
            Store("unix:///nowhere", shards=shards)


def test_counters_are_arrays_of_int64(here: Place) -> None:
    """What is read can be written to and added to like any array of int64."""
    key = fresh_key()
    here.run(add(here.store, key, {0: 1}))
    (values,) = here.run(here.store.read([key]))
    assert values is not None
    values += 1
    assert values.dtype == np.int64
