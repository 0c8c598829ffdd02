"""The users of a store of one's own: what each needs, all of it, and nothing besides."""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest
import redis
from redis.crc import key_slot

from deniable import Collection
from deniable_aggregator.store import CounterKey, Durability, Promise, Store
from support.aggregator_store import add, additions, admission, batch_ids, fresh_key, window_of
from support.commands import EDITOR, told
from support.deployed import DEPLOY, StoreOfOnesOwn, batches, serving, store, users
from support.ports import free_port
from support.servers import Cluster, cluster
from support.submitting import submit
from support.waiting import PATIENCE, soon

ANSWERS = {"dark_mode": True, "crashed": False, "session_minutes": 40.0, "browser": "firefox"}
ELSEWHERE = {"cluster|slots", "asking", "wait"}
"""What only a cluster is asked, and a store with replicas."""


def allowed(user: str) -> set[str]:
    """The commands that a user may call."""
    (line,) = re.findall(rf"^user {user} (.*)$", (DEPLOY / "valkey" / "users.acl").read_text(), re.MULTILINE)
    words = line.split()
    assert "-@all" in words
    return {word.removeprefix("+") for word in words if word.startswith("+")}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[StoreOfOnesOwn]:
    """A store with these users."""
    with store(tmp_path, free_port()) as found:
        yield found


def test_an_aggregator_may_do_what_it_does_and_nothing_besides(own: StoreOfOnesOwn) -> None:
    """Batches that are stored, repeated, folded and read, by workers, desk and page, with shards: not one command is
    refused, and none is allowed that is not called."""
    own.forget()
    arguments = (EDITOR, "--redis", own.aggregator, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
    with serving(*arguments, "--shards", "3", "--workers", "2") as aggregator:
        sent = [batch.request for batch in batches(60, ANSWERS)]
        assert set(submit(aggregator.endpoint, sent)) == {grpc.StatusCode.OK}
        assert set(submit(aggregator.endpoint, sent)) == {grpc.StatusCode.OK}
        for path in ("/metrics", "/api/v1/health", "/api/v1/collections"):
            with urllib.request.urlopen(aggregator.page + path, timeout=PATIENCE) as answer:
                assert answer.status == 200
        soon(lambda: "dark_mode" in told("estimates", "--endpoint", aggregator.endpoint).stdout)
        later = [batch.request for batch in batches(5, ANSWERS)]  # for counters that are there by now
        assert set(submit(aggregator.endpoint, later)) == {grpc.StatusCode.OK}
        assert told("counters", "dark_mode", "--endpoint", aggregator.endpoint).returncode == 0
        found = told("doctor", EDITOR, "--redis", own.aggregator, "--shards", "3", "--http", "off")
        assert "store: could not be looked at" not in found.stdout
    assert own.refused() == []
    assert own.called() == allowed("aggregator") - ELSEWHERE


def test_an_operator_may_do_what_an_operator_does_and_nothing_besides(own: StoreOfOnesOwn, tmp_path: Path) -> None:
    """Who brings counters to another store, doubts and removes a day, of which something waits to be folded."""
    day = str(datetime.now(UTC).date())
    asyncio.run(_left_behind(own.aggregator))
    brought = tmp_path / "brought"
    with store(tmp_path / "other", free_port()) as other:
        asyncio.run(_begun(other.aggregator))
        for each in (own, other):
            each.forget()
        _said("export", brought, EDITOR, "--open", "--redis", own.operator)
        _said("import", brought, EDITOR, "--redis", other.operator)
        for words in (("--reason", "a test"), ("--withdraw",), ("--reason", "a test"), ("--remove",)):
            found = _said("doubt", EDITOR, day, *words, "--redis", own.operator)
        assert "2 keys of counters are erased" in found
        assert (own.refused(), other.refused()) == ([], [])
        assert own.called() | other.called() == allowed("operator") - ELSEWHERE


def _said(*words: str | Path) -> str:
    """What a command says, which ends well."""
    found = told(*words)
    assert (found.returncode, found.stderr) == (0, ""), found
    return found.stdout


async def _begun(url: str) -> None:
    """Begin a store."""
    store = Store(url)
    await store.open()
    await store.close()


async def _left_behind(url: str) -> None:
    """Leave increments in a store, of one of which there are counters."""
    collection = Collection.load(EDITOR)
    epoch = collection.epoch_at(time.time())
    store = Store(url)
    await store.open()
    for column, waits in ((0, False), (0, True), (1, True)):
        key = CounterKey(collection.digest, column, epoch, 0)
        added = additions({key: {1: 7}}, collection.columns[column].shape.counters)
        await store.add(0, {window_of(key): admission(batch_ids())}, added)
        if not waits:
            await store.fold(0)
    await store.close()


def test_a_cluster_needs_no_more(tmp_path: Path) -> None:
    """Where slots move, and replicas are waited for."""
    rules = re.sub(r"^user ", "", users(tmp_path / "users", "redis://%s@127.0.0.1/0").joinpath("users.acl").read_text(),
                   flags=re.MULTILINE)  # fmt: skip
    with cluster(tmp_path / "cluster") as nodes:
        for each in nodes.servers:
            for line in rules.splitlines():
                if not line.startswith("default"):  # by whom the tests' cluster is run
                    each.ask("ACL", "SETUSER", *line.split())
        password = (tmp_path / "users" / "aggregator.url").read_text().split("@")[0].removeprefix("redis://")
        asyncio.run(_used(nodes.url.replace("redis+cluster://", f"redis+cluster://{password}@"), nodes))
        assert [entry for each in nodes.servers for entry in each.ask("ACL", "LOG")] == []
        called = {name.removeprefix("cmdstat_") for each in nodes.servers for name in each.said("commandstats")}
        assert called >= ELSEWHERE


async def _used(url: str, nodes: Cluster) -> None:
    store = Store(url, shards=3, durability=Durability(Promise.REPLICATED))
    await store.open()
    key = fresh_key()
    await add(store, key, {1: 7})
    (found,) = await store.read([key])
    assert found is not None
    slot = key_slot(b"deniable:{0}:deltas")
    source = nodes.primary_of(slot)
    target = next(each for each in nodes.servers[:3] if each.port != source.port)
    ids = {each.port: each.ask("CLUSTER", "MYID") for each in (source, target)}
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source.port])
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target.port])
    (absent,) = await store._servers.ask(b"deniable:{0}:absent", ("EXISTS", b"deniable:{0}:absent"))
    assert absent == 0
    await store.close()


@pytest.mark.parametrize(
    ("user", "command"),
    [
        ("aggregator", ("GET", "others")),
        ("aggregator", ("KEYS", "*")),
        ("aggregator", ("UNLINK", "deniable:shards")),
        ("aggregator", ("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")),
        ("aggregator", ("FLUSHALL",)),
        ("aggregator", ("EVAL", "return redis.call('FLUSHALL')", 0)),
        ("aggregator", ("ACL", "LIST")),
        ("operator", ("FLUSHALL",)),
        ("operator", ("DEL", "deniable:shards")),
        ("operator", ("CONFIG", "SET", "appendonly", "no")),
        ("health", ("GET", "deniable:shards")),
        ("health", ("INFO",)),
    ],
)
def test_what_is_not_allowed_is_refused(own: StoreOfOnesOwn, user: str, command: tuple[str | int, ...]) -> None:
    """Keys of others, what erases, what changes settings; from a script, too."""
    urls = {"aggregator": own.aggregator, "operator": own.operator}
    url = urls.get(user, f"redis://health:@127.0.0.1:{own.server.port}")
    with redis.Redis.from_url(url) as client, pytest.raises(redis.ResponseError, match=r"(?i)no permission"):
        client.execute_command(*command)


def test_nobody_gets_in_without_a_name(own: StoreOfOnesOwn) -> None:
    """There is no default user, with a password or without."""
    for url in ("redis://127.0.0.1", "redis://:any@127.0.0.1", "redis://aggregator:any@127.0.0.1"):
        with redis.Redis.from_url(f"{url}:{own.server.port}") as client, pytest.raises(redis.AuthenticationError):
            client.ping()


def test_passwords_are_made_once_and_are_nowhere_but_in_their_addresses(tmp_path: Path) -> None:
    """In a directory that nobody else enters, though it was there; the store has their hashes. Who makes the users
    again keeps them."""
    (tmp_path / "users").mkdir(mode=0o755)
    made = users(tmp_path / "users", "redis://%s@valkey:6379/0")
    urls = {path.name: path.read_text() for path in made.glob("*.url")}
    assert made.stat().st_mode & 0o077 == 0
    assert urls.keys() == {"aggregator.url", "operator.url"}
    passwords = {re.fullmatch(r"redis://\w+:([0-9a-f]{64})@valkey:6379/0", text)[1] for text in urls.values()}  # type: ignore[index]
    assert len(passwords) == 2
    known = (made / "users.acl").read_text()
    assert not any(password in known for password in passwords)
    users(tmp_path / "users", "unix://%s@/run/valkey.sock")
    assert {path.name: path.read_text() for path in made.glob("*.url")} == urls
    assert (made / "users.acl").read_text() == known


def test_an_address_without_room_for_a_password_is_refused(tmp_path: Path) -> None:
    """In a line that says what is right."""
    command = ["sh", str(DEPLOY / "valkey" / "users.sh"), str(tmp_path / "users"), "redis://valkey:6379/0"]
    found = subprocess.run(command, capture_output=True, text=True)
    assert (found.returncode, "%s@ stands before the host" in found.stderr) == (2, True)
    assert not (tmp_path / "users").exists()
