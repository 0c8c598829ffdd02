"""Pad and sample: a set costs epsilon, however many items it has, and randomized response is raised to use it up."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from deniable.epsilon import Epsilon
from deniable.mechanisms import PadAndSample, RandomizedResponse, SubsetSelection, fitting
from deniable_aggregator.estimators import frequencies
from mechanisms.test_registered import alone

EPSILONS = ("ln 3", 0.01, 1.0, 4.0)
SORTS = tuple(fitting(5 + 3))
"""What can ask for one of the items and paddings that sets have here."""


def sets(mechanism: PadAndSample) -> list[int]:
    """The inputs of all sets."""
    every = range(mechanism.values)
    return [
        mechanism.encode(list(items)) for size in range(mechanism.items + 1) for items in combinations(every, size)
    ]


def worst_ratio(mechanism: PadAndSample) -> Fraction:
    """Of two sets' probabilities of one payload."""
    rows = [[mechanism.probability(payload, value) for payload in mechanism.payloads()] for value in sets(mechanism)]
    assert all(sum(row) == 1 for row in rows)
    worst: Fraction = max(max(column) / min(column) for column in zip(*rows, strict=True))
    return worst


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sort", ["auto", *SORTS])
@pytest.mark.parametrize(("values", "items"), [(2, 1), (4, 2), (5, 3), (3, 3)])
def test_no_two_sets_are_told_apart_by_more_than_epsilon(values: int, items: int, sort: str, epsilon: float) -> None:
    """Exactly, over all sets and payloads, whatever asks for the drawn item."""
    mechanism = PadAndSample(Epsilon.of(epsilon), values, items, sort)
    assert worst_ratio(mechanism) <= mechanism.epsilon.exp


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("values", "items"), [(4, 1), (4, 2), (5, 3)])
def test_randomized_response_uses_up_epsilon(values: int, items: int, epsilon: float) -> None:
    """Raised to 1 + items (e^eps - 1) its worst ratio is e^eps, within a part in 2^50 of what it exceeds 1 by."""
    mechanism = PadAndSample(Epsilon.of(epsilon), values, items, "randomized_response")
    raised = 1 + items * (mechanism.epsilon.exp - 1)
    assert mechanism.inner.epsilon.exp == raised
    assert worst_ratio(mechanism) - 1 >= (mechanism.epsilon.exp - 1) * (1 - Fraction(1, 1 << 50))


def test_other_mechanisms_have_nothing_to_gain() -> None:
    """A bitmap with as many bits as there are slots can name a whole set: its worst ratio is e^eps as it is."""
    mechanism = PadAndSample(Epsilon.of("ln 3"), 6, 2, "subset_selection")
    assert isinstance(mechanism.inner, SubsetSelection)
    assert mechanism.inner.size == 2
    assert worst_ratio(mechanism) > 3 * (1 - Fraction(1, 1 << 50))


def test_paddings_that_are_all_alike_would_break_the_claim() -> None:
    """One padding for every empty slot: the empty set sends it with p, a full one with q, and p / q is raised."""
    mechanism = PadAndSample(Epsilon.of("ln 3"), 4, 2, "randomized_response")
    assert isinstance(mechanism.inner, RandomizedResponse)
    assert mechanism.inner.p / mechanism.inner.q > 4.99  # 1 + 2 (3 - 1) = 5, where 3 is claimed


@pytest.mark.parametrize(
    ("values", "items", "epsilon"), [(20, 5, 1.0), (1000, 5, 1.0), (1000, 10, 2.0), (50, 3, 0.5)]
)
def test_auto_takes_the_least_variance(values: int, items: int, epsilon: float) -> None:
    """Of all sorts that it may choose, but for the few per cent that a category allows a narrow report."""
    sorts = [name for name, sort in fitting(values + items).items() if sort.automatic]

    def variance(sort: str) -> float:
        inner = PadAndSample(Epsilon.of(epsilon), values, items, sort).inner
        return float(inner.q * (1 - inner.q) / (inner.p - inner.q) ** 2)

    assert variance("auto") <= 1.03 * min(variance(sort) for sort in sorts)


def test_randomized_response_is_several_times_as_accurate_for_small_lists() -> None:
    """Up to 5 of 20 values at epsilon 1: a seventh of the variance that subset selection has at the same epsilon."""
    inner = PadAndSample(Epsilon.of(1.0), 20, 5).inner
    plain = SubsetSelection.best(Epsilon.of(1.0), 25)
    assert isinstance(inner, RandomizedResponse)
    assert 7 * inner.q * (1 - inner.q) / (inner.p - inner.q) ** 2 < plain.variance


@pytest.mark.parametrize("sort", ["auto", *SORTS])
def test_p_and_q_are_those_of_the_channel(sort: str) -> None:
    """Any item of a set is supported with p, any other value with q, whatever else is in the set.

    A payload supports the answers that make it the likeliest; where all make it as likely, the estimator says which.
    """
    mechanism = PadAndSample(Epsilon.of(1.0), 4, 2, sort)
    inner = mechanism.inner
    supports = {
        payload: frequencies(mechanism, alone(mechanism, payload)).supports.tolist() for payload in inner.payloads()
    }
    for payload, own in supports.items():
        chances = [inner.probability(payload, answer) for answer in range(6)]
        assert own == [chance == max(chances) for chance in chances[:4]] or len(set(chances)) == 1
    for value in sets(mechanism):
        held = mechanism.slots(value)
        for answer in range(4):
            chance = sum(mechanism.probability(payload, value) for payload, own in supports.items() if own[answer])
            assert chance == (mechanism.p if answer in held else mechanism.q)


def test_slots_hold_the_items_then_paddings() -> None:
    """Each slot's padding is its own, and an item that is given twice counts once: no two slots hold the same."""
    mechanism = PadAndSample(Epsilon.of(1.0), 10, 4)
    assert mechanism.slots(mechanism.encode([])) == [10, 11, 12, 13]
    assert mechanism.slots(mechanism.encode([3, 7])) == [3, 7, 12, 13]
    assert mechanism.slots(mechanism.encode([0, 1, 2, 9])) == [0, 1, 2, 9]
    assert mechanism.slots(mechanism.encode([5, 5])) == [5, 11, 12, 13]
    small = PadAndSample(Epsilon.of(1.0), 3, 3)
    assert all(len(set(small.slots(value))) == 3 for value in range(small.inputs))


def test_a_large_epsilon_is_raised_to_a_limit() -> None:
    """Beyond e^31 to one nothing is gained, and the claim still holds."""
    mechanism = PadAndSample(Epsilon.of(31.5), 4, 3, "randomized_response")
    assert mechanism.inner.epsilon.value <= 31
    assert worst_ratio(mechanism) <= mechanism.epsilon.exp


@pytest.mark.parametrize(("values", "items"), [(3, 0), (3, 4), (1, 2)])
def test_slots_are_at_most_as_many_as_values(values: int, items: int) -> None:
    """More would be empty always; fewer than one ask for nothing."""
    with pytest.raises(ValueError, match=f"of {values} values a set has 1 to {values}, not {items}"):
        PadAndSample(Epsilon.of(1.0), values, items)


@pytest.mark.parametrize("sort", SORTS)
def test_what_an_inner_mechanism_does_not_say_is_no_less_than_it_is(
    sort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often two reports of a set are the same: a new mechanism may not say it, and is bounded by its payloads."""
    mechanism = PadAndSample(Epsilon.of(1.0), 6, 2, sort)
    known = mechanism.collision
    monkeypatch.setattr(type(mechanism.inner), "sorts", None)
    assert known <= mechanism.collision <= 3 * known
