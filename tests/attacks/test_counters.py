"""Raw counters: telling them costs by how many there are, as their price says, and an answer has a bound."""

from __future__ import annotations

import pytest

from deniable import Collection
from deniable.kinds import Distribution
from deniable_aggregator.analysis.prices import MOST_COUNTERS, Price, TooDearError
from deniable_aggregator.telling.counters import meanings
from support.editor import HEAD

QUANTITY = 'kind = "distribution"\nrange = [0, 997]\nbuckets = 256\ndescription = "It"\nepsilon = 1\n'
WORDS = "".join(f'[metrics.w{place}]\nkind = "text"\ndescription = "It"\nepsilon = 0.1\n' for place in range(6))


def test_what_counters_mean_costs_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes of a level are named once. Named again for each counter, they took 16 million ends of 4,096 buckets and
    more than a minute, at a price of a quarter of a second."""
    collection, ends, boundary = Collection.loads(f"{HEAD}[metrics.size]\n{QUANTITY}"), 0, Distribution.boundary

    def counted(kind: Distribution, place: int) -> float:
        nonlocal ends
        ends += 1
        return boundary(kind, place)

    monkeypatch.setattr(Distribution, "boundary", counted)
    metric = collection.metrics["size"]
    counters = sum(len(list(meanings(metric, column))) for column in metric.columns)
    assert counters == sum(column.shape.counters for column in metric.columns) > 256
    assert ends < 4 * counters


def test_an_answer_of_counters_has_a_bound() -> None:
    """Six words at once would be a message that no `Reader` takes, made of hundreds of megabytes; one is told."""
    collection = Collection.loads(f"{HEAD}{WORDS}")
    metrics = list(collection.metrics.values())
    counters = sum(column.shape.counters for metric in metrics for column in metric.columns)
    with pytest.raises(TooDearError, match=f"{counters:,} counters, and {MOST_COUNTERS:,} is the most at once: ask"):
        Price(collection, metrics, 1, raw=True).check()
    for metric in metrics:
        assert Price(collection, [metric], 1, raw=True).check() > 0
