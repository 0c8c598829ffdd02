"""A truth that is made of a collection alone: of every kind, and of every way to ask it."""

from __future__ import annotations

import numpy as np
import pytest

from deniable import Collection
from deniable.kinds import KINDS
from deniable_aggregator.planning.plausible import PLAUSIBLE, plausible
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.planning.start import QUESTIONS, start
from deniable_aggregator.planning.truth import Truth
from planning.everything import EVERYTHING

STARTED = Collection.loads(start("started", list(QUESTIONS), "metrics.toml"))


def test_every_kind_that_is_recorded_for_has_values() -> None:
    """A kind that is added needs some, too; what is fed has what its sources have."""
    assert PLAUSIBLE.keys() == {name for name, kind in KINDS.items() if not kind.takes}


@pytest.mark.parametrize("collection", [EVERYTHING, STARTED], ids=lambda own: own.name)
def test_it_is_a_truth_file_of_its_collection(collection: Collection) -> None:
    """It loads, the first values are the most frequent, more than one of each occurs, and devices can answer it."""
    truth, generator = Truth.loads(plausible(collection), collection), np.random.default_rng(1)
    drawn = truth.draw(50, generator)
    assert drawn.keys() == collection.metrics.keys()
    for values, weights in truth.values.values():
        assert 2 <= len(values) == len(weights) <= 12
        assert weights == sorted(weights, reverse=True)
        assert weights[-1] > 0
    if collection is STARTED:
        for name, own in drawn.items():
            assert simulate(collection.metrics[name], own, generator)
