"""Steps: the mean update of a round, how sure it is, and what no step is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from deniable import Collection, Metric
from deniable_aggregator import Estimate, estimate
from deniable_aggregator.answers import answer
from deniable_aggregator.learning import Step, clipping_norm
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.simulate import simulate

DIMENSIONS, ROUNDS, DEVICES = 8, 100, 100
TEXT = f"""
[collection]
name = "learning"
epoch = "1d"
owner = "o"
[budget]
epoch = 12
[metrics.update]
kind = "vector"
description = "The update"
dimensions = {DIMENSIONS}
clip = 1
norm = "l2"
epsilon = 4
[metrics.dark]
kind = "boolean"
description = "The dark theme is on"
epsilon = 4
[metrics.length]
kind = "distribution"
description = "How long the update is"
range = [-8, 2]
buckets = 64
epsilon = 4
"""
METRICS = Collection.loads(TEXT).metrics


def answered(metric: Metric, values: Sequence[object], devices: int, seed: int = 1) -> Estimate:
    """What devices say, each with one of the values in turn."""
    population = Population(values, np.arange(devices) % len(values))
    return answer(metric, simulate(metric, population, np.random.default_rng(seed)))


@pytest.fixture(scope="module")
def rounds() -> tuple[np.ndarray, list[Step]]:
    """What devices have to say on average, and the steps of many rounds of other devices of the same population."""
    some = np.random.default_rng(3).normal(0.1, 0.2, size=(10, DIMENSIONS))
    values = (some / np.maximum(np.linalg.norm(some, axis=1, keepdims=True), 1)).tolist()
    found = [Step.of(answered(METRICS["update"], values, DEVICES, seed)) for seed in range(ROUNDS)]
    return np.mean(values, axis=0), found


def test_noise_is_how_far_steps_are_off(rounds: tuple[np.ndarray, list[Step]]) -> None:
    """On average over rounds: the square of the distance from the truth is that of the noise, and what is left of a
    step's own square is that of the truth. By chance that fails once in 10^6 times: a round's square is known to half
    of itself (eight coordinates), 100 rounds' to a twentieth. Noise that is off by a third is found."""
    truth, steps = rounds
    off = np.array([((step.mean - truth) ** 2).sum() / step.noise**2 for step in steps])
    assert abs(off.mean() - 1) < 4.9 * 0.55 / math.sqrt(ROUNDS)
    left = np.array([(step.mean**2).sum() - step.noise**2 for step in steps])
    assert abs(left.mean() - truth @ truth) < 4.9 * left.std(ddof=1) / math.sqrt(ROUNDS) * 1.2
    assert all(step.length == pytest.approx(math.sqrt(max(own, 0))) for step, own in zip(steps, left, strict=True))


def test_the_truth_is_within_the_radius(rounds: tuple[np.ndarray, list[Step]]) -> None:
    """At least 95 times in 100; fewer than 84 are chance once in 10^6 times."""
    truth, steps = rounds
    assert sum(float(np.linalg.norm(step.mean - truth)) <= step.radius() for step in steps) >= 84


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_radius_holds_however_errors_go_together(confidence: float) -> None:
    """Of normal errors on one line just as often as it says, of all others more often: 100,000 draws each of random
    spectra. A miss by 5 standard deviations or more is chance once in 10^6 times; half of a point is found."""
    generator = np.random.default_rng(1)
    squares = generator.normal(size=(100_000, 6)) ** 2
    slack = 5 * math.sqrt(confidence * (1 - confidence) / len(squares))
    spectra = [np.eye(6)[0], *generator.dirichlet(np.full(6, 0.3), size=20), np.full(6, 1 / 6)]
    step = Step(np.zeros(6), np.full(6, math.sqrt(1 / 6)), 100)
    assert step.noise == pytest.approx(1)
    holds = [float((squares @ spectrum <= step.radius(confidence) ** 2).mean()) for spectrum in spectra]
    assert abs(holds[0] - confidence) <= slack
    assert min(holds) >= confidence - slack


def test_a_confidence_for_which_it_is_not_proved_is_refused() -> None:
    """Below 0.8, and where there is none."""
    step = Step(np.zeros(2), np.ones(2), 10)
    for confidence in (0.5, 1.0):
        with pytest.raises(ValueError, match=r"a confidence lies between 0\.8 and 1 here"):
            step.radius(confidence)


def test_a_step_of_noise_is_lost() -> None:
    """Where what is left of it is no longer than its noise."""
    errors = np.full(4, 0.5)
    assert Step(np.array([1.0, 0, 0, 0]), errors, 10).lost
    assert Step(np.array([1.4, 0, 0, 0]), errors, 10).lost
    assert not Step(np.array([1.5, 0, 0, 0]), errors, 10).lost


def test_steps_together_are_their_mean() -> None:
    """With the noise of a mean."""
    both = Step.together(
        [Step(np.array([1.0, 0]), np.array([3.0, 1]), 10), Step(np.array([0, 1.0]), np.array([4.0, 1]), 5)]
    )
    assert both.mean.tolist() == [0.5, 0.5]
    assert both.errors[0] == 2.5
    assert both.reports == 15


def test_a_step_is_of_one_answer_to_a_vector() -> None:
    """An answer, or its rows as a reader has them; nothing else, and nothing of which nobody knows how sure it is."""
    found = answered(METRICS["update"], [[0.1] * DIMENSIONS], 50)
    rows = found.to_dicts()
    assert (Step.of(rows).mean == Step.of(found).mean).all()
    assert [row.std_error for row in found.rows] == Step.of(found).errors.tolist()
    for other in (rows[1:], rows[::-1], [*rows, *rows], answered(METRICS["dark"], [True], 50), []):
        with pytest.raises(ValueError, match="a step is one answer to one vector metric"):
            Step.of(other)
    for count in (0, 1):
        reports = [METRICS["update"].randomize([0.1] * DIMENSIONS) for _ in range(count)]
        columns = estimate(METRICS["update"], reports)
        with pytest.raises(ValueError, match=f"update has {count} reports"):
            Step.of(columns)


def test_a_norm_is_a_quantile_of_lengths() -> None:
    """Of an answer at hand, and of rows that a reader has asked for."""
    lengths = [math.log2(length) for length in (0.25, 0.5, 1.0, 2.0)]
    found = answered(METRICS["length"], lengths, 4_000)
    norm = clipping_norm(found, 0.5)
    assert 0.4 < norm < 1.2
    (row,) = (row for row in found.to_dicts() if row["key"] == "p50")
    assert clipping_norm([row], 0.5) == norm
    reports = [METRICS["length"].randomize(lengths[0]) for _ in range(200)]
    assert 0 < clipping_norm(estimate(METRICS["length"], reports), 0.375) < 4
    with pytest.raises(LookupError, match=r"ask for quantiles=\[0.8\]"):
        clipping_norm([row])
    with pytest.raises(ValueError, match="nobody has said yet"):
        clipping_norm([{**row, "value": None}], 0.5)
