"""The store: ids and counters change together or not at all, and exactly."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis
from redis.exceptions import ResponseError

from deniable_aggregator.store import (
    Arrivals,
    CounterKey,
    EpochKey,
    ShardMismatch,
    Store,
    StoreFull,
    StoreUnavailable,
    StoreUnfit,
)
from deniable_aggregator.store import store as store_module
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
)
from support.waiting import soon


def test_counters_add_up(here: Place) -> None:
    """What is added is read back as the sum, zero elsewhere, over the whole length of the key."""
    key = fresh_key()
    here.run(add(here.store, key, {3: 1, 50: 7}))
    here.run(add(here.store, key, {3: 2, 99: 5}))
    expected = [0] * SIZE
    expected[3], expected[50], expected[99] = 3, 7, 5
    assert here.run(counters(here.store, key)) == expected


def test_what_is_erased_is_gone_with_what_waits_to_be_added(here: Place) -> None:
    """An increment that has not been folded does not bring it back; other counters stay."""
    key, other = fresh_key(), fresh_key()
    for own in (key, other):
        here.run(add(here.store, own, {0: 1}))
    assert here.run(here.store.erase([key])) == 1
    assert here.run(here.store.read([key]))[0] is None
    assert here.run(here.store.read([other]))[0] is not None


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
    seen = EpochKey(key.digest, key.epoch)
    old, new = batch_ids(2)
    assert here.run(add(here.store, key, {1: 1}, [old])) == set()
    assert here.run(add(here.store, key, {1: 1, 2: 1}, [new, old])) == {(seen, old)}
    assert here.run(counters(here.store, key))[1:3] == [1, 0]
    assert here.run(add(here.store, key, {2: 1}, [new])) == set()


def test_an_id_is_known_in_its_window_only(here: Place) -> None:
    """The same id in another epoch is another batch; in one call, each epoch answers for itself."""
    key = fresh_key()
    later = key._replace(epoch=key.epoch + 1)
    ids = batch_ids()
    epochs = [EpochKey(k.digest, k.epoch) for k in (key, later)]
    assert here.run(add(here.store, key, {0: 1}, ids)) == set()
    both = {seen: admission(ids) for seen in epochs}
    amounts = additions({key: {0: 1}, later: {0: 1}}, SIZE)
    assert here.run(here.store.add(0, both, amounts)) == {(epochs[0], ids[0])}
    assert here.run(add(here.store, later, {0: 1}, ids)) == set()


def test_thousands_of_ids_at_once(here: Place) -> None:
    """More ids than Lua's stack takes at once are remembered, and found again."""
    key = fresh_key()
    ids = batch_ids(20_000)
    assert here.run(add(here.store, key, {0: 20_000}, ids)) == set()
    known = here.run(add(here.store, key, {0: 2}, [batch_ids()[0], ids[11_111]]))
    assert known == {(EpochKey(key.digest, key.epoch), ids[11_111])}


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
        seen = EpochKey(keys[0].digest, keys[0].epoch)
        keys[1] = keys[1]._replace(digest=keys[0].digest)
        here.run(here.store.add(0, {seen: admission(batch_ids())}, additions(dict.fromkeys(keys, amounts), SIZE)))
    for key in keys:
        assert here.run(counters(here.store, key)) == expected


def test_few_changes_of_many_counters_are_cheap(here: Place) -> None:
    """Adding to four of 65,536 counters, and folding that, writes less than a kilobyte to the append-only file."""
    key = fresh_key()
    seen = EpochKey(key.digest, key.epoch)
    size = 65_536
    few = additions({key: {5: 1, 6: 1, 30_000: 1, size - 1: 1}}, size)
    (file,) = (here.data_dir / "appendonlydir").glob("*.incr.aof")
    here.run(here.store.fold(0))  # what other tests have added is not this one's
    for _ in range(2):
        before = file.stat().st_size
        here.run(here.store.add(0, {seen: admission(batch_ids())}, few))
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
        assert set(raw.keys()) == OWN | {b"deniable:{0}:deltas", seen}
        here.run(here.store.fold(0))
        assert set(raw.keys()) == OWN | {seen, counts}
        assert raw.get(counts) == bytes(8) + b"\x02\x01" + bytes(6) + bytes(8 * (SIZE - 2))
        assert raw.smembers(seen) == {bytes(15) + b"\x05"}


def test_everything_has_a_time_to_live(fresh: Fresh) -> None:
    """Ids, increments and counters live as long as they are told; they may be told to live longer, never shorter."""
    key = fresh_key()
    seen = EpochKey(key.digest, key.epoch)
    with fresh() as here, here.raw() as raw:
        for remember, keep, lives, kept in (
            (1000, 5000, 1000, 5000),
            (500, 4000, 1000, 5000),
            (2000, 6000, 2000, 6000),
        ):
            one = additions({key: {0: 1}}, SIZE)
            here.run(here.store.add(0, {seen: Arrivals(batch_ids(), remember, keep)}, one))
            assert lives - 2 <= raw.ttl(f"deniable:{{0}}:seen:{key.digest:016x}.{key.epoch}") <= lives
            assert kept - 2 <= raw.ttl("deniable:{0}:deltas") <= kept
        here.run(here.store.fold(0))
        assert 5998 <= raw.ttl(f"deniable:{{0}}:counts:{key.digest:016x}.0:{key.epoch}:2") <= 6000


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


def until_refused(raw: Redis) -> None:
    """Wait until the server has noticed that it can not save."""

    def refused() -> bool:
        try:
            raw.ping()
        except ResponseError:
            return True
        return False

    soon(refused)


def test_a_store_that_can_not_save_answers_and_is_full(fresh: Fresh) -> None:
    """It refuses even to be asked whether it is there; it takes nothing, and tells how full it is."""
    key = fresh_key()
    with fresh() as here, here.raw() as raw:
        raw.config_set("save", "3600 1")
        away = here.data_dir.with_name("away")
        here.data_dir.rename(away)
        shutil.rmtree(away)
        raw.bgsave()
        until_refused(raw)
        assert here.run(here.store.status()).memory_bytes > 0
        with pytest.raises(StoreFull):
            here.run(add(here.store, key, {0: 1}))


def test_a_store_that_nobody_folds_takes_no_more(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    """Increments that wait are bounded: then batches are refused, unremembered, until some have been folded."""
    monkeypatch.setattr(store_module, "_MOST_INCREMENTS", 3)
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
            before = proxy.scripts
            proxy.drop = 1
            with pytest.raises(StoreUnavailable):
                await add(store, key, {0: 1}, ids)
            assert (proxy.scripts, proxy.dropped) == (before + 1, 1)
            assert (await counters(store, key))[0] == 2
            assert {known for _, known in await add(store, key, {0: 1}, ids)} == set(ids)
            assert (await counters(store, key))[0] == 2
            await store.close()

    here.run(lose())


def test_shards_add_up(fresh: Fresh) -> None:
    """Batches are spread over the shards by their ids, and reading adds the shards."""
    key = fresh_key()
    seen = EpochKey(key.digest, key.epoch)
    with fresh(shards=3) as here:
        used = set()
        for batch_id in batch_ids(60):
            shard = here.store.shard_of(batch_id)
            assert shard == int.from_bytes(batch_id, "big") % 3
            used.add(shard)
            here.run(here.store.add(shard, {seen: admission([batch_id])}, additions({key: {4: 1}}, SIZE)))
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


def test_a_store_for_real_devices_stays_one(fresh: Fresh) -> None:
    """It can not be said to be for simulated ones afterwards."""
    with fresh() as here:
        here.run(here.store.open())
        with pytest.raises(StoreUnfit, match="begun for real devices"):
            here.run(here.store.open(simulated=True))
        assert not here.run(here.store.simulated())


def test_a_store_for_simulated_devices_stays_one(fresh: Fresh) -> None:
    """Whoever opens it."""
    with fresh() as here:
        here.run(here.store._servers.ask(b"", ("FLUSHALL",)))  # it has begun with the place
        here.run(here.store.open(simulated=True))
        here.run(here.store.open())
        here.run(here.store.open(simulated=True))
        assert here.run(here.store.simulated())


def test_what_makes_no_sense_is_not_sent(here: Place) -> None:
    """Ids of a wrong length or twice in an epoch, and impossible numbers of shards, are errors here."""
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
