"""What is asked of the servers of a store: commands and scripts, with errors that are the store's own.

Scripts are called by their digests, and sent to a server that does not know them yet. redis-py's own retries are off:
a script may have been run, and only who asked for it knows whether to ask again.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np
from redis.exceptions import (
    AskError,
    ClusterDownError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from deniable_aggregator.store.additions import IntArray
from deniable_aggregator.store.condition import Condition, conditions_of
from deniable_aggregator.store.durability import Durability
from deniable_aggregator.store.errors import StoreError, StoreFull, StoreUnavailable, StoreUnfit
from deniable_aggregator.store.links import Command, Link

__all__ = ["Places", "Script", "packed"]

_PASSING = (ClusterDownError, ReadOnlyError, TryAgainError)
_PASSING_WORDS = {"BUSY", "NOREPLICAS"}
_CROWDED = "max number of clients"
"""Refusals that pass while servers start, change their places or are at work; redis-py has classes for some only."""


class Script:
    """A script of the store's."""

    def __init__(self, name: str) -> None:
        self.text = files(__package__).joinpath(f"{name}.lua").read_bytes()
        self.digest = hashlib.sha1(self.text, usedforsecurity=False).hexdigest().encode()


class Places:
    """Whatever servers a link leads to."""

    def __init__(self, link: Link, durability: Durability) -> None:
        self._link = link
        self._durability = durability
        self._wait: tuple[Command, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether it takes more than a reply for something to be as durable as was asked for."""
        return bool(self._wait)

    async def open(self) -> None:
        """Reach them, and agree about what they promise."""
        with _ERRORS:
            self._wait = await self._durability.wait(self._link)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._link.close()

    async def ask(self, key: bytes, *commands: Command) -> list[Any]:
        """Replies of the one in charge of a key, none of which is an error."""
        with _ERRORS:
            return _replies(await self._link.ask(key, *commands))

    async def ask_everywhere(self, *commands: Command) -> list[list[Any]]:
        """Replies of all of them, none of which is an error."""
        with _ERRORS:
            return [_replies(replies) for replies in await self._link.ask_everywhere(*commands)]

    async def conditions(self) -> list[Condition]:
        """How each of them is."""
        with _ERRORS:
            return await conditions_of(self._link)

    async def run(
        self, script: Script, names: Sequence[bytes], *arguments: bytes | int, durably: bool = False
    ) -> Any:
        """A script's reply; durably: once what it has written is as durable as was asked for."""
        wait = self._wait if durably else ()
        with _ERRORS:
            call: Command = (b"EVALSHA", script.digest, len(names), *names, *arguments)
            replies = await self._link.ask(names[0], call, *wait)
            if isinstance(replies[0], NoScriptError):
                call = ("EVAL", script.text, *call[2:])
                replies = await self._link.ask(names[0], call, *wait)
            if isinstance(replies[0], ResponseError):
                raise replies[0]
        for each in replies[1:]:
            self._durability.confirmed(each)
        return replies[0]


def packed(numbers: IntArray | Sequence[Sequence[int]]) -> bytes:
    """Numbers as scripts read them: unsigned, little-endian, of 4 bytes; a ValueError for one that has more."""
    if not isinstance(numbers, np.ndarray):
        try:
            return b"".join([struct.pack(f"<{len(row)}I", *row) for row in numbers])
        except struct.error as error:
            raise ValueError("a number has more than 32 bits") from error
    array = numbers
    if array.min() < 0 or array.max() >> 32:
        raise ValueError("a number has more than 32 bits")
    return array.astype("<u4").tobytes()


def _replies(replies: list[Any]) -> list[Any]:
    for reply in replies:
        if isinstance(reply, ResponseError):
            raise reply
    return replies


class _Errors:
    """redis-py's errors as ours."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OutOfMemoryError):
            raise StoreFull(str(error)) from error
        if isinstance(error, ResponseError):
            raise _refusal(error) from error
        if isinstance(error, RedisError | OSError):
            raise StoreUnavailable(str(error)) from error


_ERRORS = _Errors()


def _refusal(error: ResponseError) -> StoreError:
    message = str(error)
    word = message.partition(" ")[0]
    if word in {"MISCONF", "BEHIND"}:
        return StoreFull(message)
    if isinstance(error, AskError):  # MOVED is a kind of it, and a link to a cluster goes where they say
        return StoreUnfit("this server is one of a cluster: name it as redis+cluster://HOST:PORT")
    if isinstance(error, _PASSING) or word in _PASSING_WORDS or message.startswith(_CROWDED):
        return StoreUnavailable(message)
    return StoreError(message)
