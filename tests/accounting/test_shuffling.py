"""What a report tells among many that somebody trusted has mixed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from deniable.epsilon import Epsilon
from deniable.mechanisms import Exponential, RandomizedResponse, SubsetSelection
from deniable_aggregator.accounting import shuffled, shuffled_delta, variation
from support.cases import ONE

DELTA = 1e-6


def stated(epsilon: float, answers: int, size: int) -> float:
    """The variation of subset selection as the paper has it."""
    odds, own = math.exp(epsilon), math.comb(answers - 1, size - 1)
    both = math.comb(answers - 2, size - 2) if size > 1 else 0
    return (odds - 1) * (own - both) / (odds * own + math.comb(answers - 1, size))


@pytest.mark.parametrize(
    ("devices", "epsilon", "size", "any_mechanism", "subset"),
    [
        (10**4, 1, 17, 0.04321, 0.02992),
        (10**5, 1, 17, 0.01243, 0.00857),
        (10**5, 2, 8, 0.03319, 0.02327),
        (10**5, 4, None, 0.11816, 0.07899),
        (10**6, 1, 17, 0.00352, 0.00241),
        (10**6, 4, None, 0.03429, 0.02287),
    ],
)
def test_the_bound_has_the_figures_of_its_paper(
    devices: int, epsilon: int, size: int | None, any_mechanism: float, subset: float
) -> None:
    """As the authors' program has them, which adds up to a hundredth to delta: within 0.2% or half a digit."""
    asked = Epsilon.of(epsilon)
    mechanism = SubsetSelection(asked, 64, size) if size else SubsetSelection.best(asked, 64)
    spread = variation(mechanism)
    assert spread == pytest.approx(stated(epsilon, 64, mechanism.size), rel=1e-9)
    found = shuffled(epsilon, math.tanh(epsilon / 2), devices, DELTA)
    assert found == pytest.approx(any_mechanism, rel=2e-3, abs=5e-6)
    assert found <= any_mechanism + 5e-6
    assert shuffled(epsilon, spread, devices, DELTA) == pytest.approx(subset, rel=2e-3, abs=5e-6)


@pytest.mark.parametrize("spread", [0.1, 0.3, math.tanh(0.5)])
@pytest.mark.parametrize("devices", [1, 2, 12])
def test_it_is_the_sum_over_all_that_can_be_seen(devices: int, spread: float) -> None:
    """By definition, from both laws of the pair, number by number."""
    odds = math.e
    r = spread / (odds - 1)
    one, other = np.zeros((devices + 1, devices + 1)), np.zeros((devices + 1, devices + 1))
    for clones in range(devices):
        for first in range(clones + 1):
            chance = binom.pmf(clones, devices - 1, 2 * r) * binom.pmf(first, clones, 0.5)
            for law, here, there in ((one, odds * r, r), (other, r, odds * r)):
                law[first + 1, clones - first] += chance * here
                law[first, clones - first + 1] += chance * there
                law[first, clones - first] += chance * (1 - r - odds * r)
    assert one.sum() == pytest.approx(1)
    for kept in (0.0, 0.2, 0.7, 0.95):
        expected = np.maximum(one - math.exp(kept) * other, 0).sum()
        assert shuffled_delta(kept, 1.0, spread, devices) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("devices", [10, 100, 1000])
def test_it_holds_for_randomized_response(devices: int) -> None:
    """What the number of yeses tells of one device, exactly, where all others say no: never more."""
    coins = RandomizedResponse(ONE, 2)
    yeses, truth = np.arange(devices + 1), float(coins.p)
    others = binom.pmf(yeses, devices - 1, 1 - truth)
    with_one = np.concatenate([[0.0], others[:-1]])
    yes, no = truth * with_one + (1 - truth) * others, (1 - truth) * with_one + truth * others
    for kept in (0.0, 0.1, 0.3, 0.5):
        odds = math.exp(kept)
        told = max(np.maximum(yes - odds * no, 0).sum(), np.maximum(no - odds * yes, 0).sum())
        assert told <= shuffled_delta(kept, 1.0, variation(coins), devices)


def test_no_report_is_worse_for_being_shuffled() -> None:
    """Alone it keeps its own epsilon; among more it keeps less."""
    alone, *more = (shuffled(1.0, math.tanh(0.5), devices, DELTA) for devices in (1, 100, 10_000, 10**6))
    assert more == sorted(more, reverse=True)
    assert max(more) <= alone <= 1.0
    with pytest.raises(ValueError, match="not shuffled"):
        shuffled(1.0, 0.4, 0, DELTA)


def test_variations() -> None:
    """Of a small channel as it is written out; at a smaller epsilon a report, no more than that allows."""
    assert variation(RandomizedResponse(ONE, 2)) == pytest.approx(math.tanh(0.5))
    ranks = Exponential(ONE, 5)
    rows = [[float(chance) for chance in row.values()] for row in ranks.channel()]
    ends = sum(abs(a - b) for a, b in zip(rows[0], rows[-1], strict=True)) / 2
    assert variation(ranks) == pytest.approx(ends)
    assert variation(RandomizedResponse(ONE, 2), 0.1) == pytest.approx(math.tanh(0.05))
