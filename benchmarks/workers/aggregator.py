"""What the aggregator does with reports that have arrived."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.workers import serve
from deniable import Collection, Metric
from deniable_aggregator.answers import answer
from deniable_aggregator.ingest import Layout
from deniable_aggregator.ingest.rows import Batch, Lookup, Rows
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.simulate import randomized, simulate
from deniable_aggregator.store import EpochKey

REPORTS = 20
"""Of a batch."""
BATCHES = 1000
"""Of a flush."""
FLEET = 10_000_000
HEAD = '[collection]\nname = "b"\nepoch = "1d"\nowner = "a"\n[budget]\nepoch = 1\n'


def category(domain: int, mechanism: str) -> Metric:
    """A category of so many values at epsilon 1."""
    values = ", ".join(f'"value {number}"' for number in range(domain))
    metric = f'[metrics.m]\nkind = "category"\ndescription = "d"\nepsilon = 1\nvalues = [{values}]\n'
    return Collection.loads(f'{HEAD}{metric}mechanism = "{mechanism}"\n').metrics["m"]


def everybody(metric: Metric, devices: int) -> Population:
    """Devices with uniform values."""
    values: list[str] = metric.kind.parameters()["values"]
    return Population(values, np.random.default_rng(1).integers(len(values), size=devices))


def accumulating(domain: int, mechanism: str) -> Callable[[int], None]:
    """Check and add up the reports of a flush: a thousand devices, each of which answers twenty such categories."""
    metric = category(domain, mechanism)
    (sent,) = randomized(metric, everybody(metric, BATCHES * REPORTS), np.random.default_rng(2))
    shape = metric.columns[0].shape
    table = Lookup(Layout("b", 0, 86_400, 1, tuple((f"m{number}", shape) for number in range(REPORTS))))
    batches = []
    for start in range(0, BATCHES * REPORTS, REPORTS):
        each = [sent._replace(payloads=sent.payloads[start + place : start + place + 1]) for place in range(REPORTS)]
        wide = [row for place, one in enumerate(each) if shape.wide for row in one.wide_rows(place)]
        rows = b"" if shape.wide else np.concatenate([one.rows(place) for place, one in enumerate(each)]).tobytes()
        batches.append(Batch(b"", table, EpochKey(0, 0), 0, rows, wide))
    every = np.ones(BATCHES, dtype=np.bool_)

    def work(count: int) -> None:
        for _ in range(count // (BATCHES * REPORTS)):
            rows = Rows(batches)
            if rows.malformed():
                raise ValueError("a batch is malformed")
            rows.additions(every)

    return work


def estimating() -> Callable[[int], None]:
    """Make the answer of a category of 1,024 values from the counters of ten million reports."""
    metric = category(1024, "auto")
    counters = simulate(metric, everybody(metric, FLEET), np.random.default_rng(3))

    def work(count: int) -> None:
        for _ in range(count):
            answer(metric, counters)

    return work


if __name__ == "__main__":
    serve(
        {
            "estimate": estimating(),
            "accumulate-auto-64": accumulating(64, "auto"),
            "accumulate-points-64": accumulating(64, "projective_geometry"),
            "accumulate-auto-1024": accumulating(1024, "auto"),
        }
    )
