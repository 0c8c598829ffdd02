"""`deniable bundle`: a collection and all files that it names, as one text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from deniable_aggregator.commands._command import command

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable bundle` to the commands, with its options."""
    example = "metrics.toml --output bundle.toml"
    parser = command(
        commands, "bundle", run, "a collection and all files that it names, as the one text that ships", example
    )
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there (standard output)")


def run(options: Any) -> None:
    """Run `deniable bundle` with the options that were given."""
    from deniable.collection import bundle

    text = bundle(options.collection).encode()
    if options.output:
        options.output.write_bytes(text)
    else:
        sys.stdout.buffer.write(text)
