"""A collection with every kind, and with every mechanism and shape of payload that one can have."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable import Collection
from deniable_aggregator.planning.population import Population
from mechanisms.registered import ASKED
from support.cases import Asked

__all__ = ["COLLECTION", "EVERYTHING", "TEXT", "VALUES", "collection", "populations"]

COLLECTION = """
[collection]
name = "everything"
epoch = "1d"
owner = "a"
[budget]
epoch = 100
[segments]
channel = ["stable", "beta"]
"""
METRIC = """
[metrics.{name}]
description = "d"
epsilon = {epsilon}
{rest}
"""
KINDS = (
    Asked("few", 'kind = "category"\nvalues = ["a", "b", "c"]', ["a", "c"]),
    Asked("minutes_bit", 'kind = "number"\nrange = [0, 60]\nmechanism = "one_bit"', [0, 33.3, 60, 75]),
    Asked("delays", 'kind = "distribution"\nrange = [0, 100]\nbuckets = 20', [0, 12.5, 33, 99, 140]),
    Asked(
        "region",
        'kind = "tree"\npaths = ["north/a", "north/b", "south", "west/c/d", "west/c/e", "west/f"]',
        ["north/b", "south", "west/c/d"],
    ),
    Asked("word", 'kind = "text"', ["one", "two words", "日本語", "x" * 99]),
    Asked("both", 'kind = "joint"\nof = ["few", "yes"]', [{"few": "a", "yes": True}, {"few": "c", "yes": False}]),
    Asked(
        "paired",
        'kind = "joint"\nof = ["few", "yes", "grade"]\npairs = "yes"',
        [{"few": "b", "yes": True, "grade": "1"}, {"few": "c", "yes": False, "grade": "4"}],
    ),
    Asked("launches", 'kind = "count"\nmax = 20', [0, 7, 20]),
)
"""What kinds ask in further ways; the other metrics are the mechanisms' own."""
METRICS = [each for each in (*ASKED.values(), *KINDS) if each.values]
VALUES: dict[str, list[Any]] = {each.name: list(each.values) for each in METRICS}
"""For every metric some values, each as frequent as the others."""


def text(epsilon: float) -> str:
    """The file with all metrics at one epsilon."""
    metrics = [METRIC.format(name=each.name, epsilon=epsilon, rest=each.table) for each in METRICS]
    return COLLECTION + "".join(metrics)


def collection(epsilon: float) -> Collection:
    """The collection of that file."""
    return Collection.loads(text(epsilon))


TEXT = text(2.0)
EVERYTHING = collection(2.0)


def populations(devices: int, seed: int = 1) -> dict[str, Population]:
    """What so many devices would answer."""
    generator = np.random.default_rng(seed)
    return {
        name: Population([EVERYTHING.metrics[name].kind.check(value) for value in values],
                         generator.integers(len(values), size=devices))
        for name, values in VALUES.items()
    }  # fmt: skip
