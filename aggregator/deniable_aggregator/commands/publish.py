"""`deniable publish`: the answers as a static site."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable import Collection
from deniable_aggregator.commands._asking import add_caller, add_window, credentials, window
from deniable_aggregator.commands._command import UsageError, command

if TYPE_CHECKING:
    from deniable_aggregator.publishing import Published
    from deniable_aggregator.telling.remote import Reader
    from deniable_aggregator.telling.tables import Table

__all__ = ["add"]

_LEAST = 1000
_FIRST = Path("index.html")
_OURS = '<meta name="generator" content="deniable">'


def add(commands: Any) -> None:
    """Add `deniable publish` to the commands, with its options."""
    what = "the answers as a static site: pages without scripts, the notice, CSV and JSON"
    parser = command(commands, "publish", run, what, "public/ metrics.toml --last 7d")
    parser.add_argument("directory", type=Path, metavar="DIR", help="write there; what it wrote before is replaced")
    parser.add_argument("collection", nargs="+", metavar="COLLECTION", help="files that the aggregator serves, too")
    add_caller(parser)
    add_window(parser)
    parser.add_argument("--language", default="en", metavar="en|de|FILE", help="as for notice (%(default)s)")
    parser.add_argument(
        "--segments", action="append", default=[], metavar="NAME", help="also apart, by this segment (none)"
    )
    parser.add_argument(
        "--least", type=int, default=_LEAST, metavar="N", help="segments of fewer reports are left out (%(default)s)"
    )


def run(options: Any) -> None:
    """Run `deniable publish` with the options that were given."""
    from deniable_aggregator.notice import Language, LanguageError
    from deniable_aggregator.publishing import site
    from deniable_aggregator.telling.remote import Reader

    collections = [Collection.load(path) for path in options.collection]
    names = [each.name for each in collections]
    if len(set(names)) < len(names):
        raise UsageError("two collections of one name: publish each version in a directory of its own")
    if len(names) > 1 and _FIRST.stem in names:
        raise UsageError(
            f"{_FIRST.stem}: its page would be the first one, of all: publish it in a directory of its own"
        )
    try:
        language = Language.of(options.language)
    except LanguageError as error:
        raise UsageError(str(error)) from error
    for each in collections:
        if unknown := sorted(set(options.segments) - each.segments.keys()):
            known = ", ".join(each.segments) or "none"
            raise UsageError(f"--segments: {each.name} has no segment {unknown[0]!r}; it has {known}")
    with Reader(options.endpoint, credentials=credentials(options)) as reader:
        simulated = {own.digest for own in reader.collections() if own.simulated}
        published = [_of(reader, each, options, simulated) for each in collections]
    files = site(published, language, datetime.now(UTC).date())
    _write(options.directory, files)
    print(f"{len(files)} files: {options.directory / _FIRST}")


def _of(reader: Reader, collection: Collection, options: Any, simulated: set[str]) -> Published:
    """What the aggregator says of one collection, as far as it can be published."""
    from deniable_aggregator.publishing import Published, told

    digest, asked = f"{collection.digest:016x}", window(options)
    whole = told(reader.estimates(collection=digest, **asked))
    apart: dict[str, list[dict[str, Any]]] = {}
    for name in options.segments:
        for metric in collection.metrics:
            for row in told(reader.segments(metric, name, collection=digest, **asked), options.least):
                apart.setdefault(row["segment"], []).append(row)
    return Published(collection, whole, _tables(apart), digest in simulated)


def _tables(rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, Table]:
    from deniable_aggregator.telling.tables import Table

    return {name: Table(found) for name, found in rows.items()}


def _write(directory: Path, files: Mapping[str, str]) -> None:
    """Write the files, each as a whole; where something else is, nothing is written over."""
    first = directory / _FIRST
    there = [name for name in files if (directory / name).exists()]
    if there and not (first.exists() and _OURS in first.read_text(encoding="utf-8", errors="replace")):
        raise UsageError(f"{directory / there[0]} is there, and not by publish: take a directory of its own")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        beside = directory / f".{name}.new"
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, directory / name)
