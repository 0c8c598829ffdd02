"""Looks at the store: whether it is reached, keeps what it is given, and has room."""

from __future__ import annotations

from collections.abc import AsyncIterator

from deniable_aggregator.doctor._check import CannotLook, Check, Subject, Wrong
from deniable_aggregator.store import Condition, Promise, StoreError

__all__ = ["CHECKS"]

_APART = 30.0
"""Seconds that its clock may differ: ids are forgotten by it."""
_FULL = 0.85
"""The alert has the same bound."""


async def _is_reached(subject: Subject) -> AsyncIterator[Wrong]:
    """It answers, and is one that can be gone on with."""
    try:
        await subject.store()
    except CannotLook as error:
        if not str(error):
            raise
        yield str(error), "docs/runbook.md#deniablestoredown; the address is --redis or --data of deniable serve"


async def _conditions(subject: Subject) -> list[Condition]:
    try:
        return await (await subject.store()).conditions()
    except StoreError as error:
        raise CannotLook(str(error)) from error
    except CannotLook:
        raise CannotLook from None  # it is said once


async def _keeps_time(subject: Subject) -> AsyncIterator[Wrong]:
    """Its clock is right."""
    for own in await _conditions(subject):
        apart = own.time - subject.clock()
        if abs(apart) > _APART:
            yield (
                f"the store's clock is {abs(apart):.0f} seconds {'ahead' if apart > 0 else 'behind'}",
                "set the clocks of both machines by NTP: ids are forgotten by the store's",
            )


async def _keeps_all(subject: Subject) -> AsyncIterator[Wrong]:
    """It throws nothing away to make room, and has not."""
    for own in await _conditions(subject):
        policy = own.settings.get("maxmemory-policy", "noeviction")
        if policy != "noeviction":
            yield (
                f"the store makes room by itself (maxmemory-policy {policy}): counters and ids go",
                "CONFIG SET maxmemory-policy noeviction, and in its file",
            )
        if own.number("evicted_keys"):
            yield (
                f"the store has thrown {own.number('evicted_keys'):,} keys away",
                "docs/runbook.md#deniablestoreevicting: doubt the epochs since then",
            )


async def _has_room(subject: Subject) -> AsyncIterator[Wrong]:
    """Its memory is not nearly full."""
    for own in await _conditions(subject):
        used, limit = own.number("used_memory"), own.number("maxmemory")
        if limit and used > _FULL * limit:
            yield (
                f"the store has used {used / limit:.0%} of the memory that it may have ({limit >> 20} MiB)",
                "docs/runbook.md#deniablestorefilling: raise maxmemory, or keep epochs for less long (--keep)",
            )


async def _writes(subject: Subject) -> AsyncIterator[Wrong]:
    """It writes down what it has, as often as is waited for."""
    durability = subject.settings.durability
    for own in await _conditions(subject):
        synced, file = own.settings.get("appendfsync"), own.settings.get("appendonly")
        if durability.level is Promise.FSYNC and file == "yes" and synced in {"everysec", "no"}:
            yield (
                f"the store syncs by itself (appendfsync {synced}): every batch waits for that, up to seconds",
                "CONFIG SET appendfsync always, and in its file: a flush is one write for many batches",
            )
        if file == "no" and durability.level is not Promise.FSYNC:
            yield (
                "the store keeps nothing on disk (appendonly no): all counters are gone when it ends",
                "CONFIG SET appendonly yes, and in its file",
            )


async def _has_replicas(subject: Subject) -> AsyncIterator[Wrong]:
    """There are as many replicas as have to have a batch."""
    durability = subject.settings.durability
    if subject.settings.data_dir is not None or durability.level is not Promise.REPLICATED:
        raise CannotLook
    for own in await _conditions(subject):
        there = own.number("connected_slaves")
        if there < durability.replicas:
            yield (
                f"the store has {there} replicas, and {durability.replicas} have to have a batch: it takes none",
                "bring replicas up, or ask for fewer by --durability replicated:N",
            )


async def _folds(subject: Subject) -> AsyncIterator[Wrong]:
    """What has been added can be folded into the counters."""
    try:
        store = await subject.store()
    except CannotLook:
        raise CannotLook from None
    for shard in range(store.shards):
        try:
            await store.fold(shard)
        except StoreError as error:
            yield (
                f"what has been added to shard {shard} can not be folded into the counters: {error}",
                "mend or remove that counter (docs/runbook.md#deniablestorefilling); what waits is then folded",
            )


CHECKS = (
    Check("store", _is_reached),
    Check("store's clock", _keeps_time),
    Check("store's evictions", _keeps_all),
    Check("store's memory", _has_room),
    Check("store's file", _writes),
    Check("store's replicas", _has_replicas),
    Check("folding", _folds),
)
