"""What deploy/ has, run without containers: its store with its users, and an aggregator that logs in there."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import redis

from deniable import Collection
from deniable.device.outbox import Batch
from deniable_aggregator.planning.fleet import reported
from support.commands import EDITOR, ROOT
from support.servers import VALKEY, Running
from support.template import started
from support.waiting import PATIENCE, soon

__all__ = ["DEPLOY", "Deployed", "StoreOfOnesOwn", "answers", "batches", "serving", "store", "users"]

DEPLOY = ROOT / "deploy"
_CONFIG = DEPLOY / "valkey" / "valkey.conf"
_WATCHER = "user watcher reset on nopass ~* &* +@all\n"
"""Of the tests alone: who looks at what the others have done."""


class StoreOfOnesOwn(NamedTuple):
    """A store that runs as deploy/ says."""

    server: Running
    aggregator: str
    """Where the aggregator finds it, with its password."""
    operator: str
    """Where the operator does."""

    def watcher(self) -> redis.Redis:
        """A client that may do everything."""
        return redis.Redis(port=self.server.port, username="watcher", password="any", socket_timeout=PATIENCE)

    def called(self) -> set[str]:
        """The commands that were called since this was last forgotten, but for who logs in and the watcher."""
        with self.watcher() as client:
            found = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
        return found - {"hello", "auth", "config|resetstat", "acl|log"}

    def forget(self) -> None:
        """Forget what was called and refused, and the scripts."""
        with self.watcher() as client:
            client.script_flush()
            client.config_resetstat()
            client.acl_log_reset()

    def refused(self) -> list[tuple[str, str]]:
        """Who was refused what."""
        with self.watcher() as client:
            return [(each["username"], each["object"]) for each in client.acl_log()]


def users(directory: Path, address: str) -> Path:
    """The users of a store at an address, as `deploy/valkey/users.sh` makes them."""
    subprocess.run(["sh", DEPLOY / "valkey" / "users.sh", directory, address], check=True)
    return directory


def answers(url: str) -> bool:
    """Whether a store does to whoever only asks for that."""
    with contextlib.suppress(redis.RedisError), redis.Redis.from_url(url) as client:
        return bool(client.ping())
    return False


@contextlib.contextmanager
def store(directory: Path, port: int) -> Iterator[StoreOfOnesOwn]:
    """The store of deploy/valkey, on a port of this machine."""
    secrets = users(directory / "secrets", f"redis://%s@127.0.0.1:{port}/0")
    known = directory / "users.acl"
    known.write_text((secrets / "users.acl").read_text() + _WATCHER)
    running = Running(directory / "store", str(_CONFIG), "--aclfile", str(known), binary=VALKEY, port=port)
    try:
        soon(lambda: answers(f"redis://health:@127.0.0.1:{port}"), "the store answers")
        urls = ((secrets / f"{name}.url").read_text().strip() for name in ("aggregator", "operator"))
        yield StoreOfOnesOwn(running, *urls)
    finally:
        running.kill()


class Deployed(NamedTuple):
    """An aggregator that runs."""

    endpoint: str
    page: str


@contextlib.contextmanager
def serving(*arguments: str | Path) -> Iterator[Deployed]:
    """`deniable serve` with these arguments, and what it says of where it is; drained at the end."""
    program = started("serve", *arguments)
    with program.stdout:
        try:
            endpoint = program.stdout.readline()
            assert " on " in endpoint, f"not serving: {endpoint!r}"
            page = program.stdout.readline()
            yield Deployed(endpoint.rsplit(" on ", 1)[1].strip(), page.rsplit(" at ", 1)[1].strip().rstrip("/"))
        finally:
            program.send_signal(signal.SIGTERM)
            assert program.wait(PATIENCE) is not None, "it does not end"


def batches(number: int, said: Mapping[str, object]) -> list[Batch]:
    """Of so many of the editor's devices, which have the same to say."""
    collection = Collection.load(EDITOR)
    epoch = collection.epoch_at(time.time())
    return [reported(collection, said, epoch, 0) for _ in range(number)]
