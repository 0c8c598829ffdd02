"""The lecture on breaches: what is known without names, what sums tell, and what is nobody's secret."""

from __future__ import annotations

import math
from statistics import median

import pytest
from examples.lectures.breaches import CENSUS, alone, collected, difference, films, left, sentences, smoker

from deniable import Consent


def test_most_people_are_alone_with_their_birthday() -> None:
    """88% of 7,500 people by day of birth and sex, of the 87% that were published."""
    assert alone(7_500, 365 * 80 * 2) == pytest.approx(0.88, abs=0.005)


def test_the_more_films_are_known_the_fewer_people_have_seen_them() -> None:
    """Of one film nearly nobody is alone, of six nearly everybody."""
    found = [films(known) for known in (1, 6)]
    assert found[0] < 0.1
    assert found[1] > 0.8


def test_each_looks_like_three_others_and_two_diseases_are_left() -> None:
    """Of somebody who is 55; and a median is somebody's age."""
    assert left(55) == {"heart", "liver"}
    assert median([31, 49, 26, 19, 27]) in {31, 49, 26, 19, 27}


def test_the_census_in_millions() -> None:
    """46% are 142 million, 71% are 219 million, of 308,745,538."""
    assert pytest.approx(142e6, abs=5e5) == 0.46 * CENSUS
    assert pytest.approx(219e6, abs=5e5) == 0.71 * CENSUS


@pytest.mark.parametrize("place", range(4))
def test_two_exact_sums_tell_one_answer(place: int) -> None:
    """However well they were encrypted."""
    bits = [1, 0, 1, 1]
    assert difference(bits, place) == bits[place]


def test_what_all_learn_of_all_is_nearly_the_same_without_one() -> None:
    """One device of 10,000 moves a share by two ten-thousandths at ln 3; its report an even bet to three in four."""
    assert smoker(10_000, math.log(3)) == pytest.approx((0.0002, 0.75))


def test_who_has_not_said_yes_tells_nothing() -> None:
    """And who has is told what a report reveals, in words."""
    assert collected(Consent.WITHHELD) == 0 < collected(Consent.GRANTED)
    assert "yes" in " ".join(sentences())
