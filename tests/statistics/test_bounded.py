"""95% intervals of means hold where a few devices at an end decide them, and are Student's where they do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, norm, poisson, t
from tools.bounded_coverage import EPSILONS, EVEN, METRICS, REPORTS, Measured, cases, intervals, measured, metric
from tools.samples import drawn

from deniable_aggregator.answers import answer
from deniable_aggregator.estimators import Target, means, ranks
from deniable_aggregator.estimators._bounded import Shown, interval
from support.sequential import Claim, refuted

Floats = NDArray[np.float64]
MANY = 10**9
"""So many reports that numbers of far devices are Poisson, and quantiles normal."""


def ends(body: float, confidence: float, most: int) -> Floats:
    """How far intervals of the sum reach, for every number of far devices, each one room away."""
    found = []
    for far in range(most):
        each = far / MANY
        shown = Shown(MANY, body / MANY + each, each, each, 1.0, 1.0, body / MANY, 0.0, 0.0)
        found.append([MANY * end for end in interval(shown, confidence)])
    return np.array(found)


@pytest.mark.parametrize("body", [0.0, 0.1, 0.6, 1.2, 2.0, 6.0])
@pytest.mark.parametrize(("confidence", "least", "most"), [(0.95, 0.943, 0.975), (0.99, 0.988, 0.996)])
def test_every_number_of_far_devices_is_looked_at(body: float, confidence: float, least: float, most: float) -> None:
    """Of a normal sum of this variance and a Poisson number of devices one room away: no expected number up to 25 is
    covered less than stated, and all of them together not more. Exact: there is no false alarm."""
    expected, far = np.arange(0.02, 25, 0.06)[:, np.newaxis], np.arange(75)
    below, above = ends(body, confidence, len(far)).T
    deviation = math.sqrt(body) if body else 1e-9
    missed = norm.cdf((expected - far - above) / deviation) + norm.sf((expected - far + below) / deviation)
    covered = 1 - (poisson.pmf(far, expected) * missed).sum(axis=1)
    assert covered.min() >= least
    assert covered[expected[:, 0] > 2].mean() <= most


def test_where_noise_is_large_the_interval_is_students() -> None:
    """To the last digit: no device that was not seen could make as much doubt as the noise does."""
    shown = Shown(50, 1.0, 0.0, 0.0, 0.9, 0.1, 1.0, 0.0, 0.0)
    reach = t.ppf(0.975, 49) / math.sqrt(50)
    assert interval(shown, 0.95) == pytest.approx((reach, reach), rel=1e-12)
    skewed = interval(Shown(50, 1.0, 0.3, 0.1, 0.9, 0.1, 0.9, 0.0, 0.0), 0.95)
    assert skewed[0] < skewed[1]
    other = interval(Shown(50, 1.0, -0.3, 0.1, 0.1, 0.9, 0.9, 0.0, 0.0), 0.95)
    assert skewed == pytest.approx(other[::-1], rel=1e-12)


def test_of_a_hundred_reports_that_agree_a_few_devices_may_differ() -> None:
    """All of them name the first of five places, at epsilon 8: were 3% of the devices at the last, 5% of all samples
    would be like this. So a mean of 3% is believed, and, as 1.8% of samples are, 4% is not."""
    ranked = metric("rank of 5 places", "8")
    row = answer(ranked, [np.array([100, 0, 0, 0, 0])]).rows[-1]
    assert row.low == 1.0
    assert 1 + 4 * 0.03 < row.high < 1 + 4 * 0.04


def held(found: Measured, samples: int, comparisons: int) -> None:
    """Held 93.5% of the time, or chance explains the lack less than once in a million times, over all comparisons."""
    assert binom.cdf(round(found.covered * samples), samples, 0.935) > 1e-6 / comparisons, found


FAILED = (
    ("number", "8", 100),
    ("number", "6", 50),
    ("number, Laplace", "8", 50),
    ("events up to 100", "1", 100),
    ("events up to 1,000", "4", 300),
    ("rank of 5 places", "8", 100),
    ("rank of 5 places", "4", 50),
    ("rank of 20 places", "8", 50),
    ("rank of 20, exponential", "8", 50),
)
"""Where Student's interval, moved for skewness, held 36% to 93% of the time, and one where it held always."""


@pytest.mark.parametrize(("name", "epsilon", "reports"), FAILED)
def test_means_hold_where_few_devices_are_at_an_end(name: str, epsilon: str, reports: int) -> None:
    """93.5% of the time for every population of the page: 84% is found in 99 of 100 cases, and a false alarm in any
    of them has a probability of 10^-6."""
    every = cases(name, epsilon)
    claim = Claim(0.935, 0.84, 1e-6 / (len(FAILED) * len(every)), 0.01)
    for case in every:
        assert not refuted(((held,) for held, _ in intervals(case, reports, 3)), claim), str(case)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", METRICS)
def test_means_hold_in_many_samples(name: str, epsilon: str) -> None:
    """Everything on the page in 4,000 samples: 91.5% fails."""
    every = cases(name, epsilon)
    for case in every:
        for reports in REPORTS:
            held(measured(case, reports, 4_000, 4), 4_000, len(EPSILONS) * len(METRICS) * len(every) * len(REPORTS))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("epsilon", ["4", "8"])
def test_where_devices_are_anywhere_intervals_are_no_wider(name: str, epsilon: str) -> None:
    """Of fifty reports and more, by 5% at the most over Student's with the variance that reports have.

    200 samples: the mean of their widths is within 1% for a hundred reports, and within 2% for fifty.
    """
    (case,) = (each for each in cases(name, epsilon) if each.fleet.name == EVEN)
    for reports in (50, 100, 1_000):
        width = measured(case, reports, 200, 5).width
        assert width <= 1.05 * 2 * t.ppf(0.975, reports - 1) * spread(name, epsilon) / math.sqrt(reports) * 1.02


def spread(name: str, epsilon: str) -> float:
    """The standard deviation of one report's estimate where devices are anywhere, from a million of them."""
    (case,) = (each for each in cases(name, epsilon) if each.fleet.name == EVEN)
    mechanism, ((counters,),) = (
        case.metric.columns[0].mechanism,
        drawn(case, 1_000_000, 1, np.random.default_rng(6)),
    )
    if name.startswith("rank"):
        return ranks(mechanism, counters).mean(0.95, Target.POPULATION)[1] * 1_000 / (len(counters) - 1)
    return means(mechanism, counters).estimate(0.95, Target.POPULATION)[1] * 1_000
