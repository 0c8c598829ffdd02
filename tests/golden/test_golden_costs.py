"""Golden numbers: what sensitivities, repetition, sampling and small chances cost in lecture notes on differential
privacy, from this system's own mechanisms.

Each test says which example it is. The notes mix two neighbours: a person more or less, and a person's answer
replaced. A device's answer is always replaced; where the notes mean the other, the test says so.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import fmean

import pytest

from deniable import Collection, CollectionError
from deniable.epsilon import Epsilon
from deniable.mechanisms import Laplace, Mechanism, RandomizedResponse, VectorLaplace

TENTH = Epsilon.of(Fraction(1, 10))
ONE = Epsilon.of(1)


def scale(noise: Laplace) -> Fraction:
    """Of the noise, in steps."""
    return 1 / noise.rate


def near(expected: float) -> object:
    """The number, but for what pays for the rounding of coins: one part in 2^64."""
    return pytest.approx(expected, rel=1e-15)


def test_the_blue_eyes_survey_with_noise() -> None:
    """Lecture notes on differential privacy, blue eyes at epsilon .1: a count of people, one more or less, takes
    noise of scale 10; where a person's answer is replaced, two counts change and the scale of both is 20."""
    assert float(scale(Laplace(TENTH, 100, sensitivity=1))) == near(10)
    assert float(scale(VectorLaplace(TENTH, 2, bound=1).noise)) == near(20)


@pytest.mark.parametrize(
    ("example", "steps", "sensitivity", "expected"),
    [
        ("a height of up to 7 feet", 7, 7, 7),
        ("a sum of numbers from 3 to 5, one person more or less", 5, 5, 5),
        ("a sum of numbers from 3 to 5, one replaced by another", 2, 2, 2),
        ("four salaries of up to 50,000 together", 4 * 50_000, 4 * 50_000, 200_000),
    ],
)
def test_sensitivities(example: str, steps: int, sensitivity: int, expected: int) -> None:
    """Lecture notes on differential privacy, exercises on sensitivity: the scale of the noise at epsilon 1."""
    assert float(scale(Laplace(ONE, steps, sensitivity))) == near(expected), example


def test_a_group_of_four_costs_four_times_as_much() -> None:
    """Lecture notes on differential privacy, group privacy: 200,000 is also 50,000 at a quarter of epsilon."""
    assert scale(Laplace(ONE.part(4), 50_000)) == scale(Laplace(ONE, 200_000))


def test_naive_bayes_by_both_routes() -> None:
    """Lecture notes on differential privacy, naive Bayes with 5 features at epsilon .1: all counts at once, with a
    sensitivity of 5, or each at epsilon .1 / 5: scale 50. (With answers replaced, both are 100.)"""
    at_once, each = Laplace(TENTH, 100, sensitivity=5), Laplace(TENTH.part(5), 100, sensitivity=1)
    assert scale(at_once) == scale(each)
    assert float(scale(each)) == near(50)
    replaced = VectorLaplace(TENTH, 10, bound=5).noise, VectorLaplace(TENTH.part(5), 2, bound=1).noise
    assert [float(scale(noise)) for noise in replaced] == [near(100), near(100)]


@pytest.mark.parametrize("epochs", [1, 2, 5, 10])
def test_an_answer_that_is_remembered_tells_the_same_once_and_ten_times(epochs: int) -> None:
    """Lecture notes on differential privacy, the same lie every time: the belief in a tax cheat stays .0577."""
    survey = RandomizedResponse(Epsilon.of("ln 3"), 2)
    weights = []
    for prior, value in ((Fraction(98, 100), 0), (Fraction(2, 100), 1)):
        # What is sent in every epoch is what is remembered; so all are yes where the first one is.
        chance = sum(
            survey.probability(kept, value) for kept in (0, 1) if [survey.renew(kept)] * epochs == [1] * epochs
        )
        weights.append(prior * chance)
    assert float(weights[1] / sum(weights)) == pytest.approx(0.0577, abs=5e-5)


def worst_ratio(one: dict[int, Fraction], other: dict[int, Fraction]) -> Fraction:
    """By how much a payload can be likelier for one than for the other."""
    return max(max(one[payload] / other[payload], other[payload] / one[payload]) for payload in one)


def mixed(mechanism: Mechanism, often: Fraction, otherwise: dict[int, Fraction]) -> list[dict[int, Fraction]]:
    """Each input's channel where devices answer with a probability, and else something that says nothing."""
    channel = mechanism.channel()
    return [{y: often * row[y] + (1 - often) * otherwise[y] for y in row} for row in channel]


@pytest.mark.parametrize(("epsilon", "amplified"), [(1, 0.158565), (3, 1.067656)])
def test_sampling_that_nobody_sees_amplifies(epsilon: int, amplified: float) -> None:
    """Lecture notes on differential privacy, amplification: one in ten answers costs ln(1 + .1 (e^eps - 1)).

    Who was in and who was not is not to be seen: in place of those that are not, somebody else's answer is. At
    epsilon 3 it is more than the 2 p epsilon = .6 that the notes give as a bound, which holds up to 1.256 only.
    """
    mechanism = RandomizedResponse(Epsilon.of(epsilon), 2)
    others = mechanism.channel()[0]
    with_me = mixed(mechanism, Fraction(1, 10), others)[1]
    cost = math.log(worst_ratio(with_me, others))
    assert cost == pytest.approx(amplified, abs=5e-7)
    assert (cost > 2 * 0.1 * epsilon) == (epsilon == 3)


def test_dummies_amplify_what_is_seen() -> None:
    """Lecture notes on differential privacy, amplification: where nine in ten toss a coin instead, it is .092489."""
    mechanism = RandomizedResponse(ONE, 2)
    coin = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert math.log(worst_ratio(*mixed(mechanism, Fraction(1, 10), coin))) == pytest.approx(0.092489, abs=5e-7)


def test_name_and_shame() -> None:
    """Lecture notes on differential privacy, name and shame: a delta of 1e-6 for a million people exposes one of them
    on average, and somebody with probability .632121. A collection file that says so is refused."""
    delta, people = 1e-6, 10**6
    assert delta * people == pytest.approx(1)
    assert 1 - (1 - delta) ** people == pytest.approx(0.632121, abs=5e-7)
    text = """
        [collection]
        name = "a"
        epoch = "1d"
        owner = "o"
        [budget]
        epoch = 1
        [metrics.update]
        kind = "vector"
        description = "d"
        epsilon = 1
        dimensions = 2
        clip = 1
        norm = "l2"
        delta = {delta}
        fleet = 1_000_000
    """
    with pytest.raises(CollectionError, match=r"of a fleet of 1000000 devices it may expose 1:"):
        Collection.loads(text.format(delta="1e-6"))
    Collection.loads(text.format(delta="1e-9"))


def test_exact_averages_of_a_few_people_give_them_away() -> None:
    """Lecture notes on differential privacy, reconstruction: ages of 31, 49, 26, 19 and 27 average 30.4, the men's
    34, the women's 28. The first and the last tell the sum of the two men's ages; a number's channel has no payload
    that any age could not have sent."""
    women, men = (31, 26, 27), (49, 19)
    assert (fmean(women + men), fmean(men), fmean(women)) == (30.4, 34, 28)
    assert 5 * fmean(women + men) - 3 * fmean(women) == sum(men)
    decades = Laplace(ONE, 12)
    ends = [decades.probability(end, age // 10) for end in (0, decades.shape.size - 1) for age in women + men]
    assert min(ends) > 0
