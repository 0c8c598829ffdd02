"""Intervals cover as often as they claim. Rates are checked by exact sums, means by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc
from scipy.stats import binom

from deniable_aggregator.estimators._intervals import _table, mean, proportion, simultaneous
from support.counting import calls
from support.sequential import Claim, refuted

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.int64]]


def misses(n: int, confidence: float, rates: Floats) -> tuple[Floats, Floats]:
    """The exact chances, at each rate, of an interval that lies above it and of one that lies below it."""
    low, high = proportion(np.arange(n + 1), n, confidence)
    first = np.searchsorted(high, rates, "left")
    last = np.searchsorted(low, rates, "right") - 1
    above = np.asarray(bdtrc(last, n, rates), np.float64)
    below = np.where(first > 0, bdtr(np.maximum(first - 1.0, 0), n, rates), 0.0)
    return above, below.astype(np.float64)


def dense_rates(n: int) -> Floats:
    """Rates from hardly ever to almost always, with one half and both sides of every small c / n."""
    few = np.arange(1, min(n, 2000)) / n
    rare = np.geomspace(1e-6 / n, 0.5, 3000)
    even = np.sin(np.linspace(0, np.pi / 2, 12_007)) ** 2
    rates = np.concatenate([even, rare, 1 - rare, few, few - 1e-9, few + 1e-9, [0.5, 1e-4, 0.9999]])
    inside: Floats = np.unique(rates[(rates > 0) & (rates < 1)])
    return inside


@pytest.mark.parametrize("n", [50, 51, 60, 75, 92, 100, 150, 160, 200, 400, 401, 1000, 10_000, 100_000])
def test_rates_are_covered_as_claimed(n: int) -> None:
    """95% intervals cover 94.2% at every rate, 94.8% close to the edges, and 96.5% at most away from them."""
    rates = dense_rates(n)
    above, below = misses(n, 0.95, rates)
    coverage = 1 - above - below
    expected = n * np.minimum(rates, 1 - rates)
    assert coverage.min() >= 0.942
    assert coverage[expected < 4.9].min() >= 0.948
    assert coverage[expected > 2].max() <= 0.986
    assert coverage[expected > 5].max() <= 0.968
    assert coverage[expected > 6.3].max() <= 0.965
    assert coverage[expected > 10].max() <= 0.9615
    assert 0.944 <= coverage[rates == 0.5].item() <= 0.9605
    assert 0.9495 <= coverage[expected > 5].mean() <= 0.953


@pytest.mark.parametrize("confidence", [0.5001, 0.68, 0.9, 0.99, 0.9999, 0.999999])
def test_every_confidence_is_kept(confidence: float) -> None:
    """From 50.01% to 99.9999% intervals miss at most 1.2 times as often as claimed, on average 0.92 to
    1.02 times where more than 100 outcomes are expected."""
    for n in (1, 2, 3, 7, 20, 120, 399, 700, 20_000):
        rates = dense_rates(n)
        above, below = misses(n, confidence, rates)
        miss = (above + below) / (1 - confidence)
        assert miss.max() <= 1.2
        usual = n * np.minimum(rates, 1 - rates) > 100
        if usual.any():
            assert 0.92 <= miss[usual].mean() <= 1.02


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.9999])
def test_both_ends_miss_equally_often(confidence: float) -> None:
    """Where many outcomes are expected, half of the misses are on either side (Wilson's own are 9% off at 95%)."""
    n = 20_000
    above, below = misses(n, confidence, np.linspace(100, 300, 20_001) / n)
    assert 2 * above.mean() / (1 - confidence) == pytest.approx(1, abs=0.03)
    assert 2 * below.mean() / (1 - confidence) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("n", [1, 2, 5, 50, 333, 400, 401, 5000])
@pytest.mark.parametrize("confidence", [0.51, 0.95, 0.999999])
def test_intervals_are_orderly(n: int, confidence: float) -> None:
    """Intervals hold the observed rate, rise with the count, and reach 0 and 1 just where they should."""
    counts = np.arange(n + 1)
    low, high = proportion(counts, n, confidence)
    assert (low <= counts / n).all()
    assert (counts / n <= high).all()
    assert (low < high).all()
    assert (np.diff(low) >= 0).all()
    assert (np.diff(high) >= 0).all()
    assert low[0] == 0 < low[1]
    assert high[-1] == 1 > high[-2]


def test_large_fleets_mirror() -> None:
    """Counting the others instead turns the interval around, beyond the sizes where one half is a special rate."""
    counts = np.arange(1001)
    low, high = proportion(counts, 1000, 0.95)
    assert low == pytest.approx(1 - high[::-1], abs=1e-12)


def test_no_report_says_nothing() -> None:
    """Without reports the interval is everything."""
    low, high = proportion(np.array([0, 0]), 0, 0.95)
    assert low.tolist() == [0, 0]
    assert high.tolist() == [1, 1]


def test_a_row_does_not_depend_on_the_others() -> None:
    """A count has one interval, in whatever company it comes, at numbers beyond any table too."""
    for n in (300, 1_000_000, 10**15):
        counts = np.array([0, 3, 90, n // 3, n - 90, n - 3, n])
        together = np.array(proportion(counts, n, 0.95))
        alone = np.array([proportion(counts[[row]], n, 0.95) for row in range(len(counts))])
        assert (together == alone[:, :, 0].T).all()


@pytest.mark.parametrize("n", [1000, 10_000])
@pytest.mark.parametrize("rate", [0.02, 0.05, 0.27, 0.5, 0.9])
def test_rates_are_as_sharp_as_can_be(n: int, rate: float) -> None:
    """From 1,000 reports on, intervals are at most 4% wider on average than if their variance were known."""
    counts = np.arange(n + 1)
    low, high = proportion(counts, n, 0.95)
    width = (binom.pmf(counts, n, rate) * (high - low)).sum()
    assert width <= 1.04 * 2 * 1.959964 * math.sqrt(rate * (1 - rate) / n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0, math.nan])
def test_a_confidence_is_a_probability(confidence: float) -> None:
    """Percentages and certainty are refused."""
    with pytest.raises(ValueError, match="confidence"):
        proportion(np.array([1]), 3, confidence)
    with pytest.raises(ValueError, match="confidence"):
        mean(3, 1, 1, confidence)
    with pytest.raises(ValueError, match="confidence"):
        simultaneous(confidence, 3)


def test_rates_are_arrays() -> None:
    """65,536 rows take no more steps than 64, and the table of a million reports no more than that of 400."""

    def steps(rows: int) -> int:
        counts = np.random.default_rng(1).integers(0, 1_000_001, rows)
        proportion(counts, 1_000_000, 0.95)  # now the table is there
        return calls(lambda: proportion(counts, 1_000_000, 0.95))

    assert steps(65_536) < 2 * steps(64)
    assert calls(lambda: _table.__wrapped__(1_000_000, 0.95)) <= calls(lambda: _table.__wrapped__(400, 0.95))


@pytest.mark.parametrize(("n", "rate"), [(100, 0.1), (100, 0.5), (1000, 0.02), (100_000, 0.27)])
@pytest.mark.parametrize("rows", [2, 48, 1024])
def test_rows_hold_together(n: int, rate: float, rows: int) -> None:
    """Independent rows, all of one rate, hold together 94.3% of the time or more at 95%."""
    above, below = misses(n, simultaneous(0.95, rows), np.array([rate]))
    assert (1 - above - below).item() ** rows >= 0.943


def test_simultaneous_confidence() -> None:
    """Chances of missing are shared out among the rows."""
    assert simultaneous(0.95, 1) == pytest.approx(0.95, abs=1e-15)
    assert simultaneous(0.95, 10) == pytest.approx(0.995, abs=1e-15)
    assert simultaneous(0.95, 0) == pytest.approx(0.95, abs=1e-15)


def test_mean_of_three() -> None:
    """1, 2 and 3 have mean 2, standard error 1 / sqrt 3, and Student's 4.3027 of it on each side."""
    value, error, low, high = mean(3, 6, 14, 0.95)
    assert value == 2
    assert error == pytest.approx(1 / math.sqrt(3), rel=1e-12)
    assert (low, high) == pytest.approx((2 - 4.302653 * error, 2 + 4.302653 * error), rel=1e-6)


def test_mean_cancels_exactly() -> None:
    """Values a trillion away from zero and one apart keep all of their variance, from numpy's integers too."""
    far = 10**12
    error = mean(4, 4 * far + 2, 2 * far**2 + 2 * (far + 1) ** 2, 0.95)[1]
    assert error == pytest.approx(math.sqrt(1 / 3 / 4), rel=1e-12)
    n, total, squares = np.int64(4), np.int64(4 * 10**9 + 2), np.int64(2 * 10**18 + 2 * (10**9 + 1) ** 2)
    assert mean(int(n), total, squares, 0.95)[1] == pytest.approx(error, rel=1e-12)  # type: ignore[arg-type]


def test_mean_without_reports() -> None:
    """Without reports there is no mean, and it could be anything."""
    value, error, low, high = mean(0, 0, 0, 0.95, 2.0)
    assert math.isnan(value)
    assert math.isnan(error)
    assert (low, high) == (-math.inf, math.inf)


def test_mean_of_one_report() -> None:
    """One report has a mean, the error of its noise where that is known, and no interval, nor have two a finite one
    by luck."""
    assert mean(1, 7, 49, 0.95) == (7, math.inf, -math.inf, math.inf)
    assert mean(1, 7, 49, 0.95, 4.0) == (7, 2, -math.inf, math.inf)
    assert mean(2, 14, 98, 0.95, 4.0)[2:] == pytest.approx((7 - 12.7062, 7 + 12.7062), rel=1e-4)


def test_known_noise_holds_up_the_variance() -> None:
    """A sample variance below the noise's is moved half the way to it; one above is left alone."""
    assert mean(4, 0, 3, 0.95, 9.0)[1] == pytest.approx(math.sqrt((1 + 9) / 2 / 4), rel=1e-12)
    assert mean(4, 0, 27, 0.95, 4.0)[1] == pytest.approx(math.sqrt(9 / 4), rel=1e-12)


POPULATIONS: dict[str, tuple[float, Callable[[int], Draw]]] = {
    "constant": (0.5, lambda top: lambda _, shape: np.full(shape, top // 2)),
    "0.1% at the top": (0.001, lambda top: lambda rng, shape: top * (rng.random(shape) < 0.001)),
    "2% at the top": (0.02, lambda top: lambda rng, shape: top * (rng.random(shape) < 0.02)),
    "half at the top": (0.5, lambda top: lambda rng, shape: top * (rng.random(shape) < 0.5)),
    "uniform": (0.5, lambda top: lambda rng, shape: rng.integers(0, top, shape, endpoint=True)),
}


def held_or_not(top: int, epsilon: float, n: int, population: str) -> Iterator[tuple[bool]]:
    """Whether the interval of the mean holds, for one fleet after another."""
    rng = np.random.default_rng([n, top, len(population)])
    alpha, shape = math.exp(-epsilon / top), (100, n)
    share, of_top = POPULATIONS[population]
    while True:
        reports = of_top(top)(rng, shape) + rng.geometric(1 - alpha, shape) - rng.geometric(1 - alpha, shape)
        for total, squares in zip(reports.sum(1).tolist(), (reports**2).sum(1).tolist(), strict=True):
            low, high = mean(n, total, squares, 0.95, 2 * alpha / (1 - alpha) ** 2)[2:]
            yield (low <= share * top <= high,)


@pytest.mark.parametrize(("top", "epsilon"), [(20, 4.0), (1000, 1.0), (200, 0.1)])
@pytest.mark.parametrize("n", [50, 200, 1000])
def test_means_are_covered_as_claimed(top: int, epsilon: float, n: int) -> None:
    """95% intervals of a mean cover 94% to 96.5%, under discrete Laplace noise of scale 5, 1,000 and 2,000.

    The 90 comparisons together raise a false alarm with a probability below 1e-6, for intervals at either bound; each
    finds a coverage of 92.4% or 97.6% in 999 of 1,000 cases.
    """
    for population in POPULATIONS:
        claims = Claim(0.94, 0.924, 1e-6 / 90), Claim(0.965, 0.976, 1e-6 / 90)
        assert not refuted(held_or_not(top, epsilon, n, population), *claims), population
