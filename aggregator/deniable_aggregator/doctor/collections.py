"""Looks at the collections that are to be served."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from deniable import Collection, CollectionError
from deniable_aggregator.doctor._check import CannotLook, Check, Subject, Wrong
from deniable_aggregator.serving.naming import left_out
from deniable_aggregator.serving.sources import Sources, collections_of
from deniable_aggregator.store import StoreError

__all__ = ["CHECKS", "given"]

_SOON = timedelta(days=14)


def given(subject: Subject) -> list[Collection]:
    """What the files say."""
    try:
        return collections_of(Sources(subject.collections).read())
    except (CollectionError, OSError) as error:
        raise CannotLook(str(error)) from error


async def _load(subject: Subject) -> AsyncIterator[Wrong]:
    """Every file loads, and of two versions it is known which is newer."""
    try:
        if not collections_of(Sources(subject.collections).read()):
            yield "there is no collection: every batch is refused", "put collection files into the directory"
    except (CollectionError, OSError) as error:
        yield str(error), "mend the file: deniable check says everything that is wrong with it at once"


async def _last(subject: Subject) -> AsyncIterator[Wrong]:
    """No metric of the newest versions has ended, or ends soon."""
    today = datetime.fromtimestamp(subject.clock(), UTC).date()
    newest: dict[str, Collection] = {}
    for own in given(subject):
        if own.name not in newest or own.version > newest[own.name].version:
            newest[own.name] = own
    ship = "ship a collection with a later date (it does not change the digest), or take the metric out"
    for own in newest.values():
        for name, metric in own.metrics.items():
            if metric.expires is None or metric.expires == own.retired:  # an end that is meant
                continue
            if metric.expires <= today:
                yield f"{own.name}: {name} has ended on {metric.expires}: devices do not answer it", ship
            elif metric.expires <= today + _SOON:
                yield f"{own.name}: {name} ends on {metric.expires}", ship


async def _known(subject: Subject) -> AsyncIterator[Wrong]:
    """Tokens and spans name collections that are served."""
    names = {own.name for own in given(subject)}
    for name in sorted(subject.settings.calendar.keeps.keys() - names):
        yield f"--keep {name}=...: no such collection is served", "name a collection by what its file says"
    try:
        said = subject.settings.access.names()
    except OSError as error:
        raise CannotLook(str(error)) from error
    for name in sorted(said - names):
        yield f"a token is good for {name}, which is not served", "name a collection by what its file says"


async def _all_there(subject: Subject) -> AsyncIterator[Wrong]:
    """No version that has been answered is missing beside a newer one."""
    try:
        store, served = await subject.store(), [(own.digest, own.name) for own in given(subject)]
    except CannotLook:
        raise CannotLook from None  # it is said once
    try:
        for each in await left_out(store, served):
            yield str(each), "serve the older file beside the newer one: docs/changing.md"
    except StoreError as error:
        raise CannotLook(str(error)) from error


CHECKS = (
    Check("collections", _load),
    Check("collections' days", _last),
    Check("collections' names", _known),
    Check("collections' versions", _all_there),
)
