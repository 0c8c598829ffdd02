"""What a look costs: forty metrics over ninety epochs, counted."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest

from deniable import Collection
from support.counting import Calls
from support.site import Running, running
from support.waiting import PATIENCE

EPOCHS = 90
KINDS = (
    'kind = "boolean"\nmemoize = true',
    'kind = "category"\nvalues = ["a", "b", "c", "d", "e"]',
    'kind = "number"\nrange = [0, 100]',
    'kind = "boolean"',
)
COLLECTION = Collection.loads(
    '[collection]\nname = "big"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 100\n'
    + "".join(f'[metrics.m{n:03}]\ndescription = "It"\nepsilon = 1\n{KINDS[n % 4]}\n' for n in range(40))
)


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """Ninety epochs of a hundred metrics, their counters read once."""
    from benchmarks.answers import counters  # it loads pandas, which looking for tests needs not

    generator = np.random.default_rng(3)
    today = COLLECTION.epoch_at(time.time())
    with running(COLLECTION) as started:
        for epoch in range(today - EPOCHS + 1, today + 1):
            own = {metric.name: counters(metric.columns[0], generator) for metric in COLLECTION.metrics.values()}
            started.put(COLLECTION, epoch, own, batches=10)
        analyst = started.analyst_of(started.server.store)
        epochs = range(today - EPOCHS + 1, today + 1)
        started.wait_for(analyst._counters.read(COLLECTION, list(COLLECTION.metrics.values()), epochs))
        yield started


def spent(aggregator: Running, path: str) -> tuple[int, int]:
    """How many functions the server calls for an answer, and the answer's length."""
    counter = Calls()

    async def begin() -> None:
        counter.begin()

    async def end() -> None:
        counter.end()

    aggregator.wait_for(begin())
    with urllib.request.urlopen(aggregator.url + path, timeout=PATIENCE) as response:
        length = len(response.read())
    aggregator.wait_for(end())
    return counter.number, length


def test_the_first_view_of_a_large_collection_costs_little_for_each_answer(aggregator: Running) -> None:
    """Forty answers over ninety days with their trends, none of which was ever asked for: 3,640 estimates, of at
    most 400 calls each; asked for again, a tenth of that."""
    path = f"/api/v1/collections/big/overview?last={EPOCHS}&trend={EPOCHS}&rows=8&confidence=0.95"
    first, _ = spent(aggregator, path)
    assert first < 3_640 * 400
    again, length = spent(aggregator, path)
    assert again < first / 10
    assert length < 400_000


def test_a_scrape_of_a_large_collection_estimates_what_has_changed(aggregator: Running) -> None:
    """All series of forty metrics; when one has just changed, that costs less than to write all others down."""
    spent(aggregator, "/metrics")
    same, length = spent(aggregator, "/metrics")
    aggregator.put(COLLECTION, COLLECTION.epoch_at(time.time()), {"m000": [1, 0]})
    changed, _ = spent(aggregator, "/metrics")
    assert changed < 3 * same
    assert length < 120_000
