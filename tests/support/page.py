"""The fleet of an editor, whose aggregator's page tests look at: what it is asked, and what it has reported."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, expect

import deniable as sdk
from deniable import Collection, Metric
from deniable_aggregator.planning.simulate import simulate
from support.collection_files import head, metric
from support.site import Running, running
from support.stored import Counted
from support.waiting import PATIENCE

__all__ = ["EDITOR", "QUIET", "TEXT", "fleet", "report", "shown"]

TEXT = (
    head("editor", 23.0, platform=["linux", "macos", "windows"])
    + metric("browser", "category", "The default browser", values=["chrome", "edge", "firefox", "safari", "other"])
    + metric("crashed", "boolean", "The editor crashed today", epsilon="ln 3", expires=date(2020, 1, 1))
    + metric("dark_mode", "boolean", "The dark theme is on", memoize=True)
    + metric("minutes", "number", "Minutes in the foreground", range=[0, 480], unit="minutes")
    + metric("commands", "count", "Commands run from the palette", max=200)
    + metric(
        "delays", "distribution", "How late trains were", range=[-10, 110], buckets=60, unit="minutes", epsilon=2.0
    )
    + metric("features", "flags", "What is switched on", flags=["minimap", "telemetry", "vim", "wrap"], epsilon=2.0)
    + metric("weights", "vector", "How much each panel is used", dimensions=3, clip=1.0, norm="l1", epsilon=2.0)
    + metric("mood", "ordinal", "How the day was", values=["poor", "fair", "good"])
    + metric(
        "tongues", "set", "Languages of the interface that were tried", values=["de", "en", "fr", "ja"], max_items=2
    )
    + metric("region", "tree", "Where it is", paths=["north/a", "north/b", "south"], epsilon=2.0)
    + metric("silent", "boolean", "Nobody has answered this yet")
    + metric("timid", "boolean", "Hardly anybody has answered this yet")
    + metric(
        "zip",
        "category",
        "The first two digits of the postal code",
        values=[f"{number:02}" for number in range(100)],
        epsilon=2.0,
    )
)
"""What the editor asks, as its file has it."""
EDITOR = Collection.loads(TEXT)
QUIET = {"silent", "timid"}
"""Of which nothing has come, and of which little."""
SHARES = {"browser": [0.5, 0.14, 0.09, 0.18, 0.09], "crashed": [0.98, 0.02], "dark_mode": [0.4, 0.6]}
BEFORE = {"crashed": [0.4, 0.6]}
"""What has changed today: a difference of twelve standard errors."""
OTHERS: dict[str, list[Any]] = {
    "delays": [-8, 0, 0, 5, 5, 20, 45, 120],
    "commands": [0, 3, 12, 40],
    "features": [["vim"], ["wrap", "minimap"], []],
    "weights": [[0.5, 0.25, 0.0], [0.0, 0.1, 0.6]],
    "region": ["north/a", "north/a", "south"],
    "tongues": [["en"], ["en", "de"], ["fr"]],
}
"""Answers of the kinds that are not drawn by share."""


def reported(metric: Metric, devices: int, generator: np.random.Generator, ago: int = 0) -> list[np.ndarray]:
    """What so many devices' reports add up to."""
    if metric.name in OTHERS:
        values = [OTHERS[metric.name][each % len(OTHERS[metric.name])] for each in range(devices)]
    elif metric.kind.name == "number":
        values = generator.gamma(2, 40, devices).clip(0, 480).tolist()
    elif metric.kind.name == "boolean":
        shares = (BEFORE | SHARES if not ago else SHARES | BEFORE).get(metric.name, [0.5, 0.5])
        values = (generator.random(devices) < shares[1]).tolist()
    else:
        names = metric.kind.parameters()["values"]
        values = generator.choice(names, devices, p=SHARES.get(metric.name)).tolist()
    return simulate(metric, values, generator)


@contextlib.contextmanager
def fleet() -> Iterator[Running]:
    """An aggregator with nine days of nine hundred devices."""
    generator = np.random.default_rng(7)
    today = EDITOR.epoch_at(time.time())
    with running(EDITOR) as started:
        for ago in range(9):
            for segment in range(3):
                asked = [metric for metric in EDITOR.metrics.values() if metric.name not in QUIET]
                counters: dict[str, Counted] = {
                    metric.name: reported(metric, 300, generator, ago) for metric in asked
                }
                if not ago and not segment:
                    counters["timid"] = [0, 1]  # a device says yes: 158.20% comes out
                started.put(EDITOR, today - ago, counters, segment, batches=300)
        yield started


def report(aggregator: Running, state: Path, metric: str) -> None:
    """A device says yes."""
    where: dict[str, Any] = {"endpoint": aggregator.endpoint, "state": state, "segment": {"platform": "linux"}}
    client = sdk.Client(EDITOR, consent=sdk.Consent.GRANTED, **where)
    client.record(metric, True)
    assert client.flush(PATIENCE)
    client.close()


def shown(page: Page, path: str) -> None:
    """Open a page and wait for its answers, and for the charts that are in view."""
    page.goto(path)
    expect(page.locator("#freshness[data-state=live]")).to_be_visible()
    expect(page.locator(".wait")).to_have_count(0)
