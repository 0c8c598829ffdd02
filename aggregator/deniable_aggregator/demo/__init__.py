"""The demo: a fleet of simulated devices against a real aggregator on an embedded store."""

from __future__ import annotations

import asyncio
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from deniable import Collection
from deniable_aggregator.answers import Target, truth
from deniable_aggregator.catalog import Catalog
from deniable_aggregator.digits import decimals, text
from deniable_aggregator.estimate_service import estimates_of
from deniable_aggregator.planning import fleet
from deniable_aggregator.planning.truth import Truth
from deniable_aggregator.query import Analyst, Answer, Query, analyst_of
from deniable_aggregator.server import Server, Settings, layout_of
from deniable_aggregator.terminal import Progress, table

__all__ = ["run"]


def _loaded() -> tuple[Collection, Truth]:
    with as_file(files(__package__)) as room:
        collection = Collection.load(room / "metrics.toml")
        return collection, Truth.load(room / "truth.toml", collection)


async def run(devices: int, once: bool, listen: str) -> None:
    """Start an aggregator, let a fleet report to it, show what comes out beside the truth, and keep serving."""
    collection, of_fleet = _loaded()
    analysts = analyst_of(Catalog([collection]))
    with tempfile.TemporaryDirectory(prefix="deniable-demo-") as directory:
        settings = Settings(listen="127.0.0.1:0" if once else listen, data_dir=Path(directory), grace=1.0)
        server = Server(settings, [layout_of(collection)], [estimates_of(analysts)])
        await server.start()
        try:
            endpoint = f"127.0.0.1:{server.port}"
            print(await _reported(collection, of_fleet, devices, endpoint, analysts(server.store)))  # noqa: T201
            if not once:
                print(  # noqa: T201
                    f"\nServing on {endpoint}; ask it yourself, in another terminal:\n"
                    "    .venv/bin/deniable estimates\nCtrl-C ends the demo."
                )
                await _interrupted()
        finally:
            await server.drain()


async def _reported(collection: Collection, of_fleet: Truth, devices: int, endpoint: str, analyst: Analyst) -> str:
    generator = np.random.default_rng()
    values = of_fleet.draw(devices, generator)
    epoch = collection.epoch_at(time.time())
    progress = Progress("devices that have reported", devices)
    send = fleet.forward if devices > fleet.LARGE else fleet.report
    await send(collection, values, endpoint, epoch, generator, progress)
    answers = await analyst.answers(collection.name, Query(last_epoch=epoch, target=Target.REPORTING))
    return _shown(collection, answers, values, devices)


async def _interrupted() -> None:
    end = asyncio.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(ending, end.set)
    await end.wait()


def _shown(collection: Collection, answers: list[Answer], values: Mapping[str, Sequence[Any]], devices: int) -> str:
    rows, held = [], 0
    for found in answers:
        metric = collection.metrics[found.estimate.metric]
        for row, true in zip(found.estimate.rows, truth(metric, values[metric.name]), strict=True):
            holds = row.low <= true <= row.high
            held += holds
            shown = [
                text(each, row.measure, decimals(metric, row.measure))
                for each in (true, row.value, row.low, row.high)
            ]
            rows.append(
                [
                    f"{metric.name}: {row.label}",
                    shown[0],
                    shown[1],
                    f"{shown[2]} to {shown[3]}",
                    "yes" if holds else "no",
                    str(metric.epsilon),
                ]
            )
    header = ("answer", "truth", "estimate", "95% interval", "holds the truth", "epsilon spent")
    right = (False, True, True, True, False, True)
    spent = sum(float(metric.epsilon) for metric in collection.metrics.values())
    return (
        f"\n{devices:,} devices answered; each told its answers through noise of its own, and spent "
        f"{spent:.3g} of its budget of {float(collection.budget.epoch):g} for the day.\n\n"
        f"{table(header, rows, right)}\n\n"
        f"{held} of {len(rows)} intervals hold the truth; 95% of all such intervals do."
    )
