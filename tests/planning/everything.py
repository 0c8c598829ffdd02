"""A collection with every kind, and with every mechanism and shape of payload that one can have."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from deniable import Collection
from deniable_aggregator.planning.population import Population

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
NAMES = [f"value {number}" for number in range(60)]
LIST = str(NAMES).replace("'", '"')
METRICS = {
    "yes": 'kind = "boolean"',
    "yes_remembered": 'kind = "boolean"\nmemoize = true\ninstantaneous_epsilon = 0.5',
    "few": 'kind = "category"\nvalues = ["a", "b", "c"]',
    "subset": f'kind = "category"\nvalues = {LIST}\nmechanism = "subset_selection"',
    "points": f'kind = "category"\nvalues = {LIST}\nmechanism = "projective_geometry"',
    "named": f'kind = "category"\nvalues = {LIST}\nmechanism = "randomized_response"',
    "grade": 'kind = "ordinal"\nvalues = ["1", "2", "3", "4", "5"]\nmechanism = "exponential"',
    "subset_remembered": f'kind = "category"\nvalues = {json.dumps(NAMES[:30])}\nmemoize = true\n'
    "instantaneous_epsilon = 4",
    "minutes": 'kind = "number"\nrange = [0, 60]',
    "minutes_bit": 'kind = "number"\nrange = [0, 60]\nmechanism = "one_bit"',
    "minutes_noise": 'kind = "number"\nrange = [0, 60]\nmechanism = "laplace"',
    "launches": 'kind = "count"\nmax = 20',
    "errors": 'kind = "count"\nprivacy_unit = "event"',
    "plugins": 'kind = "flags"\nflags = ["a", "b", "c"]\nmechanism = "bitwise_response"',
    "drawn": 'kind = "flags"\nflags = ["a", "b", "c"]\nmechanism = "randomized_response"',
    "plugins_remembered": 'kind = "flags"\nflags = ["a", "b"]\nmemoize = true\ninstantaneous_epsilon = 1\n'
    'mechanism = "bitwise_response"',
    "languages": 'kind = "set"\nvalues = ["a", "b", "c", "d", "e", "f"]\nmax_items = 2',
    "update": 'kind = "vector"\ndimensions = 3\nclip = 1\nnorm = "l2"\ndelta = 1e-9\nfleet = 1000000',
    "weights": 'kind = "vector"\ndimensions = 3\nclip = 1\nnorm = "l1"',
}
VALUES: dict[str, list[Any]] = {
    "yes": [True, False],
    "yes_remembered": [True, False],
    "few": ["a", "c"],
    "subset": NAMES[:2],
    "points": NAMES[-2:],
    "named": NAMES[7:9],
    "grade": ["1", "4"],
    "subset_remembered": NAMES[:2],
    "minutes": [0, 33.3, 60, 75],
    "minutes_bit": [0, 33.3, 60, 75],
    "minutes_noise": [0, 33.3, 60, 75],
    "launches": [0, 7, 20],
    "errors": [0, 3, 1000],
    "plugins": [[], ["a", "c"]],
    "drawn": [[], ["a", "c"]],
    "plugins_remembered": [[], ["b"]],
    "languages": [[], ["b"], ["a", "b", "f"]],
    "update": [[0.5, -0.1, 0], [3, 0, 4]],
    "weights": [[0.5, -0.1, 0], [3, 0, -4]],
}
"""For every metric some values, each as frequent as the others."""


def text(epsilon: float) -> str:
    """The file with all metrics at one epsilon."""
    metrics = [METRIC.format(name=name, epsilon=epsilon, rest=rest) for name, rest in METRICS.items()]
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
