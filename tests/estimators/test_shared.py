"""What epochs have in common: exactly what a device keeps, where chances say it, and never less."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from tools.window_samples import asked

from deniable import Metric
from deniable.mechanisms import Memoized, RandomizedResponse
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import Target
from deniable_aggregator.estimators._shared import largest

EPOCHS = 30


def metric_of(name: str, epsilon: str = "1") -> Metric:
    """One of the metrics whose coverage is measured."""
    return next(case.metric for case in asked(epsilon) if case.name == name)


def renewing(metric: Metric) -> tuple[float, float, float, float]:
    """The chances of the own answer and of another one, where it is remembered and where it is renewed."""
    mechanism = metric.columns[0].mechanism
    assert isinstance(mechanism, Memoized)
    assert isinstance(mechanism.fresh, RandomizedResponse)
    both = mechanism.permanent, mechanism.fresh
    p1, q1, p2, q2 = (float(chance) for own in both for chance in (own.p, own.q))
    return p1, q1, p2, q2


def symbols(metric: Metric, share: float, devices: int) -> list[np.ndarray]:
    """What a share of yes makes on average, for each column."""
    mechanism = metric.columns[0].mechanism
    yes = share * float(mechanism.probability(1, 1)) + (1 - share) * float(mechanism.probability(1, 0))
    each = devices // len(metric.columns)
    return [np.array([each - round(each * yes), round(each * yes)]) for _ in metric.columns]


@pytest.mark.parametrize("epsilon", ["0.2", "1", "4"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_a_renewed_answer_shares_what_is_remembered(epsilon: str, share: float) -> None:
    """With g the chance of a remembered yes, n times the variance over W epochs is
    {(p2 - q2)^2 g (1 - g) + [g p2 (1 - p2) + (1 - g) q2 (1 - q2)] / W} / [(p1 - q1)^2 (p2 - q2)^2]."""
    metric = metric_of("boolean by randomized_response, renewed", epsilon)
    p1, q1, p2, q2 = renewing(metric)
    g = q1 + share * (p1 - q1)
    noise = g * p2 * (1 - p2) + (1 - g) * q2 * (1 - q2)
    exact = ((p2 - q2) ** 2 * g * (1 - g) + noise / EPOCHS) / ((p1 - q1) * (p2 - q2)) ** 2
    devices = 10_000_000
    found = windowed(metric, [symbols(metric, share, devices)] * EPOCHS, 0.95, Target.POPULATION)
    claimed = found.estimate.rows[0].std_error * math.sqrt(devices)
    assert math.sqrt(exact) * 0.9999 <= claimed <= math.sqrt(exact) * 1.026


def test_a_renewed_mean_rank_shares_what_is_remembered() -> None:
    """With h(z) the mean guess of who remembers the place z, and v(z) its variance, n times the variance over W
    epochs is Var h + E v / W, over all that devices remember."""
    metric, shares, devices = metric_of("ordinal by randomized_response, renewed"), np.arange(1, 8) / 28, 10_000_000
    mechanism = metric.columns[0].mechanism
    assert isinstance(mechanism, Memoized)
    assert isinstance(mechanism.fresh, RandomizedResponse)
    first, second = (
        np.full((7, 7), float(each.q)) + np.eye(7) * float(each.p - each.q)
        for each in (mechanism.permanent, mechanism.fresh)
    )
    guesses = np.linalg.solve(first @ second, np.arange(1, 8))
    kept, means = shares @ first, second @ guesses
    exact = kept @ means**2 - (kept @ means) ** 2 + kept @ (second @ guesses**2 - means**2) / EPOCHS
    counters = [np.rint(devices * kept @ second).astype(np.int64)]
    found = windowed(metric, [counters] * EPOCHS, 0.95, Target.POPULATION)
    claimed = found.estimate.rows[-1].std_error * math.sqrt(devices)
    assert math.sqrt(exact) * 0.9999 <= claimed <= math.sqrt(exact) * 1.026


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("boolean by randomized_response, fresh", 1),
        ("number by one_bit, fresh", 1),
        ("flags by randomized_response, fresh", 4),
    ],
)
def test_a_fresh_answer_shares_the_value(name: str, columns: int) -> None:
    """n times the variance is f (1 - f), once, and the noise over W; of k drawn columns a report is of one:
    f (1 - f) (1 + (k - 1) / W), and k times the noise over W."""
    metric, share, devices = metric_of(name), 0.3, 10_000_000
    mechanism = metric.columns[0].mechanism
    assert isinstance(mechanism, RandomizedResponse)
    p, q = float(mechanism.p), float(mechanism.q)
    noise = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2
    exact = share * (1 - share) * (1 + (columns - 1) / EPOCHS) + columns * noise / EPOCHS
    found = windowed(metric, [symbols(metric, share, devices)] * EPOCHS, 0.95, Target.POPULATION)
    row = found.estimate.rows[0]
    size = 60.0 if row.key == "mean" else 1.0
    claimed = row.std_error / size * math.sqrt(devices)
    assert math.sqrt(exact) * 0.9999 <= claimed <= math.sqrt(exact) * 1.026


def test_about_the_devices_that_reported_only_remembered_noise_is_shared() -> None:
    """Of a renewed answer that is f p1 (1 - p1) + (1 - f) q1 (1 - q1); of a fresh one nothing."""
    metric, share, devices = metric_of("boolean by randomized_response, renewed"), 0.3, 10_000_000
    p1, q1, p2, q2 = renewing(metric)
    g = q1 + share * (p1 - q1)
    kept = (share * p1 * (1 - p1) + (1 - share) * q1 * (1 - q1)) / (p1 - q1) ** 2
    fresh = (g * p2 * (1 - p2) + (1 - g) * q2 * (1 - q2)) / ((p1 - q1) * (p2 - q2)) ** 2
    found = windowed(metric, [symbols(metric, share, devices)] * EPOCHS, 0.95, Target.REPORTING)
    claimed = found.estimate.rows[0].std_error * math.sqrt(devices)
    exact = math.sqrt(kept + fresh / EPOCHS)
    assert exact * 0.9999 <= claimed <= exact * 1.026


@pytest.mark.parametrize(
    ("excess", "start", "end", "expected"),
    [
        (lambda x: x - 0.2, 0.0, 0.25, 0.2),
        (lambda x: x - 0.1 - 0.3 * math.sqrt(x), 0.1, 0.25, 0.25),
        (lambda x: x - 0.01 - 0.2 * math.sqrt(x), 0.01, 0.25, (0.1 + math.sqrt(0.02)) ** 2),
        (lambda x: math.expm1(40 * (x - 0.03)), 0.0, 0.25, 0.03),
        (lambda x: -1.0 if x < 0.07 else 1e9, 0.0, 0.25, 0.07),
        (lambda x: x**9 - 1e-12, 0.0, 0.25, 1e-12 ** (1 / 9)),
        (lambda _: 1.0, 0.1, 0.25, 0.1),
        (lambda _: -1.0, 0.1, 0.25, 0.25),
        (lambda x: 0.02 - x if x < 0.05 else x - 0.2, 0.0, 0.25, 0.2),  # beyond at the start, and not any more
    ],
)
def test_the_first_value_beyond_is_found(
    excess: Callable[[float], float], start: float, end: float, expected: float
) -> None:
    """To one part in 2^45 of the largest, whatever the excess looks like: steep, flat, with a leap."""
    found = largest(excess, start, end)
    assert found == pytest.approx(expected, abs=end * 2.0**-45)
    assert excess(found) > 0 or found == end


def test_what_is_smooth_is_found_in_a_few_steps() -> None:
    """Where the uncertainty of a spread grows with its root, as it does, an end takes at most fifteen looks."""
    for n in (50, 1000, 10**6):
        looks: list[float] = []

        def excess(spread: float, n: int = n, looks: list[float] = looks) -> float:
            looks.append(spread)
            return spread - 0.03 - 1.96 * math.sqrt((spread * (7 - 3 * spread) + 0.4 * math.sqrt(spread) + 3) / n)

        assert 0.03 < largest(excess, 0.03, 0.25) <= 0.25
        assert len(looks) <= 15
