"""Where the servers of a store are, and how commands reach the one that is in charge.

words:
  place  one server
  link   the way to the places of a store: to a single server, to whichever of several Sentinel calls the primary,
         or to the primaries of a cluster, each of which is in charge of some slots
  slot   one of 16,384 parts of a cluster's keys. A key's hash tag says which; commands whose keys share a tag reach
         them all at one place

Commands that are asked for together go over one connection, one after another, since WAIT and WAITAOF are about
what their own connection has written. redis-py's client for clusters does not promise that; nor do its clients'
retries belong here: whoever sent a batch repeats it.

    redis://HOST:PORT/DB, rediss://..., unix:///PATH                 one server; rediss is TLS
    redis+sentinel://HOST:PORT,HOST:PORT.../SERVICE/DB               Sentinel (rediss+sentinel: the servers speak TLS)
    redis+cluster://HOST:PORT,HOST:PORT...                           a cluster (rediss+cluster: TLS)

User, password and options (?ssl_ca_certs=...; all are in `_OPTIONS`) stand where they stand in a URL for one server.
"""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from redis.asyncio.connection import Connection, ConnectionPool, SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import (
    AskError,
    ClusterDownError,
    ConnectionError,  # noqa: A004 - redis-py's name
    MovedError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,  # noqa: A004
    TryAgainError,
)

from deniable_aggregator.store.errors import StoreUnfit
from deniable_aggregator.store.line import Command, Line

__all__ = ["Command", "Link", "link_to"]

_ANYWHERE = ("client_name", "db", "health_check_interval", "password", "username")
_BY_TLS = ("ca_certs", "ca_data", "ca_path", "cert_reqs", "certfile", "check_hostname", "ciphers", "keyfile",
           "min_version", "password")  # fmt: skip
_OPTIONS = {
    "unix": _ANYWHERE,
    "redis": (*_ANYWHERE, "socket_keepalive"),
    "rediss": (*_ANYWHERE, "socket_keepalive", *(f"ssl_{name}" for name in _BY_TLS)),
}
"""Of redis-py's options those that an address may have: others would change what is asked, and what comes back."""
_PORT = 6379
_SENTINEL_PORT = 26379
_MOST_CONNECTIONS = 4096
"""Of one process to one server: each of up to 1,024 shards is added to, folded and read at the same time."""
_AGAIN_SECONDS = 0.05
_PATIENCE_SECONDS = 2.0
"""How long a command waits for a cluster to know who is in charge of its slot."""


class Link(Protocol):
    """The way to the places of a store."""

    async def ask(self, key: bytes, *commands: Command) -> list[Any]:
        """Replies of the place that is in charge of a key; those that are errors are not raised."""

    async def ask_everywhere(self, *commands: Command) -> list[list[Any]]:
        """Replies of every place that is in charge of something."""

    async def close(self) -> None:
        """Let go of all connections."""


class _Place:
    """One server."""

    def __init__(self, pool: ConnectionPool, timeout: float) -> None:
        self._pool = pool
        self._timeout = timeout
        self._idle: list[Line] = []

    async def ask(self, key: bytes, *commands: Command) -> list[Any]:  # noqa: ARG002 - it is in charge of all keys
        """Replies to commands."""
        line = await self._line()
        try:
            replies = await line.exchange(commands)
        except BaseException:
            await self._drop(line)
            raise
        if any(isinstance(reply, ReadOnlyError) for reply in replies):
            await self._drop(line)  # it was the primary's; who has taken over is found out with the next one
        else:
            self._idle.append(line)
        return replies

    async def ask_everywhere(self, *commands: Command) -> list[list[Any]]:
        """Replies of this place."""
        return [await self.ask(b"", *commands)]

    async def close(self) -> None:
        """Let go of the connections."""
        await self._pool.disconnect()

    async def _line(self) -> Line:
        while self._idle:
            line = self._idle.pop()
            if line.open:
                return line
            await self._drop(line)
        return Line(await self._pool.get_connection(), self._timeout)  # type: ignore[no-untyped-call]

    async def _drop(self, line: Line) -> None:
        line.close()
        with suppress(RedisError):
            await line.connection.disconnect(nowait=True)
        await self._pool.release(line.connection)


class _Judged(_Place):
    """Whichever server Sentinel calls the primary."""

    def __init__(self, service: str, sentinel: Sentinel, options: dict[str, Any]) -> None:
        pool = SentinelConnectionPool(service, sentinel, **options)  # type: ignore[no-untyped-call]
        super().__init__(pool, options["socket_timeout"])
        self._sentinel = sentinel

    async def close(self) -> None:
        """Let go of the connections, those to Sentinel, too."""
        await super().close()
        for each in self._sentinel.sentinels:
            await each.aclose()


class _Cluster:
    """The primaries of a cluster."""

    def __init__(self, seeds: Sequence[tuple[str, int]], kind: type[Connection], options: dict[str, Any]) -> None:
        self._seeds = list(seeds)
        self._kind = kind
        self._options = options
        self._places: dict[tuple[str, int], _Place] = {}
        self._starts: list[int] = []
        self._owners: list[tuple[str, int]] = []
        self._learning = asyncio.Lock()
        self._learned = 0

    async def ask(self, key: bytes, *commands: Command) -> list[Any]:
        """Replies of the primary that is in charge of a key; waits a little while none is."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE_SECONDS
        slot = key_slot(key)
        address = None
        asking = False
        while True:
            learned = self._learned
            if address is None:
                address = await self._owner(slot)
            replies = await self._ask(address, asking, commands)
            error = next((reply for reply in replies if isinstance(reply, ResponseError)), None)
            address, asking = None, False
            if not isinstance(error, AskError | TryAgainError | ClusterDownError):
                return replies
            if loop.time() > deadline:
                raise ConnectionError(f"nobody is in charge of slot {slot}: {error}")
            if isinstance(error, AskError) and not isinstance(error, MovedError):  # one is a kind of the other
                address, asking = error.node_addr, True
                continue
            if not isinstance(error, MovedError):
                await asyncio.sleep(_AGAIN_SECONDS)
            await self._learn(learned)

    async def ask_everywhere(self, *commands: Command) -> list[list[Any]]:
        """Replies of every primary; there is one at least, or a ConnectionError says so."""
        while not self._owners:  # others may have learned them meanwhile, and lost them again
            await self._learn(self._learned)
        owners = sorted(set(self._owners))
        return list(await asyncio.gather(*(self._ask(owner, False, commands) for owner in owners)))

    async def close(self) -> None:
        """Let go of all connections."""
        for place in self._places.values():
            await place.close()

    async def _ask(self, address: tuple[str, int], asking: bool, commands: Sequence[Command]) -> list[Any]:
        place = self._place(address)
        try:
            if not asking:
                return await place.ask(b"", *commands)
            return (await place.ask(b"", ("ASKING",), *commands))[1:]
        except (ConnectionError, TimeoutError):
            self._starts, self._owners = (
                [],
                [],
            )  # it may be gone for good: the next one to ask learns who has taken over
            raise

    async def _owner(self, slot: int) -> tuple[str, int]:
        if not self._owners:
            await self._learn(self._learned)
        number = bisect_right(self._starts, slot) - 1
        if number < 0:
            raise ConnectionError(f"nobody is in charge of slot {slot}")
        return self._owners[number]

    def _place(self, address: tuple[str, int]) -> _Place:
        if address not in self._places:
            host, port = address
            pool = ConnectionPool(connection_class=self._kind, host=host, port=port, **self._options)
            self._places[address] = _Place(pool, self._options["socket_timeout"])
        return self._places[address]

    async def _learn(self, learned: int) -> None:
        """Ask who is in charge of which slots, unless somebody else has just done so."""
        async with self._learning:
            if learned != self._learned:
                return
            known = list(self._places)
            addresses = random.sample(known, len(known)) + self._seeds
            for address in addresses:
                with suppress(ConnectionError, TimeoutError, OSError):
                    (ranges,) = await self._place(address).ask(b"", ("CLUSTER", "SLOTS"))
                    if isinstance(ranges, list) and ranges:
                        self._take_in(ranges, address[0])
                        return
        raise ConnectionError("no server of the cluster says who is in charge")

    def _take_in(self, ranges: list[Any], host: str) -> None:
        found = []
        for first, _, primary, *_ in ranges:
            name = primary[0].decode() if primary[0] else host  # a server may not know its own address
            found.append((first, (name, primary[1])))
        found.sort()
        self._starts = [first for first, _ in found]
        self._owners = [owner for _, owner in found]
        self._learned += 1


def link_to(url: str, timeout: float) -> Link:
    """The way to the servers of a URL; a StoreUnfit where it makes no sense, which has nothing of its password."""
    try:
        return _link_to(url, timeout)
    except ValueError:  # what was taken for a port may be a part of it
        raise StoreUnfit(
            "the address of the store can not be read: hosts are HOST:PORT, and what is special in a password, such "
            "as / # ? [, is written as %2F and so on"
        ) from None


def _link_to(url: str, timeout: float) -> Link:
    parts = urlsplit(url)
    scheme, _, kind = parts.scheme.partition("+")
    if (
        kind not in {"", "cluster", "sentinel"}
        or scheme not in {"redis", "rediss", "unix"}
        or (kind and scheme == "unix")
    ):
        raise StoreUnfit(
            f"{parts.scheme}:// is not the address of a store: redis://, rediss://, unix://, redis+sentinel://, redis+cluster://"
        )
    _check_options(parts.query, scheme)
    common: dict[str, Any] = {
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        "max_connections": _MOST_CONNECTIONS,
    }
    if not kind:
        return _Place(ConnectionPool.from_url(url, protocol=2, **common), timeout)
    user, at, hosts = parts.netloc.rpartition("@")
    addresses = [_address(host, _PORT if kind == "cluster" else _SENTINEL_PORT) for host in hosts.split(",")]
    _, service, database = (*parts.path.split("/"), "", "")[:3]
    path = f"/{database}" if database else ""
    one = urlunsplit((scheme, f"{user}{at}{addresses[0][0]}:{addresses[0][1]}", path, parts.query, ""))
    options: dict[str, Any] = {**parse_url(one), **common, "protocol": 2}
    connection = options.pop("connection_class", Connection)
    del options["host"], options["port"]
    if kind == "cluster":
        if parts.path.strip("/"):
            raise StoreUnfit("a cluster has one database, and no path in its address")
        return _Cluster(addresses, connection, options)
    if not service:
        raise StoreUnfit("a Sentinel address ends with the name of the service: redis+sentinel://HOST:PORT/SERVICE")
    sentinel = Sentinel(addresses, sentinel_kwargs=common)  # type: ignore[no-untyped-call]
    options["ssl"] = issubclass(connection, SSLConnection)
    return _Judged(service, sentinel, options)


def _check_options(query: str, scheme: str) -> None:
    """A StoreUnfit where something is no option; it is not named, as it may be a part of a password."""
    if not {name for name, _ in parse_qsl(query, keep_blank_values=True)} <= {*_OPTIONS[scheme]}:
        raise StoreUnfit(
            f"the address of the store has something after its ? that is no option of {scheme}://; there are "
            f"{', '.join(_OPTIONS[scheme])}, and a ? that is of a password is written as %3F"
        )


def _address(text: str, port: int) -> tuple[str, int]:
    split = urlsplit(f"//{text}")
    if not split.hostname:
        raise ValueError("no address of a server")
    return split.hostname, split.port or port
