"""The counters, and the ids that have been counted, in Redis or Valkey.

One script adds a flush: it remembers the ids and keeps a delta, what the batches add up to; or, if one of the
ids is known, does neither and says which. Deltas are folded into the counters many at a time: they are added up
here, onto the counters that one script has read, and another script writes the sums, unless somebody else has
folded in between. The server is busy for a small part of the time that it would take to add each delta by
itself. Reading folds first, so whatever has been acknowledged is in the counters that are read.

The scripts are atomic, so a reply that is lost costs nothing: asked again, the store answers that it knows the
ids, or that the deltas have been folded. For the same reason redis-py's own retries are off; the one who sent
the batch repeats it, and the id takes care of the rest.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

import numpy as np
from redis.exceptions import NoScriptError, OutOfMemoryError, RedisError, ResponseError

from deniable_aggregator.store.additions import KEY, NONCE_BYTES, Additions, IntArray, Sum, add_up, delta_of
from deniable_aggregator.store.durability import Durability
from deniable_aggregator.store.errors import ShardMismatch, StoreError, StoreFull, StoreUnavailable
from deniable_aggregator.store.keys import SHARDS_KEY, CounterKey, Window, counts_name, deltas_name, seen_name
from deniable_aggregator.store.links import Command, link_to

__all__ = ["ID_BYTES", "Admission", "Store", "StoreStatus"]

ID_BYTES = 16
"""The length of a batch's id."""

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_IN_MEMORY = Durability()
_READ_AT_ONCE = 512
_MOST_DELTAS = 10_000
"""So many deltas of a shard may wait to be folded; then it takes no more."""
_FOLDED_TOGETHER = 1024
_FOLDED_BYTES = 8 << 20
"""So many deltas, and so many bytes of them, are added up together at the most, but for one delta alone."""
_MOST_WORK = 3 << 14
"""Of one fold: the server does nothing else for about a tenth of a second, or a few where many keys begin."""
_FOLD_SECONDS = 1.0


class _Script:
    """A script of the store's."""

    def __init__(self, name: str) -> None:
        self.text = files(__package__).joinpath(name).read_bytes()
        self.digest = hashlib.sha1(self.text, usedforsecurity=False).hexdigest()


_ADD, _HEAD, _LOOK, _FOLD = (_Script(f"{name}.lua") for name in ("add", "head", "look", "fold"))


class Admission(NamedTuple):
    """The new batches of one window, and how long what they leave behind is kept."""

    ids: Sequence[bytes]
    remember: int
    """Seconds from now for which the ids are remembered, at the least."""
    keep: int
    """Seconds from now for which the counters are kept, from when they begin."""


class StoreStatus(NamedTuple):
    """How the server is."""

    seconds: float
    """The time of a round trip."""
    memory_bytes: int
    """What it uses."""
    memory_limit_bytes: int
    """What it may use; 0: as much as there is."""
    evicted: int
    """Keys that it has thrown away to make room. Counters and ids may be among them: it must not."""
    server: str
    """What it is."""


class Store:
    """Counters and ids on a Redis or Valkey server, or on a cluster of them.

    Ids and counters are spread over shards; a batch's id says which it belongs to. How many there are is
    written down in the store when it is first used, since an id is known only in its own shard.
    """

    def __init__(
        self, url: str, *, shards: int = 1, timeout: float = 5.0, durability: Durability = _IN_MEMORY
    ) -> None:
        if not 1 <= shards <= 1024:
            raise ValueError(f"there are 1 to 1024 shards, not {shards}")
        self.shards = shards
        self._link = link_to(url, timeout)
        self._durability = durability
        self._wait: tuple[Command, ...] = ()
        self._together = _FOLDED_TOGETHER

    async def open(self) -> None:
        """Reach the store, and agree with it about the number of shards and about what it promises."""
        with _errors():
            self._wait = await self._durability.wait(self._link)
        await self._ask(SHARDS_KEY, ("SET", SHARDS_KEY, self.shards, "NX"))
        (begun,) = await self._ask(SHARDS_KEY, ("GET", SHARDS_KEY))
        if int(begun) != self.shards:
            begun = int(begun)
            raise ShardMismatch(f"this store was begun with {begun} shards: it cannot be used with {self.shards}")

    async def close(self) -> None:
        """Let go of the connections."""
        await self._link.close()

    async def ping(self) -> None:
        """Raise a StoreError unless the store answers."""
        with _errors():
            await self._link.ask_everywhere(("PING",))

    def shard_of(self, batch_id: bytes) -> int:
        """The shard that a batch belongs to."""
        return int.from_bytes(batch_id, "big") % self.shards

    async def add(
        self, shard: int, admissions: Mapping[Window, Admission], additions: Additions
    ) -> set[tuple[Window, bytes]]:
        """Remember the ids and add the counters; or, if any id is known, change nothing and return those."""
        windows = list(admissions)
        known: list[Any] = await self._run(
            _ADD,
            [deltas_name(shard), *(seen_name(shard, window) for window in windows)],
            _packed([(len(admission.ids), admission.remember) for admission in admissions.values()]),
            _joined(admissions.values()),
            delta_of(additions, _expiries(admissions, additions)),
            max(admission.keep for admission in admissions.values()),
            _MOST_DELTAS,
            int(bool(self._wait)),
            wait=self._wait,
        )
        return {(windows[number], batch_id) for number, batch_id in zip(known[::2], known[1::2], strict=True)}

    async def fold(self, shard: int) -> None:
        """Add the deltas that wait in a shard to its counters."""
        name = deltas_name(shard)
        (left,) = await self._ask(name, ("LLEN", name))
        while left > 0:
            deltas = await self._run(_HEAD, [name], _FOLDED_TOGETHER, _FOLDED_BYTES)
            if not deltas:
                return
            left -= await self._fold(shard, deltas) or 1  # somebody else was faster

    async def keep_folding(self) -> None:
        """Fold all shards, again and again."""
        failed = False
        while True:
            try:
                for shard in range(self.shards):
                    await self.fold(shard)
                failed = False
            except Exception as error:  # noqa: BLE001 - whatever it was: what waits must not wait for ever
                if not failed:
                    _LOG.warning("what has been added can not be folded into the counters: %s", error)
                failed = True
            await asyncio.sleep(_FOLD_SECONDS)

    async def _fold(self, shard: int, deltas: Sequence[bytes]) -> int:
        """Fold the deltas at the head of a shard's list; how many have gone.

        The more are folded together, the more of them fall on the same counters. Where they do not, fewer are
        folded together, so that the server is not busy for long.
        """
        done = 0
        while done < len(deltas):
            together = deltas[done : done + self._together]
            added = await asyncio.to_thread(add_up, together)
            if added.work > _MOST_WORK and added.deltas > 1:
                self._together = added.deltas // 2
                continue
            if not await self._write(shard, together[added.deltas - 1][:NONCE_BYTES], added):
                break
            done += added.deltas
            if added.work < _MOST_WORK // 2:
                self._together = min(2 * self._together, _FOLDED_TOGETHER)
        return done

    async def _write(self, shard: int, last: bytes, added: Sum) -> bool:
        """Add a sum of deltas to the counters while the last of them is at its place; whether it was added."""
        names = [deltas_name(shard), *(counts_name(shard, key) for key in added.keys)]
        columns, runs = (added.sizes, added.runs_of_key), _packed(added.runs)
        while True:
            found = await self._run(_LOOK, names, last, added.deltas, _packed(np.column_stack(columns)), runs)
            if found is None:
                return False
            there = np.frombuffer(found, np.uint8, len(added.keys))
            sums = added.onto(np.frombuffer(found, "<i8", offset=len(added.keys)))
            keys = _packed(np.column_stack((*columns, added.expires, there)))
            written = await self._run(_FOLD, names, last, added.deltas, keys, runs, sums.astype("<i8").tobytes())
            if written >= 0:
                return bool(written)

    async def read(self, keys: Sequence[CounterKey]) -> list[IntArray | None]:
        """The counters of each key, added over all shards; None where nothing has been counted."""
        sums: list[IntArray | None] = [None] * len(keys)
        for values in await self._of_all_shards(partial(self._read, keys)):
            for number, value in enumerate(values):
                if value is not None:
                    counters = np.frombuffer(value, dtype="<i8").astype(np.int64)
                    before = sums[number]
                    sums[number] = counters if before is None else before + counters
        return sums

    async def batches(self, windows: Sequence[Window]) -> list[int]:
        """How many batches of each window are remembered: another number wherever counters have changed since."""
        counted = await self._of_all_shards(partial(self._seen, "SCARD", windows))
        return [sum(each) for each in zip(*counted, strict=True)]

    async def remembered(self, windows: Sequence[Window]) -> list[int | None]:
        """For how many seconds the ids of each window are remembered yet, at the least; None where there are none."""
        left = await self._of_all_shards(partial(self._seen, "TTL", windows))
        return [min((seconds for seconds in each if seconds >= 0), default=None) for each in zip(*left, strict=True)]

    async def status(self) -> StoreStatus:
        """How the server is, or the fullest of several; a StoreError where one does not answer."""
        began = time.perf_counter()
        await self.ping()
        seconds = time.perf_counter() - began
        with _errors():
            found = [_info(reply) for (reply,) in await self._link.ask_everywhere(("INFO",))]
        fullest = max(found, key=lambda info: int(info.get("used_memory", 0)))
        name = fullest.get("server_name", "redis")
        return StoreStatus(
            seconds,
            int(fullest.get("used_memory", 0)),
            int(fullest.get("maxmemory", 0)),
            sum(int(info.get("evicted_keys", 0)) for info in found),
            f"{name} {fullest.get(f'{name}_version', '')}".strip(),
        )

    async def _of_all_shards(self, of: Callable[[int], Coroutine[Any, Any, T]]) -> list[T]:
        return list(await asyncio.gather(*(of(shard) for shard in range(self.shards))))

    async def _read(self, keys: Sequence[CounterKey], shard: int) -> list[bytes | None]:
        """The packed counters of a shard."""
        await self.fold(shard)
        values: list[bytes | None] = []
        for start in range(0, len(keys), _READ_AT_ONCE):
            names = [counts_name(shard, key) for key in keys[start : start + _READ_AT_ONCE]]
            (found,) = await self._ask(names[0], ("MGET", *names))
            values += found
        return values

    async def _seen(self, command: str, windows: Sequence[Window], shard: int) -> list[int]:
        """What a command says of a shard's sets of ids."""
        names = [seen_name(shard, window) for window in windows]
        return await self._ask(deltas_name(shard), *((command, name) for name in names)) if names else []

    async def _ask(self, key: bytes, *commands: Command) -> list[Any]:
        """Replies, none of which is an error."""
        with _errors():
            replies = await self._link.ask(key, *commands)
            for reply in replies:
                if isinstance(reply, ResponseError):
                    raise reply
        return replies

    async def _run(
        self, script: _Script, names: list[bytes], *arguments: bytes | int, wait: tuple[Command, ...] = ()
    ) -> Any:
        with _errors():
            call: Command = ("EVALSHA", script.digest, len(names), *names, *arguments)
            reply, *waited = await self._link.ask(names[0], call, *wait)
            if isinstance(reply, NoScriptError):
                call = ("EVAL", script.text, *call[2:])
                reply, *waited = await self._link.ask(names[0], call, *wait)
            if isinstance(reply, ResponseError):
                raise reply
        for each in waited:
            self._durability.settled(each)
        return reply


def _info(reply: Any) -> dict[str, str]:
    if isinstance(reply, ResponseError):
        raise reply
    return {name: value for name, _, value in (line.partition(":") for line in reply.decode().splitlines())}


def _expiries(admissions: Mapping[Window, Admission], additions: Additions) -> IntArray:
    """For each key, the second since 1970 when its counters expire if they begin with these additions."""
    keys = np.asarray(additions.keys, dtype=KEY)
    expires = np.zeros(len(keys), dtype=np.int64)
    now = int(time.time())
    for window, admission in admissions.items():
        expires[(keys["digest"] == window.digest) & (keys["epoch"] == window.epoch)] = now + admission.keep
    return expires


def _packed(numbers: IntArray | Sequence[Sequence[int]]) -> bytes:
    array = np.asarray(numbers)
    if array.min() < 0 or array.max() >> 32:
        raise ValueError("a number has more than 32 bits")
    return array.astype("<u4").tobytes()


def _joined(admissions: Iterable[Admission]) -> bytes:
    blobs = []
    for admission in admissions:
        blob = b"".join(admission.ids)
        if not blob or len(blob) != ID_BYTES * len(set(admission.ids)):
            raise ValueError(f"a window has ids of {ID_BYTES} bytes, and each of them once")
        blobs.append(blob)
    return b"".join(blobs)


@contextmanager
def _errors() -> Iterator[None]:
    """redis-py's errors as ours."""
    try:
        yield
    except OutOfMemoryError as error:
        raise StoreFull(str(error)) from error
    except ResponseError as error:
        raise _refusal(str(error)) from error
    except (RedisError, OSError) as error:
        raise StoreUnavailable(str(error)) from error


def _refusal(message: str) -> StoreError:
    word = message.partition(" ")[0]
    if word in {"OOM", "MISCONF", "BEHIND"}:
        return StoreFull(message)
    if word in {"DAMAGED", "WRONGTYPE", "ERR"}:
        return StoreError(message)
    return StoreUnavailable(message)  # LOADING, READONLY, BUSY, NOREPLICAS, CLUSTERDOWN, TRYAGAIN and their like
