"""`deniable ledger`: what a device has spent and sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable_aggregator.commands._command import command

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable ledger` to the commands, with its options."""
    parser = command(
        commands,
        "ledger",
        run,
        "what a device has spent and sent, as `python -m deniable` shows it",
        "app-state.db",
    )
    parser.add_argument("state", type=Path, metavar="STATE", help="the file that the application's client keeps")
    parser.add_argument("--sent", action="store_true", help="every report that has left the device, in words")


def run(options: Any) -> None:
    """Run `deniable ledger` with the options that were given."""
    from deniable.person import ledger, transcript
    from deniable.person.device import look

    print("\n".join((transcript if options.sent else ledger).lines(look(options.state))))
