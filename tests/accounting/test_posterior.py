"""What is believed after a report: exactly, from the channel, and by the bounds of its epsilon."""

from __future__ import annotations

import math

import pytest

from deniable.epsilon import Epsilon
from deniable.mechanisms import Laplace, RandomizedResponse, SubsetSelection
from deniable.odds import believed
from deniable_aggregator.accounting import after, belief, beliefs
from support.cases import ONE

COINS = RandomizedResponse(Epsilon.of("ln 3"), 2)


def test_the_survey_with_two_coins() -> None:
    """Golden: a prior of 2% becomes 5.77% by a yes and 0.68% by a no, and the channel is [[3/4, 1/4], [1/4, 3/4]]."""
    assert [[float(chance) for chance in row.values()] for row in COINS.channel()] == [[0.75, 0.25], [0.25, 0.75]]
    told = beliefs(COINS, 0.02)
    assert told is not None
    (no, after_no), (yes, after_yes) = told[1]
    assert (after_yes, after_no) == pytest.approx((0.057692, 0.006757), abs=5e-7)
    assert (yes, no) == pytest.approx((0.26, 0.74))
    assert after(0.02, float(COINS.p), float(COINS.q)) == after_yes
    assert belief(0.02, math.log(3))[1:3] == pytest.approx((after_no, after_yes))


@pytest.mark.parametrize(
    ("epsilon", "exact", "loose"),
    [(0.1, (0.376257, 0.424222), (0.361935, 0.442068)), (math.log(3), (0.181818, 0.666667), (0.133333, 1.2))],
)
def test_the_classical_bounds_stand_beside(
    epsilon: float, exact: tuple[float, float], loose: tuple[float, float]
) -> None:
    """Golden: a prior of 0.4; the classical bounds say less, and from ln 3 on nothing above."""
    told = belief(0.4, epsilon)
    assert told[1:3] == pytest.approx(exact, abs=5e-7)
    assert told[3:] == pytest.approx(loose, abs=5e-7)
    assert told.loose_least <= told.least < 0.4 < told.most <= told.loose_most


def test_fresh_answers_can_be_averaged() -> None:
    """Golden: K times a fresh yes at ln 3; one that is remembered stays what one says."""
    grown = [belief(0.02, answers * math.log(3)).most for answers in (1, 2, 5, 10)]
    assert grown == pytest.approx([0.0577, 0.1552, 0.8322, 0.9992], abs=5e-5)
    chance = 0.02
    for _ in range(10):
        chance = after(chance, 0.75, 0.25)
    assert chance == pytest.approx(grown[-1])


@pytest.mark.parametrize("mechanism", [SubsetSelection(ONE, 8, 2), RandomizedResponse(ONE, 5), Laplace(ONE, 4)])
def test_no_report_tells_more_than_epsilon_lets_it(mechanism: RandomizedResponse) -> None:
    """Every payload of a channel: within the bounds, and on average as likely as before."""
    for prior in (0.001, 0.02, 0.5, 0.9):
        every = beliefs(mechanism, prior)
        assert every is not None
        told, bounds = every[1], belief(prior, 1.0)
        assert math.fsum(chance for chance, _ in told) == pytest.approx(1)
        assert math.fsum(chance * later for chance, later in told) == pytest.approx(prior)
        assert bounds.least - 1e-12 <= min(later for _, later in told)
        assert max(later for _, later in told) <= bounds.most + 1e-12 <= believed(prior, 1.0) + 2e-12


def test_what_is_too_large_is_not_written_out() -> None:
    """A channel of millions of chances: there are the bounds."""
    assert beliefs(SubsetSelection(ONE, 64, 17), 0.02) is None


@pytest.mark.parametrize("prior", [0.0, 1.0, -1.0, 2.0])
def test_who_is_certain_learns_nothing(prior: float) -> None:
    """A prior lies between 0 and 1."""
    with pytest.raises(ValueError, match="a prior"):
        belief(prior, 1.0)


def test_all_epsilons_have_bounds() -> None:
    """Also those of years of fresh answers every hour."""
    assert belief(0.02, 8760.0)[1:3] == pytest.approx((0, 1))
