"""The demo: a fleet of simulated devices against a real aggregator on an embedded store, with the page open."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from deniable import Collection
from deniable.collection import bundle
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.query import Analyst, analyst_of
from deniable_aggregator.analysis.question import Answer, Query
from deniable_aggregator.answers import DEVICES, SHARES, Estimate, Measure, RowId, Series, share_key
from deniable_aggregator.answers.joint import ASSOCIATION, CONDITIONALS, INDEPENDENCE, MARGINALS
from deniable_aggregator.answers.text import FOUND
from deniable_aggregator.demo.device import keep_recording, why_not
from deniable_aggregator.demo.fleet import Fleet
from deniable_aggregator.demo.lesson import RIGHT
from deniable_aggregator.planning.truth import Truth
from deniable_aggregator.serving.estimate_service import estimates_of
from deniable_aggregator.serving.server import Server, Settings, layout_of
from deniable_aggregator.telling.digits import decimals, text
from deniable_aggregator.telling.few import readings
from deniable_aggregator.telling.terminal import Progress, histogram, table
from deniable_aggregator.web import DebugView, Site

__all__ = ["run"]


_ASKS = "metrics.toml"
"""What the fleet is asked, in this room."""
_NOT_LISTED = {DEVICES, MARGINALS, CONDITIONALS, INDEPENDENCE, FOUND}
"""Series that are told in another way, or follow from others, or have no truth."""
_ASKED = {"load_time": (RowId(SHARES, share_key(above=2000)),)}
"""What somebody who looks at the demo's metrics would ask for besides."""


def _loaded(sample: str | None) -> tuple[Collection, Truth]:
    """The demo's collection, that of a part of the devices if one is said, and what these have."""
    with as_file(files(__package__)) as room:
        text = bundle(room / _ASKS)
        if sample is not None:
            text = text.replace("[collection]\n", f"[collection]\nsample = {sample}\n", 1)
        collection = Collection.loads(text, "the demo's metrics.toml")
        return collection, Truth.load(room / "truth.toml", collection)


async def run(devices: int, once: bool, listen: str, http: str | None, sample: str | None = None) -> None:
    """Start an aggregator, let a fleet report to it, show what comes out beside the truth, and go on."""
    collection, of_today = _loaded(sample)
    epoch = collection.epoch_at(time.time())
    fleet = Fleet(collection, of_today, epoch)
    analysts = analyst_of(Catalog([collection]), fleet.truth)
    site, apart = (None, "") if once or http is None else await _site(http, analysts)
    with tempfile.TemporaryDirectory(prefix="deniable-demo-") as directory:
        settings = Settings(
            listen="127.0.0.1:0" if once else listen, data_dir=Path(directory), grace=1.0, simulated=True
        )
        beside = [site.beside] if site else []
        server = Server(settings, [layout_of(collection)], [estimates_of(analysts)], beside)
        await server.start()
        try:
            endpoint = f"127.0.0.1:{server.port}"

            async def read(epoch: int, name: str) -> Estimate:
                (found,) = await analysts(server.store).answers(collection.name, Query(last_epoch=epoch), name)
                return found.estimate

            await fleet.learn(devices, endpoint, read)
            progress = Progress("devices that have reported", devices)
            await fleet.report(devices, endpoint, epoch, progress)
            answers = [
                each
                for name in collection.metrics
                for each in await analysts(server.store).answers(
                    collection.name,
                    Query(last_epoch=epoch, asked=_ASKED.get(name, ())),
                    name,
                )
            ]
            print(_shown(collection, answers, devices))  # noqa: T201
            print(_learned(fleet, [await read(day, RIGHT) for day in fleet.days]))  # noqa: T201
            if not once:
                _invite(endpoint, site, apart)
                work = [fleet.keep_reporting(devices, endpoint)]
                if site and site.debug_url:
                    work.append(keep_recording(collection, fleet.device))
                await _until_interrupted(asyncio.gather(*work))
        finally:
            await server.drain()


async def _site(http: str, analysts: Callable[[Any], Analyst]) -> tuple[Site, str]:
    """The page, with a debug view; or without, and why."""
    view = DebugView()
    apart = await why_not(view)
    try:
        return Site(http, analysts, demo=True, debug=None if apart else view), apart
    except ValueError as error:
        return Site(http, analysts, demo=True), str(error)


def _invite(endpoint: str, site: Site | None, apart: str) -> None:
    """Say where things are, and open the page where there is somebody to look at it."""
    command = "deniable" if shutil.which("deniable") else sys.argv[0]  # as somebody can type it here
    page = f"The page is at {site.url}, and its fleet keeps reporting. " if site else ""
    print(  # noqa: T201
        f"\n{page}Serving on {endpoint}; ask it yourself, in another terminal:\n"
        f"    {command} estimates --watch\nand what its people are told:\n"
        f"    {command} notice {shlex.quote(str(files(__package__) / _ASKS))}\n"
        f"{_debugging(site, apart)}Ctrl-C ends the demo.",
        flush=True,
    )
    screen = sys.platform in {"darwin", "win32"} or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if site and screen and sys.stdout.isatty():
        webbrowser.open(site.url)


def _debugging(site: Site | None, apart: str) -> str:
    """Where it is to be seen what one device records and would report; or why that is not shown."""
    if site and site.debug_url:
        return f"What one device records, beside what it would report of that, is at\n    {site.debug_url}\n"
    return f"What a device records is not shown: {apart}.\n" if apart else ""


async def _until_interrupted(work: Any) -> None:
    """Go on with something until Ctrl-C, or until it fails."""
    end = asyncio.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(ending, end.set)
    working, ended = asyncio.ensure_future(work), asyncio.create_task(end.wait())
    await asyncio.wait({working, ended}, return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working


def _shown(collection: Collection, answers: list[Answer], devices: int) -> str:
    rows, held, drawings = [], 0, []
    for found in answers:
        metric, estimate = collection.metrics[found.metric.name], found.estimate
        known = dict(zip(estimate.ids, found.truth or (), strict=True))
        every = zip(estimate.by_id.items(), estimate.headings, readings(metric, estimate), strict=True)
        for (where, row), heading, read in every:
            if (heading.ordered and heading.measure is Measure.SHARE) or heading.name in _NOT_LISTED:
                continue
            true, places = known[where], decimals(heading)
            holds = row.low <= true <= row.high
            held += holds
            low, high, asked = (text(each, heading.measure, places) for each in (row.low, row.high, true))
            ends = f"{low} to {high}"
            of = "association of " if heading.name == ASSOCIATION else ""
            rows.append(
                (
                    f"{metric.name}: {of}{row.key}",
                    asked,
                    read.text,
                    ends,
                    "yes" if holds else "no",
                    str(metric.epsilon),
                )
            )
        drawings += [_drawing(metric.name, series, metric.kind.unit) for series in estimate.series
                     if series.heading.ordered and series.heading.adds_up]  # fmt: skip
        drawings += _numbers(found, known)
    header = ("answer", "truth", "estimate", "95% interval", "holds the truth", "epsilon spent")
    right = (False, True, True, True, False, True)
    spent = sum(float(metric.epsilon) for metric in collection.metrics.values())
    drawn = ""
    if own := answers[0].estimate.devices:
        told = f"Of {devices:,} devices {answers[0].estimate.reports:,} were drawn by their coins"
        drawn = f"{told}; by their number there are {own.low:,.0f} to {own.high:,.0f}.\n"
        devices = answers[0].estimate.reports
    return (
        f"\n{drawn}{devices:,} devices answered; each told its answers through noise of its own, and spent "
        f"{spent:.3g} of its budget of {float(collection.budget.epoch):g} for the day.\n\n"
        f"{table(header, rows, right)}\n{''.join(f'{each}{chr(10)}' for each in drawings)}\n"
        f"{_told(held, len(rows))}"
    )


def _told(held: int, rows: int) -> str:
    """How many intervals hold the truth, and why some do not."""
    said = f"{held} of {rows} intervals hold the truth; 95% of all such intervals do."
    if held == rows:
        return said
    why = "one in twenty misses; intervals that never did would be wider than they have to be"
    return f"{said}\nA “no” is as it should be: {why}."


def _learned(fleet: Fleet, answers: Sequence[Estimate]) -> str:
    """How often the models of all days guess right."""
    lines = []
    for number, (day, found) in enumerate(zip(fleet.days, answers, strict=True), 1):
        row, true = found.rows[0], fleet.lesson.right(day)
        said, low, high, known = (text(each, Measure.SHARE, 2) for each in (row.value, row.low, row.high, true))
        lines.append((f"round {number}", known, said, f"{low} to {high}", f"{found.reports:,}"))
    header = ("the model guesses right", "truth", "estimate", "95% interval", "devices")
    return f"\n{table(header, lines, (False, True, True, True, True))}"


def _numbers(found: Answer, known: Mapping[RowId, float]) -> list[str]:
    """The nodes of a tree in whole numbers, beside the truth."""
    lines = []
    for where, row, fitted in zip(found.estimate.ids, found.estimate.rows, found.consistent, strict=True):
        if where.series == DEVICES and fitted is not None:
            depth, name = row.key.count("/"), row.key.removeprefix(f"{row.parent}/")
            lines.append((f"{'  ' * depth}{name}", f"{fitted:,.0f}", f"{known[where]:,.0f}"))
    header = (f"{found.metric.name}: whole numbers", "devices", "truth")
    return [f"\n{table(header, lines, (False, True, True))}\n"] if lines else []


def _drawing(metric: str, series: Series, unit: str) -> str:
    """A histogram."""
    return histogram([{"metric": metric, "key": row.key, "value": row.value, "unit": unit} for row in series.rows])
