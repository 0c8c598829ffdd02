"""A 95% interval covers 95%: exactly where outcomes can be enumerated, by simulation where they can not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import binom

import deniable
from deniable.mechanisms import Laplace, RandomizedResponse
from deniable_aggregator import Target, estimate
from deniable_aggregator.estimators import Frequencies, means
from support.sequential import Claim, refuted

BLOCK = 200
"""So many fleets are drawn at once."""
RATES = (0.0, 0.001, 0.02, 0.5, 1.0)
COLLECTION = """
[collection]
name = "coverage"
epoch = "1d"
owner = "a"
[budget]
epoch = 100
[metrics.yes]
kind = "boolean"
description = "d"
epsilon = {epsilon}
[metrics.one]
kind = "category"
description = "d"
epsilon = {epsilon}
mechanism = "randomized_response"
values = ["a", "b", "c", "d", "e"]
"""


def collection(epsilon: float) -> deniable.Collection:
    """Two kinds that count, at one epsilon."""
    return deniable.Collection.loads(COLLECTION.format(epsilon=epsilon))


def exact_coverage(mechanism: object, reports: int, rate: float) -> float:
    """The probability that the interval holds the rate, over every number of supporting reports."""
    p, q = float(mechanism.p), float(mechanism.q)  # type: ignore[attr-defined]
    outcomes = np.arange(reports + 1)
    low, high = Frequencies(reports, outcomes, p, q).intervals(0.95, Target.POPULATION)
    likely = binom.pmf(outcomes, reports, q + rate * (p - q))
    return float(likely[(low <= rate + 1e-12) & (rate - 1e-12 <= high)].sum())


@pytest.mark.parametrize("metric", ["yes", "one"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("reports", [50, 51, 73, 100, 200, 1000, 20_000])
def test_counted_kinds_cover_exactly(metric: str, epsilon: float, reports: int) -> None:
    """Over all possible populations and noise, proportions cover at least 94%, and near 1/2 at most 96.5%."""
    mechanism = collection(epsilon).metrics[metric].columns[0].mechanism
    covered = {rate: exact_coverage(mechanism, reports, rate) for rate in RATES}
    assert min(covered.values()) >= 0.94, covered
    assert covered[0.5] <= 0.965, covered


@pytest.mark.parametrize("metric", ["yes", "one"])
def test_the_sdk_covers_as_computed(metric: str) -> None:
    """2,000 populations of 50 devices that randomise with the SDK cover as often as enumeration says, within 2.6%.

    False alarm: 5.2 standard deviations of a binomial, below 1e-6. Power: an epsilon that is 5% off moves the
    coverage of a rate of 0.5 by no more than the interval allows, so the chances themselves are tested elsewhere.
    """
    found = collection(1.0).metrics[metric]
    populations, reports, rate = 2000, 50, 0.5
    generator = np.random.default_rng(11)
    values, labels = ((False, True), "yes") if metric == "yes" else (("b", "a"), "a")
    held = 0
    for devices in generator.random((populations, reports)) < rate:
        answer = estimate(found, [found.randomize(values[int(device)]) for device in devices])
        row = next(row for row in answer.rows if row.key == labels)
        held += row.low <= rate <= row.high
    expected = exact_coverage(found.columns[0].mechanism, reports, rate)
    deviation = np.sqrt(expected * (1 - expected) / populations)
    assert abs(held / populations - expected) < 5.2 * deviation


def mean_of_two_values(mechanism: Laplace, reports: int) -> Iterator[list[bool]]:
    """Whether the mean's interval holds at each rate of devices at the one end, the others being at the other.

    The noise is drawn once for all rates: devices are alike, so that the first ones of a fleet have 480.
    """
    generator = np.random.default_rng(7)
    while True:
        noise = np.zeros((BLOCK, reports + 1), dtype=np.int64)
        for sign in (1, -1):
            noise[:, 1:] += sign * generator.geometric(1 - mechanism.alpha, (BLOCK, reports))
        sent = noise[:, 1:] - mechanism.lowest
        least, least_squares, upto = sent.sum(axis=1), (sent**2).sum(axis=1), np.cumsum(noise, axis=1)
        held = np.zeros((BLOCK, len(RATES)), dtype=bool)
        for place, rate in enumerate(RATES):
            high = generator.binomial(reports, rate, BLOCK)
            theirs = upto[np.arange(BLOCK), high] - mechanism.lowest * high
            sums = least + 480 * high
            squares = least_squares + 2 * 480 * theirs + 480**2 * high
            for fleet, (total, square) in enumerate(zip(sums.tolist(), squares.tolist(), strict=True)):
                counters = np.array([reports, total, square & 0xFFFFFFFF, square >> 32])
                _, _, start, end = means(mechanism, counters).estimate(0.95, Target.POPULATION)
                held[fleet, place] = max(start, 0) <= rate <= min(end, 1)
        yield from held.tolist()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(("reports", "missed"), [(50, 1e-3), (1000, 0.03)])
def test_means_cover(epsilon: float, reports: int, missed: float) -> None:
    """Means of 0-or-480 quantities at all rates cover at least 94.5%, and away from the ends at most 96.7%.

    The true coverage lies between 94.7% and 96.5%; false alarms have a probability of 10^-7 each. Of fifty reports
    93.5% and 97.6% are found in 999 of 1,000 cases, of a thousand in 97 of 100.
    """
    mechanism = Laplace(deniable.Epsilon.of(epsilon), 480)
    half = range(RATES.index(0.5), RATES.index(0.5) + 1)
    claims = Claim(0.945, 0.935, 1e-7, missed), Claim(0.967, 0.976, 1e-7, missed, entries=half)
    assert not refuted(mean_of_two_values(mechanism, reports), *claims)


def test_ten_thousand_reports_of_the_two_coin_survey() -> None:
    """4,000 yes out of 10,000 at ln 3 are 0.3 with standard error 0.009798; normal ends are 0.2808 and 0.3192.

    Source: lecture notes on differential privacy, unbiasing the coin survey, recomputed.
    """
    mechanism = RandomizedResponse(deniable.Epsilon.of("ln 3"), 2)
    found = Frequencies(10_000, np.array([6000, 4000]), float(mechanism.p), float(mechanism.q))
    value, error = found.values[1], found.std_errors(Target.POPULATION)[1]
    assert value == pytest.approx(0.3, abs=1e-12)
    assert error == pytest.approx(0.009798, abs=5e-7)
    assert (value - 1.959964 * error, value + 1.959964 * error) == pytest.approx((0.280796, 0.319204), abs=1e-6)
    low, high = found.intervals(0.95, Target.POPULATION)
    assert (low[1], high[1]) == pytest.approx((0.2808, 0.3192), abs=2e-4)


def test_no_reports_say_nothing() -> None:
    """Without reports an estimate has no value and the widest interval."""
    for metric in collection(1.0).metrics.values():
        answer = estimate(metric, [])
        assert answer.reports == 0
        assert {(row.low, row.high) for row in answer.rows} == {(0.0, 1.0)}
        assert all(row["value"] is None for row in answer.to_dicts())
