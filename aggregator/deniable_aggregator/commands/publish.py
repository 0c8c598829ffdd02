"""`deniable publish`: the answers as a static site."""

from __future__ import annotations

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
        "--least",
        type=int,
        default=_LEAST,
        metavar="N",
        help="segments of fewer reports are left out, and where that is one alone, the next with it (%(default)s)",
    )


def run(options: Any) -> None:
    """Run `deniable publish` with the options that were given."""
    from deniable_aggregator.notice import Language, LanguageError
    from deniable_aggregator.publishing import FIRST, site, write
    from deniable_aggregator.telling.remote import Reader

    collections = [Collection.load(path) for path in options.collection]
    names = [each.name for each in collections]
    if len(set(names)) < len(names):
        raise UsageError("two collections of one name: publish each version in a directory of its own")
    if len(names) > 1 and (first := FIRST.partition(".")[0]) in names:
        raise UsageError(f"{first}: its page would be the first one, of all: publish it in a directory of its own")
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
    try:
        files = site(published, language, datetime.now(UTC).date())
        gone = write(options.directory, files)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(f"{len(files)} files: {options.directory / FIRST}")
    if gone:
        print(f"removed, as they are not published any more: {', '.join(gone)}")


def _of(reader: Reader, collection: Collection, options: Any, simulated: set[str]) -> Published:
    """What the aggregator says of one collection, as far as it can be published."""
    from deniable_aggregator.publishing import Published, kept, told

    digest, asked = f"{collection.digest:016x}", window(options)
    whole = told(reader.estimates(collection=digest, **asked))
    apart: dict[str, list[dict[str, Any]]] = {}
    for name in options.segments:
        for metric in collection.metrics:
            for row in told(kept(reader.segments(metric, name, collection=digest, **asked), options.least)):
                apart.setdefault(row["segment"], []).append(row)
    return Published(collection, whole, _tables(apart), digest in simulated)


def _tables(rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, Table]:
    from deniable_aggregator.telling.tables import Table

    return {name: Table(found) for name, found in rows.items()}
