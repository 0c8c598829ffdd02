"""`deniable simulate`: a fleet of simulated devices that report."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Any

from deniable import Collection
from deniable_aggregator.commands._command import ENDPOINT, UsageError, command, positive

if TYPE_CHECKING:
    from deniable_aggregator.planning.truth import Truth

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable simulate` to the commands, with its options."""
    example = "metrics.toml --devices 100000 --endpoint 127.0.0.1:8470"
    parser = command(commands, "simulate", run, "a fleet of simulated devices that report", example)
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file that the aggregator serves")
    parser.add_argument(
        "--devices",
        type=positive,
        required=True,
        help="how many devices there are; where the collection asks a part of them, these report",
    )
    parser.add_argument(
        "--truth",
        metavar="FILE",
        help="what they would answer: TOML, a table for each metric, with its values and weights "
        "(docs/collections.md); without it a plausible one is made, and written to standard output",
    )
    parser.add_argument("--endpoint", default=ENDPOINT, help="the aggregator (%(default)s)")
    parser.add_argument(
        "--among-real", action="store_true", help="report to a store that is not for simulated devices, too"
    )
    parser.add_argument(
        "--fast",
        action=argparse.BooleanOptionalAction,
        help="draw many devices at once and send all batches through one stream (what large fleets do)",
    )


def run(options: Any) -> None:
    """Run `deniable simulate` with the options that were given."""
    import asyncio
    import time

    import numpy as np

    from deniable_aggregator.planning import fleet
    from deniable_aggregator.planning.population import taking_part
    from deniable_aggregator.telling.terminal import Progress

    collection = Collection.load(options.collection)
    truth = _truth(options, collection)
    if not options.among_real:
        _check_simulated(options, collection)
    generator = np.random.default_rng()
    values = truth.draw(options.devices, generator)
    own = taking_part(collection, values, generator)
    devices = len(next(iter(own.values())))
    if collection.sample < 1:
        print(f"{devices:,} of {options.devices:,} devices are drawn by their coins.", file=sys.stderr)
    progress = Progress("devices that have reported", devices)
    epoch = collection.epoch_at(time.time())
    fast = devices > fleet.LARGE if options.fast is None else options.fast
    send = fleet.forward if fast else fleet.report
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(send(collection, own, options.endpoint, epoch, generator, progress))


def _truth(options: Any, collection: Collection) -> Truth:
    """What devices would answer: as the file says, or plausibly, which is shown."""
    from deniable_aggregator.planning.plausible import plausible
    from deniable_aggregator.planning.truth import Truth

    if options.truth:
        return Truth.load(options.truth, collection)
    text = plausible(collection)
    print(text, end="")
    if sys.stdout.isatty():
        print("This is made up; --truth FILE takes another one. What follows is about it.", file=sys.stderr)
    return Truth.loads(text, collection)


def _check_simulated(options: Any, collection: Collection) -> None:
    """A UsageError where simulated devices would be counted with real ones."""
    from deniable_aggregator.telling.remote import Reader

    with Reader(options.endpoint) as reader:
        known = reader.collections()
    if not (known and known[0].simulated):  # one that serves nothing yet is not known to be
        raise UsageError(
            f"the store of {options.endpoint} is not for simulated devices, which would be counted in "
            f"{collection.name} for good: deniable serve {options.collection} --simulated --data ./simulated begins "
            "one that is; or say --among-real"
        )
