"""`deniable codegen`: typed accessors of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable import Collection
from deniable_aggregator.commands._command import command

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable codegen` to the commands, with its options."""
    example = "metrics.toml --output metrics.py"
    parser = command(commands, "codegen", run, "typed accessors of a collection, for type checkers", example)
    parser.add_argument("collection", type=Path, metavar="COLLECTION", help="a collection file")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write there (standard output)")


def run(options: Any) -> None:
    """Run `deniable codegen` with the options that were given."""
    from deniable.codegen import generate

    module = generate(Collection.load(options.collection), options.collection.name)
    if options.output:
        options.output.write_text(module, encoding="utf-8")
    else:
        print(module, end="")
