"""How often trials are found, from few that are dear: what is foretold makes it surer, and never wrong."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.foretold import Dear, Often, often, weights

_Floats = NDArray[np.float64]


def _trials(count: int, generator: np.random.Generator) -> tuple[_Floats, _Floats]:
    """Numbers of normal fleets, 3 apart."""
    return generator.normal(0, 1, count), generator.normal(3, 1.2, count)


def _told(count: int, sure: float, generator: np.random.Generator) -> Often:
    """Of trials that are found beyond a reach that grows, and varies by so much besides."""
    before, after = _trials(count, generator)
    reaches = 1.6 + 0.1 * after + sure * generator.normal(size=count)
    dear = Dear(before, after, (after - before) / reaches, after - before > reaches)
    return often(dear, *_trials(20_000, generator))


def _found() -> float:
    """How often they are, by many trials."""
    generator = np.random.default_rng(1)
    before, after = _trials(2_000_000, generator)
    return float(np.mean(after - before > 1.6 + 0.1 * after))


def test_few_trials_that_are_foretold_say_as_much_as_many() -> None:
    """A chance of 0.77 to 0.005, of which 200 trials by themselves know 0.03; beyond five errors, less than one in
    10^6, it does not lie."""
    for seed in range(5):
        told = _told(200, 0.0, np.random.default_rng(seed))
        assert told.error < 0.008
        assert told.chance == pytest.approx(_found(), abs=5 * told.error)


def test_what_is_foretold_badly_is_told_no_better_than_it_is() -> None:
    """Reaches that nobody can foretell: the errors are as large as they are said to be."""
    every = [_told(200, 0.4, np.random.default_rng(seed)) for seed in range(200)]
    chances, errors = np.array(every).T
    assert chances.std() == pytest.approx(errors.mean(), rel=5 / np.sqrt(2 * 200))
    assert errors.mean() > 0.01


def test_sums_are_weighed_as_rows_are_made_of_them() -> None:
    """A row that is a sum of counters and a constant is known from them."""
    generator = np.random.default_rng(2)
    sums = generator.integers(0, 1_000, size=(40, 5)).astype(np.float64)
    own = weights(sums, sums @ [1, 0, -2, 0, 0.5] + 7)
    assert own == pytest.approx([1, 0, -2, 0, 0.5], abs=1e-9)
