"""`deniable init`: a collection file to begin with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from deniable_aggregator.commands._command import UsageError, command

__all__ = ["add"]

_FILE = Path("metrics.toml")


def add(commands: Any) -> None:
    """Add `deniable init` to the commands, with its options."""
    example = "metrics.toml --kinds boolean,distribution"
    parser = command(commands, "init", run, "a collection to begin with, one question of each kind", example)
    parser.add_argument("file", nargs="?", type=Path, default=_FILE, metavar="FILE", help="write there (%(default)s)")
    parser.add_argument("--kinds", metavar="KIND,...", help="which, or all (boolean,category,number)")
    parser.add_argument("--name", help="what the collection is called (the directory's name)")


def run(options: Any) -> None:
    """Run `deniable init` with the options that were given."""
    from deniable import Collection
    from deniable_aggregator.planning.start import FIRST, QUESTIONS, start

    file: Path = options.file
    kinds = [*QUESTIONS] if options.kinds == "all" else options.kinds.split(",") if options.kinds else [*FIRST]
    try:
        text = start(options.name or _named(file), [kind.strip() for kind in kinds], str(file))
    except ValueError as error:
        raise UsageError(f"--kinds: {error}") from error
    collection = Collection.loads(text, str(file))
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise UsageError(f"{file}: is there already, and is left as it is; give another FILE") from None
    print(f"{file}: {len(collection.metrics)} questions: {', '.join(collection.metrics)}. It is yours to edit. Then:")
    print(f"    deniable check {file}                  # what it asks, what it costs, what is unwise")
    print(f"    deniable serve {file} --data ./data    # take answers, and show them at http://localhost:8471/")


def _named(file: Path) -> str:
    """A collection's name from that of the directory that the file is in."""
    name = re.sub(r"[^a-z0-9_]+", "_", file.absolute().parent.name.lower()).strip("_")
    return name if name[:1].isalpha() else "metrics"
