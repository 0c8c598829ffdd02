# ruff: noqa: D103  (each fault is called what it plants)
"""A deployment that is well, and what can be wrong with one: planted in real parts."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import socket
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deniable_aggregator.doctor import Subject
from deniable_aggregator.serving.access import Access
from deniable_aggregator.serving.server import Settings
from deniable_aggregator.store import CounterKey, Durability, EpochKey, Named, Promise, Store
from support.aggregator_store import additions, admission, batch_ids
from support.commands import serving
from support.endpoints import TLS
from support.ports import free_port
from support.servers import Running, server

TOKEN = f"report {64 * '0'} the editor\n"
DAY = 86_400


@dataclass
class Deployment:
    """One that is well, until something is planted in it."""

    room: Path
    leaving: ExitStack
    settings: Settings
    subject: Subject

    @property
    def certificate(self) -> Path:
        """Its certificate."""
        return self.room / "server.pem"

    @property
    def key(self) -> Path:
        """The certificate's key."""
        return self.room / "server.key"

    @property
    def tokens(self) -> Path:
        """The file of tokens."""
        return self.room / "tokens"

    @property
    def collection(self) -> Path:
        """The file of a collection."""
        return self.room / "collections" / "editor.toml"

    def told(self, **settings: Any) -> None:
        """Have the aggregator be told otherwise."""
        self.subject.settings = replace(self.subject.settings, **settings)

    def store(self, *words: str) -> Running:
        """Have it a store of its own, which an aggregator has begun."""
        found = self.leaving.enter_context(server(self.room / "valkey", *words))
        self.told(redis_url=found.url, data_dir=None, durability=Durability(Promise.FSYNC))
        asyncio.run(begun(found.url))
        return found

    def runs(self) -> str:
        """Have an aggregator run with its collections, and a page; where it is reached."""
        self.subject.page = f"127.0.0.1:{free_port()}"
        reading = self.room / "reading"
        reading.write_text("reads all\n")
        self.tokens.write_text(f"{TOKEN}read {hashlib.sha256(b'reads all').hexdigest()}\n")
        self.subject.token_file = reading
        given = self.leaving.enter_context(
            serving(self.room / "data", self.collection.parent, "--http", self.subject.page, "--tokens", self.tokens)
        )
        self.subject.endpoint = given
        self.told(access=Access(None, None, None, self.tokens), listen=given)
        return given


async def begun(url: str) -> None:
    """Begin a store."""
    store = Store(url)
    await store.open()
    await store.close()


def issue(room: Path, name: str, days: int = 60, host: str = "localhost", kind: str = "ec") -> None:
    """A certificate and its key."""
    key = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256") if kind == "ec" else ("rsa:2048",)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", *key, "-nodes", "-days", str(days), "-subj", f"/CN={host}",
         "-addext", f"subjectAltName=DNS:{host}", "-keyout", room / f"{name}.key", "-out", room / f"{name}.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    (room / f"{name}.key").chmod(0o600)


def no_certificate(own: Deployment) -> None:
    own.certificate.unlink()


def another_key(own: Deployment) -> None:
    issue(own.room, "other")
    os.replace(own.room / "other.key", own.key)


def expired(own: Deployment) -> None:
    own.subject.clock = lambda: time.time() + 61 * DAY


def expires_soon(own: Deployment) -> None:
    issue(own.room, "server", days=5)


def another_name(own: Deployment) -> None:
    issue(own.room, "server", host="old.example.org")
    own.subject.endpoint = own.runs().replace("127.0.0.1", "localhost")
    own.told(access=Access(own.certificate, own.key, None, own.tokens), listen="127.0.0.1:0")


def an_rsa_key(own: Deployment) -> None:
    issue(own.room, "server", kind="rsa")


def a_key_for_all(own: Deployment) -> None:
    own.key.chmod(0o644)


def tokens_for_all(own: Deployment) -> None:
    own.tokens.chmod(0o664)


def a_line_that_is_none(own: Deployment) -> None:
    own.tokens.write_text(TOKEN + "reprot 00\n")


def no_token(own: Deployment) -> None:
    own.tokens.write_text(f"read {64 * '1'}\n")


def an_expired_token(own: Deployment) -> None:
    own.tokens.write_text(f"report expires=2026-01-01 {64 * '1'}\n")


def a_token_of_nothing(own: Deployment) -> None:
    own.tokens.write_text(TOKEN + f"report collections=writer {64 * '2'}\n")


def a_broken_collection(own: Deployment) -> None:
    own.collection.write_text("[collection]\nname = 1\n")


def no_collection(own: Deployment) -> None:
    own.collection.unlink()


def two_versions_alike(own: Deployment) -> None:
    text = own.collection.read_text().replace("epsilon = 1.0", "epsilon = 0.9", 1)
    assert text != own.collection.read_text()
    (own.collection.parent / "newer.toml").write_text(text)


def a_metric_that_ends(own: Deployment) -> None:
    ends = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 3 * DAY))
    text = own.collection.read_text()
    own.collection.write_text(re.sub("expires = .*", f"expires = {ends}", text, count=1))


def a_taken_port(own: Deployment) -> None:
    taken = own.leaving.enter_context(socket.create_server(("127.0.0.1", 0)))
    own.told(listen=f"127.0.0.1:{taken.getsockname()[1]}")
    own.subject.patience = 0.2  # nobody will answer, however long it is waited for


def a_taken_page(own: Deployment) -> None:
    taken = own.leaving.enter_context(socket.create_server(("127.0.0.1", 0)))
    own.subject.page = f"127.0.0.1:{taken.getsockname()[1]}"
    own.subject.patience = 0.2


def a_page_for_all(own: Deployment) -> None:
    own.subject.page = "0.0.0.0:0"
    own.told(access=Access(own.certificate, own.key))


def in_the_clear(own: Deployment) -> None:
    own.told(listen="0.0.0.0:0", access=Access(None, None, None, own.tokens))


def an_open_directory(own: Deployment) -> None:
    (own.room / "data").mkdir(mode=0o755)


def a_directory_of_others(own: Deployment) -> None:
    (own.room / "data").mkdir(mode=0o700)
    (own.room / "data" / "thesis.tex").touch()


def no_directory(own: Deployment) -> None:
    (own.room / "data").write_text("")


def mounted(own: Deployment, options: str) -> None:
    """A disk of its own under the data directory."""
    (own.room / "data").mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", own.room / "data"], check=True)
    own.leaving.callback(lambda: subprocess.run(["umount", own.room / "data"], check=True))


def a_full_disk(own: Deployment) -> None:
    mounted(own, "size=1m")
    (own.room / "data" / ".filler").write_bytes(bytes(1000 << 10))


def no_inodes(own: Deployment) -> None:
    mounted(own, "size=64m,nr_inodes=20")
    with contextlib.suppress(OSError):
        for number in range(19):
            (own.room / "data" / f".{number}").touch()


def no_store(own: Deployment) -> None:
    own.store().kill()


def a_store_of_a_newer_release(own: Deployment) -> None:
    own.store().ask("SET", "deniable:schema", "99")


def other_shards(own: Deployment) -> None:
    own.store()
    own.told(shards=2)


def a_clock_that_is_off(own: Deployment) -> None:
    own.store()
    own.subject.clock = lambda: time.time() + 300


def evicting(own: Deployment) -> None:
    own.store().ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")


def evicted(own: Deployment) -> None:
    store = own.store()
    store.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-random", "maxmemory", "3mb")
    for number in range(4000):
        if int(store.said("stats")["evicted_keys"]):
            break
        store.ask("SET", f"x{number}", "x" * 5000)
    store.ask("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "0")


def full(own: Deployment) -> None:
    store = own.store()
    store.ask("SET", "filler", "x" * (8 << 20))
    store.ask("CONFIG", "SET", "maxmemory", str(int(store.said("memory")["used_memory"]) * 11 // 10))


def no_file(own: Deployment) -> None:
    own.store("--appendonly", "no")


def a_slow_file(own: Deployment) -> None:
    own.store("--appendfsync", "everysec")


def no_replicas(own: Deployment) -> None:
    own.store()
    own.told(durability=Durability(Promise.REPLICATED, 1))


def a_version_left_out(own: Deployment) -> None:
    store, older = own.store(), 7

    async def answered() -> None:
        found = Store(store.url)
        await found.open()
        await found.known.put({older: Named("editor", DAY)})
        counted = additions({CounterKey(older, 0, 20_000, 0): {1: 1}})
        await found.add(0, {EpochKey(older, 20_000): admission(batch_ids())}, counted)
        await found.close()

    asyncio.run(answered())


def a_damaged_counter(own: Deployment) -> None:
    store = own.store()

    async def damage() -> None:
        key, found = CounterKey(7, 0, 20_000, 0), Store(store.url)
        await found.open()
        await found.add(0, {EpochKey(7, 20_000): admission(batch_ids())}, additions({key: {1: 1}}))
        store.ask("SET", f"deniable:{{0}}:counts:{7:016x}.0:20000:0", "xyz")
        await found.close()

    asyncio.run(damage())


def nobody_there(own: Deployment) -> None:
    own.subject.endpoint = f"127.0.0.1:{free_port()}"
    own.told(access=Access(None, None, None, own.tokens))
    own.subject.page = None


def the_clear_where_tls_is_expected(own: Deployment) -> None:
    own.runs()
    own.subject.roots = TLS / "ca.pem"


def other_files(own: Deployment) -> None:
    own.runs()
    text = own.collection.read_text().replace('name = "editor"', 'name = "writer"')
    (own.room / "more.toml").write_text(text)
    own.subject.collections = (*own.subject.collections, own.room / "more.toml")
