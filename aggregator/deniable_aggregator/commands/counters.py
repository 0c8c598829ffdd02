"""`deniable counters`: the raw counters of a running aggregator."""

from __future__ import annotations

from typing import Any

from deniable_aggregator.commands._asking import add_asking, credentials, pairs, window, write
from deniable_aggregator.commands._command import command

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable counters` to the commands, with its options."""
    what = "the raw counters that answers are made of, each with what it counts"
    parser = command(commands, "counters", run, what, "dark_mode --last 7d")
    parser.add_argument("metric", nargs="?", default="", help="only those of this metric")
    add_asking(parser)


def run(options: Any) -> None:
    """Run `deniable counters` with the options that were given."""
    from deniable_aggregator.telling.remote import Reader
    from deniable_aggregator.telling.terminal import counters

    segment = pairs("--segment", options.segment, "NAME=VALUE, such as platform=linux")
    with Reader(options.endpoint, credentials=credentials(options)) as reader:
        found = reader.counters(options.metric, collection=options.collection, **window(options), segment=segment)
    write(found, options, counters)
