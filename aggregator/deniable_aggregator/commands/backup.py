"""`deniable backup`: a copy of an embedded store, made while it is served."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from deniable_aggregator.commands._command import command

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable backup` to the commands, with its options."""
    what = "a copy of an aggregator's directory, made while it is served; deniable serve --data goes on with it"
    parser = command(commands, "backup", run, what, "backups/2026-11-19 --data ./data")
    parser.add_argument("copy", type=Path, metavar="DIRECTORY", help="where to; it is there once it is whole")
    parser.add_argument("--data", type=Path, default=Path("deniable-data"),
                        help="the aggregator's directory, as deniable serve was given it (%(default)s)")  # fmt: skip


def run(options: Any) -> None:
    """Run `deniable backup` with the options that were given."""
    from deniable_aggregator.store import back_up

    found = asyncio.run(back_up(options.data, options.copy))
    print(f"{options.copy}: {found.bytes:,} bytes, of {found.collections:,} collections; it has been opened and read")
