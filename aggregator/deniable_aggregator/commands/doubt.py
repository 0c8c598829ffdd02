"""`deniable doubt`: epochs that are not to be trusted, in the store of an aggregator, which may be running."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable import Collection
from deniable_aggregator.commands._command import UsageError, command
from deniable_aggregator.commands._stores import add_store, stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.store import CounterKey, Doubt, Doubted, Store

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable doubt` to the commands, with its options."""
    what = "epochs that are not to be trusted, and are left out of answers unless these are asked for"
    example = 'metrics.toml 2026-11-12 --reason "the store threw keys away" --data ./data'
    parser = command(commands, "doubt", run, what, example)
    parser.add_argument("collection", type=Path, metavar="COLLECTION",
                        help="a collection file, or a directory with all its versions")  # fmt: skip
    parser.add_argument(
        "day", nargs="?", metavar="DAY", help="which epoch: 2026-11-12; without it, those that are doubted"
    )
    parser.add_argument("--to", metavar="DAY", help="and all from it to this one")
    act = parser.add_mutually_exclusive_group()
    act.add_argument(
        "--reason", metavar="TEXT", help="doubt them: why they are doubted, in a line that readers are shown"
    )
    act.add_argument("--withdraw", action="store_true", help="trust them again")
    act.add_argument("--remove", action="store_true", help="erase the counters of epochs that are doubted, for good")
    add_store(parser)


def run(options: Any) -> None:
    """Run `deniable doubt` with the options that were given."""
    import asyncio

    versions = _versions(options.collection)
    wanted = _wanted(options, versions[0])
    if wanted and not (options.reason or options.withdraw or options.remove):
        raise UsageError("say why it is doubted, by --reason TEXT; or --withdraw, or --remove")
    if not wanted and (options.reason or options.withdraw or options.remove):
        raise UsageError("say which epoch: a day such as 2026-11-12")
    try:
        asyncio.run(_reach(options, versions, wanted))
    except ValueError as error:
        raise UsageError(str(error)) from error


def _versions(path: Path) -> list[Collection]:
    """The versions of one collection, the newest first."""
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    found = [Collection.load(file) for file in files]
    names = {own.name for own in found}
    if len(names) != 1:
        what = f"has {', '.join(sorted(names))}" if names else "has no collection"
        raise UsageError(f"{path} {what}: name the file of one")
    return sorted(found, key=lambda own: own.version, reverse=True)


def _wanted(options: Any, collection: Collection) -> list[Doubted]:
    """The epochs that are named."""
    from deniable_aggregator.analysis.dates import Dates, window
    from deniable_aggregator.store import Doubted

    if not options.day:
        return []
    try:
        said = Dates(start=options.day, end=options.to or options.day)
        found = window(
            said, collection.epoch_seconds, time.time(), None, ("DAY", "--to" if options.to else "DAY", "--last")
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    epochs = range(found.last_epoch - found.epochs + 1, found.last_epoch + 1)
    return [Doubted(collection.name, collection.epoch_seconds, epoch) for epoch in epochs]


async def _reach(options: Any, versions: list[Collection], wanted: list[Doubted]) -> None:
    async with stored(options) as store:
        await _act(options, store, versions, wanted)


async def _act(options: Any, store: Store, versions: list[Collection], wanted: list[Doubted]) -> None:
    from deniable_aggregator.store import Doubt

    known = await store.doubts.all()
    if options.reason:
        _check_there(wanted, known)
        await store.doubts.put(dict.fromkeys(wanted, Doubt(options.reason)))
    elif options.withdraw:
        _check_doubted(wanted, known, "is not doubted")
        _check_there(wanted, known)
        await store.doubts.withdraw(wanted)
    elif options.remove:
        _check_doubted(wanted, known, "is not doubted: doubt it first, and look at what is answered without it")
        counters = await _counters(store, versions, wanted)
        await store.doubts.put({own: known[own]._replace(removed=True) for own in wanted})
        print(f"{await store.erase(sorted(counters)):,} keys of counters are erased")
    for own, doubt in sorted((await store.doubts.all()).items()):
        if own[:2] == (versions[0].name, versions[0].epoch_seconds):
            how = "removed" if doubt.removed else "doubtful"
            print(f"{own.collection}  {_named(own)}  {how}: {doubt.reason}")


def _check_doubted(wanted: list[Doubted], known: Mapping[Doubted, Doubt], otherwise: str) -> None:
    """A UsageError for an epoch that is not doubted."""
    for own in wanted:
        if own not in known:
            raise UsageError(f"{_named(own)} {otherwise}")


def _check_there(wanted: list[Doubted], known: Mapping[Doubted, Doubt]) -> None:
    """A UsageError for an epoch whose counters are gone: nothing that is said of it can bring them back."""
    for own in wanted:
        if own in known and known[own].removed:
            raise UsageError(f"{_named(own)} was removed: there is nothing to trust again")


def _named(own: Doubted) -> str:
    from deniable_aggregator.analysis.dates import moment_of

    return moment_of(own.epoch, own.seconds)


async def _counters(store: Store, versions: list[Collection], wanted: list[Doubted]) -> set[CounterKey]:
    """The counters of epochs in all versions, also in those whose files are not given; a UsageError where some are of
    nobody knows what: they may be of a version of this collection, or of another one."""
    from deniable_aggregator.store import Named

    given = {own.digest: Named(own.name, own.epoch_seconds) for own in versions}
    known = {**await store.known.all(), **given}
    counted = {key for own in wanted for key in await store.counted(own.epoch)}
    unknown = sorted({f"{key.digest:016x}" for key in counted if key.digest not in known})
    if unknown:
        raise UsageError(
            f"nothing is removed: these epochs have counters of {', '.join(unknown)}, and which collection that is "
            "the store has not been told: serve its file once, or give a directory that has it, too"
        )
    return {key for key in counted if known[key.digest] == given[versions[0].digest]}
