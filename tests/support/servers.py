"""Servers of Redis's kind for tests to use and to kill: single ones, primaries with replicas, and whole clusters.

They listen on ports of 127.0.0.1, die with the process that started them, and are told what they need on the
command line; what they know is in their directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import redis

from deniable_aggregator.store import parented
from deniable_aggregator.store.embedded import server_program
from support.ports import free_port
from support.waiting import PATIENCE, soon

__all__ = ["REDIS", "VALKEY", "Cluster", "Running", "cluster", "sentinel", "server"]

VALKEY = str(server_program())
REDIS = shutil.which("redis-server")
"""Debian's; None where `make system-tools` has not been run."""
_SLOTS = 16_384
_NODE_TIMEOUT = 1000
"""Milliseconds after which a cluster takes a silent server for dead."""


class Running:
    """A server."""

    def __init__(self, directory: Path, *settings: str, binary: str = VALKEY, port: int | None = None) -> None:
        self.port = port or free_port()
        self.directory = directory
        self._binary = binary
        self._settings = settings
        directory.mkdir(parents=True, exist_ok=True)
        self._process = self._started()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def client(self) -> redis.Redis:
        """A client."""
        return redis.Redis(port=self.port, socket_timeout=PATIENCE, protocol=2)

    def ask(self, *command: Any) -> Any:
        """A reply, without redis-py's own ideas about it."""
        with self.client() as client:
            client.response_callbacks.clear()
            return client.execute_command(*command)

    def said(self, section: str) -> dict[str, str]:
        """What INFO says."""
        lines = self.ask("INFO", section).decode().splitlines()
        return {name: value for name, _, value in (line.partition(":") for line in lines)}

    def answers(self) -> bool:
        """Whether it does."""
        with suppress(redis.RedisError):
            return bool(self.ask("PING"))
        return False

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    def start_again(self) -> None:
        """Start it again, with what it has on disk."""
        self._process = self._started()
        soon(self.answers)

    def _started(self) -> subprocess.Popen[bytes]:
        command = [self._binary, *self._settings, "--port", str(self.port), "--dir", str(self.directory)]
        with (self.directory / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, parented.__file__, "become", str(os.getpid()), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


_PLAIN = (
    *("--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--appendfsync", "always"),
    *("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"),
)


@contextmanager
def server(directory: Path, *settings: str, binary: str = VALKEY) -> Iterator[Running]:
    """A server that answers; it syncs its append-only file before that, unless the settings say otherwise."""
    running = Running(directory, *_PLAIN, *settings, binary=binary)
    try:
        soon(running.answers)
        yield running
    finally:
        running.kill()


@contextmanager
def sentinel(directory: Path, primary: Running) -> Iterator[Running]:
    """A Sentinel that watches a primary by itself, and is quick to judge."""
    directory.mkdir(parents=True)
    file = directory / "sentinel.conf"
    file.write_text(
        f"sentinel monitor main 127.0.0.1 {primary.port} 1\n"
        "sentinel down-after-milliseconds main 500\n"
        "sentinel failover-timeout main 5000\n"
    )
    running = Running(directory, str(file), "--sentinel", "--bind", "127.0.0.1")
    try:
        soon(running.answers)
        soon(lambda: b"num-slaves" in (found := running.ask("SENTINEL", "MASTER", "main")) and _after(found) == b"1")
        yield running
    finally:
        running.kill()


def _after(found: list[bytes]) -> bytes:
    return found[found.index(b"num-slaves") + 1]


class Cluster:
    """Three primaries, each with a replica."""

    def __init__(self, servers: list[Running]) -> None:
        self.servers = servers

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis+cluster://{','.join(f'127.0.0.1:{each.port}' for each in self.servers)}"

    def primary_of(self, slot: int) -> Running:
        """The server in charge of a slot."""
        for each in self.servers:
            if not each.answers():
                continue
            for first, last, primary, *_ in each.ask("CLUSTER", "SLOTS"):
                if first <= slot <= last:
                    (found,) = (one for one in self.servers if one.port == primary[1])
                    return found
        raise AssertionError("nobody is in charge")

    def is_well(self) -> bool:
        """Every slot has a primary that all know, and every primary that runs a replica that has all it has."""
        alive = [each for each in self.servers if each.answers()]
        for each in alive:
            if b"cluster_state:ok" not in each.ask("CLUSTER", "INFO"):
                return False
            role = each.said("replication")
            if role["role"] == "slave" and role["master_link_status"] != "up":
                return False
        return len({tuple(sorted(_owners(each))) for each in alive}) == 1

    def move(self, slot: int, target: Running) -> None:
        """Give a slot to another primary, key by key, as redis-cli does."""
        source = self.primary_of(slot)
        ids = {each.port: each.ask("CLUSTER", "MYID") for each in (source, target)}
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source.port])
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target.port])
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 10):
            source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 10_000, "KEYS", *keys)
            time.sleep(0.02)
        for each in (target, source):
            each.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[target.port])


def _owners(server: Running) -> Iterator[tuple[int, int, int]]:
    for first, last, primary, *_ in server.ask("CLUSTER", "SLOTS"):
        yield first, last, primary[1]


@contextmanager
def cluster(directory: Path) -> Iterator[Cluster]:
    """A cluster that is well."""
    settings = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(_NODE_TIMEOUT))
    with ExitStack() as stack:
        servers = [stack.enter_context(server(directory / str(number), *settings)) for number in range(6)]
        primaries, replicas = servers[:3], servers[3:]
        for number, each in enumerate(primaries):
            each.ask("CLUSTER", "ADDSLOTSRANGE", number * _SLOTS // 3, (number + 1) * _SLOTS // 3 - 1)
            each.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for each in servers[1:]:
            each.ask("CLUSTER", "MEET", "127.0.0.1", servers[0].port)
        soon(lambda: all(each.ask("CLUSTER", "NODES").count(b"connected") == 6 for each in servers))
        soon(lambda: all(b"cluster_state:ok" in each.ask("CLUSTER", "INFO") for each in servers))
        for primary, replica in zip(primaries, replicas, strict=True):
            replica.ask("CLUSTER", "REPLICATE", primary.ask("CLUSTER", "MYID"))
        found = Cluster(servers)
        soon(lambda: all(each.said("replication").get("connected_slaves") == "1" for each in primaries))
        soon(found.is_well)
        yield found
