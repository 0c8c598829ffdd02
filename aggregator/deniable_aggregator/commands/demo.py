"""`deniable demo`: a simulated fleet against a real aggregator."""

from __future__ import annotations

from typing import Any

from deniable_aggregator.commands._command import ENDPOINT, add_http, command, listening, positive

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable demo` to the commands, with its options."""
    parser = command(commands, "demo", run, "a simulated fleet against a real aggregator", "--devices 10000")
    parser.add_argument("--devices", type=positive, default=10_000, help="how many devices there are (10,000)")
    parser.add_argument(
        "--sample", metavar="PART", help="have a part of them take part in each epoch, by coins of their own: 0.5"
    )
    parser.add_argument("--once", action="store_true", help="exit after the table")
    parser.add_argument("--listen", default=ENDPOINT, type=listening, help=f"where to serve ({ENDPOINT})")
    add_http(parser)


def run(options: Any) -> None:
    """Run `deniable demo` with the options that were given."""
    import asyncio

    from deniable_aggregator import demo

    asyncio.run(demo.run(options.devices, options.once, options.listen, options.http, options.sample))
