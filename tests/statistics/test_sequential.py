"""The test that intervals are held against: how often it is wrong, computed over every way that samples can go."""

from __future__ import annotations

import math
from itertools import repeat

import numpy as np
import pytest
from scipy.stats import binom

from support.sequential import LOOK, Claim, refuted

CLAIM = Claim(0.94, 0.91, 1e-6, 1e-3)
FIXED = 4_000
"""What a test of as many samples whatever they say takes for the same."""


def exactly(claim: Claim, rate: float) -> tuple[float, float]:
    """The chance that the claim is refuted where something holds this often, and how many samples that takes."""
    each = binom.pmf(np.arange(LOOK + 1), LOOK, 1 - rate)
    yes, no = math.log(claim.wrong / claim.right), math.log((1 - claim.wrong) / (1 - claim.right))
    chances, least, taken, found, expected = np.ones(1), 0, 0, 0.0, 0.0
    while len(chances):
        chances, taken = np.convolve(chances, each), taken + LOOK
        misses = least + np.arange(len(chances))
        odds = (taken - misses) * yes + misses * no
        wrong, right = odds >= -math.log(claim.alarm), odds <= math.log(claim.missed)
        found += float(chances[wrong].sum())
        expected += taken * float(chances[wrong | right].sum())
        (open_,) = np.nonzero(~(wrong | right) & (chances > 1e-12))
        chances, least = chances[open_], least + int(open_[0]) if len(open_) else 0
    return found, expected


def test_it_is_wrong_no_more_often_than_it_says() -> None:
    """At the right rate and beyond, and at the wrong one and beyond; in a fifth of the samples of a fixed number."""
    assert [exactly(CLAIM, rate)[0] <= 1e-6 for rate in (0.94, 0.95)] == [True, True]
    assert [exactly(CLAIM, rate)[0] >= 0.999 for rate in (0.91, 0.9)] == [True, True]
    assert exactly(CLAIM, 0.95)[1] < FIXED / 5


def test_it_is_as_strong_as_many_samples_are() -> None:
    """Between the two rates it finds as much as 4,000 samples with as few false alarms, or more."""
    most = int(binom.ppf(CLAIM.alarm, FIXED, CLAIM.right))
    for rate in (0.91, 0.915, 0.92):
        assert exactly(CLAIM, rate)[0] > binom.cdf(most - 1, FIXED, rate) - 1e-3


@pytest.mark.parametrize(
    ("claim", "held", "wrong"),
    [
        (Claim(0.9, 0.5, 1e-6), (True, True), False),
        (Claim(0.9, 0.5, 1e-6), (True, False), True),
        (Claim(0.5, 0.9, 1e-6), (True, False), True),
        (Claim(0.5, 0.9, 1e-6), (False, False), False),
        (Claim(0.4, 0.2, 1e-6, together=True), (True, False), False),
        (Claim(0.6, 0.8, 1e-6, together=True), (True, False), False),
        (Claim(0.7, 0.5, 1e-6, together=True), (True, False), True),
        (Claim(0.9, 0.5, 1e-6, entries=range(1)), (True, False), False),
        (Claim(0.9, 0.5, 1e-6, entries=range(1, 2)), (True, False), True),
    ],
)
def test_each_entry_counts_or_all_do_together(claim: Claim, held: tuple[bool, bool], wrong: bool) -> None:
    """Held too seldom or too often, by itself or on average."""
    assert refuted(repeat(held), claim) == ([(claim, [float(each) for each in held])] if wrong else [])


def test_what_is_not_decided_is_no_pass() -> None:
    """A stream that ends too soon fails."""
    with pytest.raises(AssertionError, match="after 10 samples undecided"):
        refuted([(True,)] * 10, CLAIM)
