"""Golden numbers: worked examples of lecture notes on differential privacy, from the exact channels.

Each test says which example it is. Where the notes print fewer digits, the numbers were computed anew from their
formulas.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from deniable.epsilon import Epsilon
from deniable.mechanisms import Laplace, RandomizedResponse
from deniable.randomness import WORD

LN_3 = RandomizedResponse(Epsilon.of("ln 3"), 2)


def survey() -> tuple[dict[int, Fraction], ...]:
    """The survey with two coins, outcome by outcome: heads, the truth; tails, what the second coin shows."""
    channel = []
    for truth in (0, 1):
        answers = {0: Fraction(0), 1: Fraction(0)}
        for first, second in product(("heads", "tails"), repeat=2):
            answers[truth if first == "heads" else int(second == "heads")] += Fraction(1, 4)
        channel.append(answers)
    return tuple(channel)


def posterior(mechanism: RandomizedResponse, prior: Fraction, *reports: int) -> Fraction:
    """The chance of a yes to somebody who believed the prior and saw the reports, by Bayes' rule."""
    no, yes = mechanism.channel()
    weight_yes = prior * math.prod(yes[report] for report in reports)
    weight_no = (1 - prior) * math.prod(no[report] for report in reports)
    return weight_yes / (weight_yes + weight_no)


def debiased(mechanism: RandomizedResponse) -> dict[int, Fraction]:
    """What each answer counts for, so that the mean is the share of yes."""
    return {report: (report - mechanism.q) / (mechanism.p - mechanism.q) for report in (0, 1)}


def variance(mechanism: RandomizedResponse, share: Fraction) -> Fraction:
    """Of one report's contribution, for somebody drawn from a population with that share of yes."""
    no, yes = mechanism.channel()
    value = debiased(mechanism)
    chance = {report: share * yes[report] + (1 - share) * no[report] for report in (0, 1)}
    assert sum(chance[report] * value[report] for report in (0, 1)) == share
    return sum((chance[report] * value[report] ** 2 for report in (0, 1)), Fraction(0)) - share**2


def test_at_ln_3_the_matrix_is_three_quarters_and_one_quarter() -> None:
    """Lecture notes on differential privacy, randomized response with a coin: epsilon is ln 3 = 1.098612."""
    quarter = Fraction(1, 4)
    assert LN_3.channel() == ({0: 3 * quarter, 1: quarter}, {0: quarter, 1: 3 * quarter})
    assert float(LN_3.epsilon) == pytest.approx(1.098612, abs=5e-7)


def test_the_survey_with_two_coins_is_the_epsilon_form() -> None:
    """Lecture notes on differential privacy: the coin form is the form with p = e^eps / (1 + e^eps) at ln 3."""
    assert survey() == LN_3.channel()


def test_the_tax_cheats_posterior() -> None:
    """Lecture notes on differential privacy, the survey on tax: a prior of 2% is .0577 after yes, .00676 after no."""
    prior = Fraction(2, 100)
    assert posterior(LN_3, prior, 1) == Fraction(15, 15 + 245)
    assert float(posterior(LN_3, prior, 1)) == pytest.approx(0.057692, abs=5e-7)
    assert float(posterior(LN_3, prior, 0)) == pytest.approx(0.006757, abs=5e-7)


def test_what_an_attacker_with_a_prior_can_come_to_believe() -> None:
    """Lecture notes on differential privacy, the attacker's bound: a prior of .4 stays in [.376257, .424222] at .1.

    The notes' own bound, .4 e^(-+eps) = [.361935, .442068], is wider and holds too.
    """
    mechanism = RandomizedResponse(Epsilon.of(Fraction(1, 10)), 2)
    prior = Fraction(4, 10)
    low, high = sorted(float(posterior(mechanism, prior, report)) for report in (0, 1))
    assert low == pytest.approx(0.376257, abs=5e-7)
    assert high == pytest.approx(0.424222, abs=5e-7)
    assert 0.4 * math.exp(-0.1) == pytest.approx(0.361935, abs=5e-7)
    assert 0.4 * math.exp(0.1) == pytest.approx(0.442068, abs=5e-7)
    assert 0.361935 < low < high < 0.442068


def test_the_price_of_lying_in_variance() -> None:
    """Lecture notes on differential privacy, variance of the coin survey: 4 times at a share of .5, 39.265 at .02.

    What the lies add is 3/4 at any share.
    """
    half, rare = Fraction(1, 2), Fraction(2, 100)
    assert variance(LN_3, half) / (half * (1 - half)) == 4
    assert float(variance(LN_3, rare) / (rare * (1 - rare))) == pytest.approx(39.265, abs=5e-4)
    assert variance(LN_3, half) - half * (1 - half) == variance(LN_3, rare) - rare * (1 - rare) == Fraction(3, 4)


def test_debiased_answers_of_the_coin_survey() -> None:
    """Lecture notes on differential privacy, unbiasing: an answer counts for 2x - 1/2, so for -1/2 or 3/2."""
    assert debiased(LN_3) == {0: Fraction(-1, 2), 1: Fraction(3, 2)}


def test_debiased_answers_at_epsilon_one() -> None:
    """Lecture notes on differential privacy, the exercise on unbiasing: z is -.581977 or 1.581977, noise .920674."""
    mechanism = RandomizedResponse(Epsilon.of(1), 2)
    assert [float(value) for value in debiased(mechanism).values()] == pytest.approx([-0.581977, 1.581977], abs=5e-7)
    assert float(variance(mechanism, Fraction(0))) == pytest.approx(0.920674, abs=5e-7)


@pytest.mark.parametrize(("epochs", "believed"), [(1, 0.0577), (2, 0.1552), (5, 0.8322), (10, 0.9992)])
def test_answers_drawn_afresh_add_up(epochs: int, believed: float) -> None:
    """Lecture notes on differential privacy, averaging: a prior of 2% after 1, 2, 5 and 10 fresh yes at ln 3."""
    assert float(posterior(LN_3, Fraction(2, 100), *[1] * epochs)) == pytest.approx(believed, abs=5e-5)


@pytest.mark.parametrize("people", [1, 2, 3])
def test_randomized_response_hides_one_answer_in_a_whole_database(people: int) -> None:
    """Lecture notes on differential privacy, the proof for randomized response: any event, one bit changed.

    All databases of up to three bits, all outputs, all sets of outputs: the ratio is at most 3, and reaches 3 and
    1/3. Two bits changed: at most 9.
    """
    channel = LN_3.channel()

    def chance(outputs: tuple[int, ...], truths: tuple[int, ...]) -> Fraction:
        return math.prod((channel[x][y] for x, y in zip(truths, outputs, strict=True)), start=Fraction(1))

    everything = list(product((0, 1), repeat=people))
    weights = {
        truths: [
            sum((own for place, own in enumerate(chances) if members >> place & 1), start=Fraction(0))
            for members in range(1, 1 << len(everything))
        ]
        for truths in everything
        for chances in [[chance(outputs, truths) for outputs in everything]]
    }
    ratios: dict[int, set[Fraction]] = {}
    for one, other in product(everything, repeat=2):
        changed = sum(a != b for a, b in zip(one, other, strict=True))
        pairs = zip(weights[one], weights[other], strict=True)
        ratios.setdefault(changed, set()).update(own / theirs for own, theirs in pairs)
    for changed, seen in ratios.items():
        assert max(seen) == 3**changed
        assert min(seen) == Fraction(1, 3**changed)


def test_the_scale_of_laplace_noise_that_costs_as_much_as_the_survey() -> None:
    """Lecture notes on differential privacy, a trusted server instead: sensitivity 1 at ln 3 has scale .910239."""
    noise = Laplace(Epsilon.of("ln 3"), 1)
    assert float(1 / noise.rate) == pytest.approx(0.910239, abs=5e-7)
    assert noise.alpha == pytest.approx(1 / 3, rel=1e-11)


def test_the_variance_of_geometric_noise_over_levels() -> None:
    """Lecture notes on differential privacy, geometric noise: a = e^(-1/2) has variance 2a/(1-a)^2 = 7.835."""
    assert Laplace(Epsilon.of(1), 2).variance == pytest.approx(7.835, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1, 2, 4, 8])
def test_for_one_bit_randomized_response_beats_laplace(epsilon: float) -> None:
    """Lecture notes on differential privacy, randomized response against noise: e^eps / (e^eps - 1)^2 < 2 / eps^2.

    The discrete noise of the same epsilon is worse than randomized response, too.
    """
    bit, noise = RandomizedResponse(Epsilon.of(epsilon), 2), Laplace(Epsilon.of(epsilon), 1)
    added = float(variance(bit, Fraction(0)))
    assert added == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2, rel=1e-9)
    assert added < min(2 / epsilon**2, noise.variance)


def test_the_thresholds_behind_these_numbers() -> None:
    """Two to the 62nd of the 2^64 words lie at ln 3: the golden matrix is no rounding."""
    assert LN_3.lies * 4 == WORD
