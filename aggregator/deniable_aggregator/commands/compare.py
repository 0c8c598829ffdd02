"""`deniable compare`: what has changed, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable_aggregator.commands._asking import (
    add_asking,
    add_intervals,
    credentials,
    numbers,
    pairs,
    span,
    window,
    write,
)
from deniable_aggregator.commands._command import command, positive

if TYPE_CHECKING:
    from deniable_aggregator.telling.asking import Before

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable compare` to the commands, with its options."""
    what = "by how much answers differ from those of another window, another segment or a baseline"
    parser = command(commands, "compare", run, what, "dark_mode --last 7d --with 7d")
    parser.add_argument("metric", nargs="?", default="", help="only this metric")
    add_asking(parser)
    add_intervals(parser)
    parser.add_argument("--with", dest="with_last", type=span, metavar="SPAN",
                        help="compare with so long a window before (as long as the window)")  # fmt: skip
    parser.add_argument("--with-from", metavar="DAY", help="compare with the window that begins with this day")
    parser.add_argument("--with-to", metavar="DAY", help="and ends with this one (the one before the window)")
    parser.add_argument("--with-last-epoch", type=positive, metavar="EPOCH", help="an epoch's number, instead")
    parser.add_argument("--segments", nargs=2, metavar=("BEFORE", "AFTER"),
                        help="compare two segments, such as platform=linux platform=windows")  # fmt: skip
    parser.add_argument("--baseline", action="append", default=[], metavar="KEY=NUMBER",
                        help="compare with a number that is known, such as yes=0.3")  # fmt: skip
    known = parser.add_mutually_exclusive_group()
    known.add_argument("--apart", action="store_true", help="no device stands on both sides")
    known.add_argument("--changed", type=float, metavar="PART",
                       help="the same devices stand on both sides, and no more of them answer otherwise")  # fmt: skip
    parser.add_argument("--false-discoveries", type=float, default=0.05, metavar="RATE",
                        help="the part of what is found that may not be there (0.05)")  # fmt: skip


def run(options: Any) -> None:
    """Run `deniable compare` with the options that were given."""
    from deniable_aggregator.telling.remote import Reader
    from deniable_aggregator.telling.terminal import changes

    segment = pairs("--segment", options.segment, "NAME=VALUE, such as platform=linux")
    before: Before = {
        "from_": options.with_from,
        "to": options.with_to,
        "last": options.with_last,
        "last_epoch": options.with_last_epoch,
    }
    if options.segments:
        one, other = (pairs("--segments", [text], "NAME=VALUE twice") for text in options.segments)
        before["segment"], segment = segment | one, segment | other
    with Reader(options.endpoint, credentials=credentials(options)) as reader:
        found = reader.compare(
            options.metric,
            collection=options.collection,
            before=before,
            baseline=numbers("--baseline", options.baseline, "KEY=NUMBER, such as yes=0.3"),
            apart=options.apart,
            changed=options.changed,
            false_discovery_rate=options.false_discoveries,
            **window(options),
            segment=segment,
            confidence=options.confidence,
            target=options.target,
            anytime=options.anytime,
        )
    write(found, options, changes)
