"""What the SDK costs an application and its device while it runs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers import ROOT
from deniable import Client, Collection, Consent, Settings

__all__ = ["measure"]

TEXT = """\
# What the client costs

| what | time |
|---|---|
{rows}

Recording is in memory, the median over {rounds} rounds of the mean of {times:,} calls; all else happens on the
worker's thread. A day of {metrics} metrics is sealed in one transaction, which is on the disk when it has ended:
reduced, charged, randomised, queued and noted in the transcript. After a year of days with {metrics} metrics the
state file has {size:.0f} kB.
"""
ROUNDS = 9
TIMES = 20_000
DAYS = 365
DAY = 86400.0
VALUES: dict[str, tuple[str, Any]] = {
    "boolean": ("", True),
    "category": (f"values = {[f'v{number}' for number in range(48)]}", "v17"),
    "number": ("range = [0, 480]", 12.5),
    "count": ("max = 100", 1),
    "flags": ('flags = ["a", "b", "c", "d"]', ("a", "c")),
    "set": (f"max_items = 3\nvalues = {[f'v{number}' for number in range(48)]}", ("v1", "v3")),
}


def collection() -> Collection:
    """A metric of each of these kinds."""
    metrics = "".join(
        f'[metrics.{kind}]\nkind = "{kind}"\ndescription = "d"\nepsilon = 1\n{more}\n'
        for kind, (more, _) in VALUES.items()
    )
    head = '[collection]\nname = "cost"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 20\n'
    return Collection.loads(head + metrics)


def recording(client: Client, metric: str, value: Any) -> float:
    """Microseconds of one record."""
    means = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        for _ in range(TIMES):
            client.record(metric, value)
        means.append((time.perf_counter() - before) / TIMES)
    return median(means) * 1e6


def a_year(path: Path, asked: Collection) -> tuple[float, int]:
    """Milliseconds to seal a day, and the bytes of the state file after a year."""
    now = [1_800_000_000.0]
    settings = Settings(clock=lambda: now[0], write_behind=3600.0, count_ci=True)
    sealed = []
    with Client(asked, state=path, consent=Consent.GRANTED, settings=settings) as client:
        for _ in range(DAYS):
            for metric, (_, value) in VALUES.items():
                client.record(metric, value)
            now[0] += DAY
            sealed.append(timed(client.flush))
    return median(sealed) * 1e3, path.stat().st_size


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def measure() -> str:
    """The table."""
    asked = collection()
    rows = []
    with Client(asked, consent=Consent.GRANTED, settings=Settings(count_ci=True)) as client:
        for kind, (_, value) in VALUES.items():
            rows.append(f"| record a {kind} | {recording(client, kind, value):.2f} µs |")
    with Client(asked, consent=Consent.WITHHELD) as client:
        rows.append(f"| record, consent withheld | {recording(client, 'boolean', True):.2f} µs |")
    example = ROOT / "examples/editor.toml"
    loading = median(timed(lambda: Collection.load(example)) for _ in range(ROUNDS))
    rows.append(f"| load a collection of {len(Collection.load(example).metrics)} metrics | {loading * 1e3:.1f} ms |")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "device.db"
        sealing, size = a_year(path, asked)
        rows.append(f"| seal a day of {len(VALUES)} metrics | {sealing:.1f} ms |")
        making = median(timed(lambda: Client(asked, state=path).close()) for _ in range(ROUNDS))
    rows.append(f"| make a client on its file, and close it | {making * 1e3:.1f} ms |")
    return TEXT.format(rounds=ROUNDS, times=TIMES, rows="\n".join(rows), metrics=len(VALUES), size=size / 1e3)
