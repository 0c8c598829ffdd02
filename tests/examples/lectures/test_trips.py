"""The lecture on trips: what many pairs cost, and noise that goes by distance."""

from __future__ import annotations

import pytest
from examples.lectures.trips import by_distance, moved, ordered, spread


def test_many_pairs_do_not_drown_what_is_chosen() -> None:
    """30,000 pairs cost what 300 do, to a tenth; of randomized response a hundred times as many have ten times the
    noise and more. Neither tells 34 trips of 10,000; a trusted counter does."""
    many, few = spread(1.0), spread(1.0, pairs=300)
    assert many.chosen == pytest.approx(few.chosen, rel=0.1)
    assert many.response > 9 * few.response
    assert 4 * many.trusted < 34 < many.chosen < many.response / 10


@pytest.mark.parametrize("distance", [1.0, 5.0])
def test_noise_by_distance_tells_places_apart_by_their_distance(distance: float) -> None:
    """Epsilon times the distance, which is reached; it moves a place by 2 / epsilon on average (the mean of 5,000
    draws is off by a twentieth of that less than once in 10^6 times: five deviations)."""
    assert by_distance(2.0, distance) == pytest.approx(2 * distance, rel=1e-6)
    assert moved(2.0, 5_000) == pytest.approx(1, rel=0.05)


def test_answers_with_an_order_have_both() -> None:
    """Any two are told apart by epsilon at most, neighbours by less than a quarter of it; the farther the more."""
    found = ordered(2.0, 8)
    assert found == sorted(found)
    assert found[-1] == pytest.approx(2, rel=1e-6)
    assert found[0] < 0.5
