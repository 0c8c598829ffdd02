"""The `deniable` command: one file a subcommand; exit code 0, or a one-line error and 2; 141 unread.

A subcommand loads what it needs when it is run: `check` no server, `ledger` no statistics.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import cache

import deniable
from deniable import CollectionError, StateError, UnknownMetricError
from deniable._parser import Parser
from deniable._paths import told, unheard
from deniable_aggregator.commands import (
    audit,
    backup,
    bundle,
    check,
    codegen,
    compare,
    counters,
    demo,
    diff,
    doctor,
    doubt,
    estimates,
    explain,
    export,
    import_,
    init,
    ledger,
    notice,
    plan,
    publish,
    serve,
    simulate,
    synthesize,
    token,
)
from deniable_aggregator.commands._command import CommandParser, UsageError

__all__ = ["main"]

_COMMANDS = (
    demo,
    init,
    serve,
    doctor,
    token,
    estimates,
    compare,
    counters,
    publish,
    doubt,
    backup,
    export,
    import_,
    check,
    plan,
    explain,
    notice,
    diff,
    bundle,
    audit,
    simulate,
    synthesize,
    ledger,
    codegen,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; one that judges what it is given may end with 1."""
    try:
        options = _read(arguments)
        options.alone = arguments is None
        code = options.run(options)
        sys.stdout.flush()
    except _told() as error:
        if not isinstance(error, OSError):
            said = str(error)
        elif not _is_of_output(error):
            said = told(error)
        elif isinstance(error, BrokenPipeError):
            return 141  # what a shell says of a program that SIGPIPE has ended
        else:
            said = unheard(error)
        print(f"deniable: {said}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 0
    return code or 0


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What is to be run, and how; where help was asked for instead, it is written before this ends."""
    try:
        return _parser().parse_args(arguments)
    except SystemExit:
        sys.stdout.flush()
        raise


def _is_of_output(error: OSError) -> bool:
    """Whether standard output takes no more: `head` has ended, a disk is full; what is left for it is dropped."""
    try:
        sys.stdout.write("\n" if isinstance(error, BrokenPipeError) else "")
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def _told() -> tuple[type[Exception], ...]:
    """The errors that are told in a line; of rooms that have not been loaded none can have been raised."""
    found: list[type[Exception]] = [CollectionError, UnknownMetricError, StateError, UsageError, OSError]
    for room, name in (
        ("planning.fleet", "FleetError"),
        ("planning.truth", "TruthError"),
        ("telling.remote", "RemoteError"),
        ("store", "StoreError"),
    ):
        if loaded := sys.modules.get(f"deniable_aggregator.{room}"):
            found.append(getattr(loaded, name))
    return tuple(found)


@cache
def _parser() -> Parser:
    parser = Parser(prog="deniable", description="Telemetry that the people it counts can deny.")
    parser.add_argument("--version", action="version", version=f"deniable {deniable.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=CommandParser)
    for each in _COMMANDS:
        each.add(commands)
    return parser
