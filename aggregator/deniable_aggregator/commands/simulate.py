"""`deniable simulate`: a fleet of simulated devices that report."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from deniable import Collection
from deniable_aggregator.commands._command import ENDPOINT, command, positive

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable simulate` to the commands, with its options."""
    example = "metrics.toml --devices 100000 --truth truth.toml --endpoint 127.0.0.1:8470"
    parser = command(commands, "simulate", run, "a fleet of simulated devices that report", example)
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file that the aggregator serves")
    parser.add_argument("--devices", type=positive, required=True, help="how many devices report")
    parser.add_argument(
        "--truth",
        required=True,
        metavar="FILE",
        help="what they would answer: TOML, a table for each metric, with its values and weights",
    )
    parser.add_argument("--endpoint", default=ENDPOINT, help="the aggregator (%(default)s)")
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
    from deniable_aggregator.planning.truth import Truth
    from deniable_aggregator.telling.terminal import Progress

    collection = Collection.load(options.collection)
    generator = np.random.default_rng()
    values = Truth.load(options.truth, collection).draw(options.devices, generator)
    progress = Progress("devices that have reported", options.devices)
    epoch = collection.epoch_at(time.time())
    fast = options.devices > fleet.LARGE if options.fast is None else options.fast
    send = fleet.forward if fast else fleet.report
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(send(collection, values, options.endpoint, epoch, generator, progress))
