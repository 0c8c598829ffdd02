"""Learning where somebody has everything: each mechanism's argument, held against neighbours that are searched for.

What is searched are small fleets of few dimensions, where one device weighs most. A bound that is a quarter too small
is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from examples.learning.central import data, descent, objective, output
from examples.learning.central.noise import by_length, normal_deviation
from examples.learning.central.regression import (
    Fleet,
    Floats,
    UnfittedError,
    accuracy,
    bend,
    curvature,
    fitted,
    gradient,
    residuals,
    steepest,
)
from scipy import stats

KOLMOGOROV = 2.7
"""Over the root of the draws: farther from the law are 10^-6 of all samples, or less."""


def fleet(generator: np.random.Generator, devices: int, outputs: int, dimensions: int = 2) -> Fleet:
    """Vectors of length 1, in any direction."""
    vectors = generator.normal(size=(devices, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    classes = generator.integers(max(outputs, 2), size=devices)
    return Fleet(vectors, classes, np.ones(devices), outputs)


def replaced(own: Fleet, vector: list[float] | Floats, label: int) -> Fleet:
    """The neighbour in which the first device has something else."""
    vectors, classes = own.vectors.copy(), own.classes.copy()
    vectors[0], classes[0] = vector, label
    return own._replace(vectors=vectors, classes=classes)


def neighbours(outputs: int, number: int) -> Iterator[tuple[Fleet, Fleet]]:
    """Pairs of them, at random: of one device up to eight."""
    generator = np.random.default_rng(outputs)
    for _ in range(number):
        one = fleet(generator, int(generator.integers(1, 9)), outputs)
        other = fleet(generator, 1, outputs)
        yield one, replaced(one, other.vectors[0], int(other.classes[0]))


def unlike(crowd: float, along: float) -> tuple[Fleet, Fleet]:
    """A crowd that is of one mind, and a device that is told wrong: in the one fleet it lies to the left, in the
    other to the right. That is where one device moves a model most."""
    across = math.sqrt(1 - along**2)
    vectors = np.array([[along, across], [1.0, 0.0]])
    one = Fleet(vectors, np.array([0, 1]), np.array([1.0, crowd]), 1)
    return one, replaced(one, [along, -across], 0)


@pytest.mark.parametrize("outputs", [1, 3])
def test_gradients_are_the_slopes_of_the_loss(outputs: int) -> None:
    """And curvatures those of gradients; of one device neither is larger than is said."""
    generator = np.random.default_rng(1)
    own = fleet(generator, 7, outputs, 3)
    weights, way = generator.normal(size=(2, outputs, 3))
    step = 1e-5
    ahead, behind = (gradient(weights + sign * step * way, own, 0.1) for sign in (1, -1))
    assert curvature(weights, own, 0.1, way) == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)
    uphill = (loss(weights + step * way, own) - loss(weights - step * way, own)) / (2 * step)
    assert float((gradient(weights, own, 0.1) * way).sum()) == pytest.approx(uphill, abs=1e-7)
    assert np.linalg.norm(residuals(9 * weights, own), axis=1).max() <= steepest(outputs)
    one = own._replace(copies=np.eye(7)[0])
    ways = np.eye(weights.size).reshape(-1, outputs, 3)
    bent = [float((curvature(weights, one, 0.0, each) * each).sum()) for each in ways]
    assert sum(bent) <= bend(outputs)


def loss(weights: Floats, own: Fleet) -> float:
    """What `gradient` is the gradient of."""
    scores = own.vectors @ weights.T
    if own.outputs == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    told = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    chosen = told[np.arange(len(told)), own.classes]
    return float(-chosen @ own.copies / own.devices + 0.05 * (weights**2).sum())


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_minimum_is_scikit_learns(outputs: int) -> None:
    """The same weights; and an error where there is none to be found."""
    from sklearn.linear_model import LogisticRegression  # not in processes that only look for tests

    own = fleet(np.random.default_rng(2), 60, outputs, 3)
    weights = fitted(own, 0.01, 1e-10)
    assert np.linalg.norm(gradient(weights, own, 0.01)) <= 1e-10
    known = LogisticRegression(C=1 / (0.01 * 60), fit_intercept=False, tol=1e-10, max_iter=10_000)
    known.fit(own.vectors, own.classes)
    assert weights == pytest.approx(known.coef_, abs=1e-5)
    assert accuracy(weights, own.vectors, own.classes) == known.score(own.vectors, own.classes)
    with pytest.raises(UnfittedError):
        fitted(own, 0.01, -1.0)


@pytest.mark.parametrize("outputs", [1, 3])
def test_one_device_moves_the_minimum_no_farther_than_is_said(outputs: int) -> None:
    """Neighbours at random, at four penalties."""
    for number, (one, other) in enumerate(neighbours(outputs, 40)):
        penalty = (0.003, 0.03, 0.3, 3.0)[number % 4]
        moved = np.linalg.norm(fitted(one, penalty, 1e-9) - fitted(other, penalty, 1e-9))
        assert moved <= output.sensitivity(one.devices, penalty, outputs)


def test_one_device_moves_the_minimum_nearly_as_far_as_is_said() -> None:
    """So that less noise would not do: where a crowd is large, a device that it tells wrong moves it so by 80%."""
    far = []
    for crowd in (1e3, 1e6):
        one, other = unlike(crowd, 0.35)
        penalty = 5 / one.devices
        moved = np.linalg.norm(fitted(one, penalty, 1e-12) - fitted(other, penalty, 1e-12))
        far.append(float(moved) / output.sensitivity(one.devices, penalty, 1))
    assert 0.8 < max(far) <= 1


def exposed(epsilon: float, shift: float) -> float:
    """The delta of normal noise of deviation 1 where one device moves what it is added to by so much: by adding up
    by how much one density exceeds e^epsilon times the other."""
    places = np.linspace(-12, 12 + shift, 40_001)
    above = stats.norm.pdf(places, shift) - math.exp(epsilon) * stats.norm.pdf(places)
    return float(np.clip(above, 0, None).sum() * (places[1] - places[0]))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-5), (4.0, 1e-6)])
def test_normal_noise_is_enough_and_no_more(epsilon: float, delta: float) -> None:
    """By the densities themselves."""
    assert exposed(epsilon, 1 / normal_deviation(epsilon, delta)) == pytest.approx(delta, rel=1e-3)


def test_releases_by_normal_noise_add_up_exactly() -> None:
    """Twenty of them: what each tells is laid out on a grid, and what all tell is found by adding it to itself."""
    epsilon, delta, times, step = 1.0, 1e-3, 20, 1e-3
    each = 1 / normal_deviation(epsilon, delta, times)
    size = 1 << 15
    losses = (np.arange(size) - size // 2) * step
    spread = stats.norm.cdf(
        (losses + step / 2 - each**2 / 2) / each
    )  # the loss is normal: each^2 / 2, deviation each
    chances = np.diff(spread, prepend=0.0)
    together = np.fft.irfft(np.fft.rfft(np.roll(chances, -(size // 2))) ** times, size)
    found = np.roll(together, size // 2) @ np.clip(-np.expm1(epsilon - losses), 0, None)
    assert found == pytest.approx(delta, rel=0.01)


def test_noise_by_length_has_its_law() -> None:
    """The length is of a Gamma law, and each entry as often above nothing as below."""
    generator = np.random.default_rng(3)
    drawn = np.array([by_length(generator, (2, 3), 0.5).ravel() for _ in range(4_000)])
    lengths = np.linalg.norm(drawn, axis=1)
    assert stats.kstest(lengths, stats.gamma(6, scale=0.5).cdf).statistic <= KOLMOGOROV / math.sqrt(4_000)
    above = (drawn > 0).sum(axis=0)
    assert np.abs(above - 2_000).max() <= 5.3 * math.sqrt(1_000)  # six binomial counts: 10^-6 together


@pytest.mark.parametrize("outputs", [1, 3])
def test_what_objective_perturbation_releases_is_no_likelier_than_e_to_the_epsilon(outputs: int) -> None:
    """Neighbours at random, and any weights: the logarithms of densities differ by epsilon at most."""
    generator = np.random.default_rng(4)
    for one, other in neighbours(outputs, 100):
        penalty = bend(outputs) / one.devices * generator.uniform(1.1, 9)
        weights = generator.normal(size=(outputs, 2)) * 10 ** generator.uniform(-1, 1)
        densities = [objective.log_density(weights, each, 1.0, penalty) for each in (one, other)]
        assert abs(densities[0] - densities[1]) <= 1


def test_objective_perturbation_uses_what_epsilon_it_has() -> None:
    """A device that is told wrong and turned around, against a crowd that decides which noise was drawn: 90% of
    epsilon. Noise that is less by a fifth would be found."""
    vectors = np.array([[0.3, math.sqrt(0.91)], [0.0, 1.0]])
    one = Fleet(vectors, np.array([0, 1]), np.array([1.0, 1e5]), 1)
    other = replaced(one, vectors[0] * [1, -1], 0)
    penalty, weights = 10 / one.devices, np.array([[30.0, 0.0]])
    densities = [objective.log_density(weights, each, 1.0, penalty) for each in (one, other)]
    assert 0.9 < abs(densities[0] - densities[1]) <= 1


def test_a_penalty_that_leaves_nothing_for_noise_is_refused() -> None:
    """With the least that would do."""
    with pytest.raises(ValueError, match=r"10 devices need a penalty above 0\.025"):
        objective.left_for_noise(1.0, 10, 0.02, 1)


def test_the_density_is_that_of_what_is_released() -> None:
    """One weight, at a penalty so small that curvatures decide: 200 draws by the law that the density says. Power:
    without the determinants it would be another law."""
    own = Fleet(np.array([[1.0], [-0.5]]), np.array([1, 1]), np.array([3.0, 2.0]), 1)
    places = np.linspace(-300, 300, 1_501)
    density = np.array([objective.log_density(np.array([[place]]), own, 4.0, 0.02) for place in places])
    generator = np.random.default_rng(5)
    drawn = [float(objective.released(own, 4.0, 0.02, generator)[0, 0]) for _ in range(200)]
    bent = np.array([curvature(np.array([[place]]), own, 0.02, np.ones((1, 1)))[0, 0] for place in places])
    for logs, right in ((density, True), (density - np.log(bent), False)):
        law = np.cumsum(np.exp(logs - logs.max()))
        found = stats.kstest(drawn, partial(np.interp, xp=places, fp=law / law[-1])).statistic
        assert (found <= KOLMOGOROV / math.sqrt(200)) == right


def test_the_tilt_is_as_large_as_is_said() -> None:
    """What is released tells its tilt: it is as long as 3,000 entries make it, of which each is of 2 / part (where
    bend / (n penalty) is a half, of 4), to a tenth: six standard deviations."""
    own = fleet(np.random.default_rng(14), 5, 1, 3_000)
    weights = objective.released(own, 1.0, 0.1, np.random.default_rng(15))
    tilt = 5 * float(np.linalg.norm(gradient(weights, own, 0.1)))
    assert tilt == pytest.approx(3_000 * 4, rel=0.1)


@pytest.mark.parametrize("outputs", [1, 3])
def test_one_device_moves_a_sum_of_clipped_gradients_by_two_clips(outputs: int) -> None:
    """Whatever the others have, and whatever the weights: no farther, and as far where it is turned around."""
    generator = np.random.default_rng(6)
    for one, other in neighbours(outputs, 100):
        weights = 5 * generator.normal(size=(outputs, 2))
        sums = [descent.clipped_sum(weights, each, 0.2) for each in (one, other)]
        assert np.linalg.norm(sums[0] - sums[1]) <= 0.4 * (1 + 1e-12)
    turned = fleet(generator, 3, outputs)
    other = replaced(turned, -turned.vectors[0], int(turned.classes[0]))
    nothing = np.zeros((outputs, 2))
    sums = [descent.clipped_sum(nothing, each, 0.2) for each in (turned, other)]
    assert np.linalg.norm(sums[0] - sums[1]) == pytest.approx(0.4)


def test_clipping_the_batch_gives_away_170_times_delta() -> None:
    """Lecture notes on private learning: the gradient of a batch is clipped to C, with noise for a move by C, at
    epsilon 1 and delta 10^-5 sqrt(2 ln(1.25 / delta)) C. One device, beside a hundred that outweigh each
    other, turns that gradient around: 2 C, and a delta of .0017. Each gradient clipped by itself, with noise for two
    clips, keeps delta; and the mean of a hundred has fifty times less noise than their batch."""
    clip, delta, devices = 0.1, 1e-5, 101
    noted = math.sqrt(2 * math.log(1.25 / delta)) * clip
    vectors = np.array([[0.6, 0.8], [1.0, 0.0], [-1.0, 0.0]])
    one = Fleet(vectors, np.array([1, 1, 1]), np.array([1.0, 50.0, 50.0]), 1)
    other = replaced(one, -vectors[0], 1)
    nothing = np.zeros((1, 2))
    batches = [devices * gradient(nothing, each, 0.0) for each in (one, other)]
    shortened = [own * min(1.0, clip / float(np.linalg.norm(own))) for own in batches]
    moved = float(np.linalg.norm(shortened[0] - shortened[1]))
    assert moved == pytest.approx(2 * clip)
    assert exposed(1.0, moved / noted) == pytest.approx(0.00170, abs=5e-6)
    assert exposed(1.0, moved / noted) / delta == pytest.approx(170, abs=0.5)
    sums = [descent.clipped_sum(nothing, each, clip) for each in (one, other)]
    apart, spread = float(np.linalg.norm(sums[0] - sums[1])), 2 * clip * normal_deviation(1.0, delta)
    assert exposed(1.0, apart / spread) <= delta * (1 + 1e-3)
    assert spread / devices < noted / 50


def test_normal_noise_is_as_large_as_is_said() -> None:
    """Of what output perturbation adds to 3,000 weights, of one step of a descent, and of four of twice the deviation
    each: as far as a chi-square of 3,000 says, which is farther off once in 10^6 times. A tenth less is found."""
    own = fleet(np.random.default_rng(10), 5, 1, 3_000)
    moved = output.sensitivity(5, 0.1, 1) * normal_deviation(1.0, 1e-6)
    added = output.released(own, 1.0, 1e-6, 0.1, np.random.default_rng(11)) - fitted(own, 0.1, 1e-6)
    clipped = descent.clipped_sum(np.zeros((1, 3_000)), own, 0.2)
    one = descent.released(own, 1.0, 1e-6, descent.Descent(1, 5.0, 0.2), np.random.default_rng(12)) + clipped
    every = descent.released(own, 1.0, 1e-6, descent.Descent(4, 5.0, 0.2), np.random.default_rng(13))
    spread = 2 * 0.2 * normal_deviation(1.0, 1e-6)
    halves = math.sqrt(1 + 1 + 1 + 0.25)  # the mean of the weights after three steps and after four
    for noise, deviation in ((added, moved), (one, spread), (every, 2 * spread * halves)):
        assert float((noise**2).mean()) / deviation**2 == pytest.approx(1, abs=5 * math.sqrt(2 / 3_000))


def test_descent_without_noise_finds_the_minimum() -> None:
    """At an epsilon of 30, as many as a million devices: what all steps come to is the model without privacy."""
    rows = data.split("breast cancer", 1)
    many = data.fleet(rows.train, 1_000_000, np.random.default_rng(7))
    plain = accuracy(fitted(many, 1e-4, 1e-8), rows.vectors, rows.classes)
    found = descent.released(many, 30.0, 1e-6, descent.Descent(), np.random.default_rng(8))
    assert accuracy(found, rows.vectors, rows.classes) >= plain - 0.03


def test_rows_are_no_longer_than_one() -> None:
    """Of both data sets; a fleet has as many devices as it is asked for."""
    for name in data.NAMES:
        rows = data.split(name, 3)
        both = np.vstack([rows.train.vectors, rows.vectors])
        assert np.linalg.norm(both, axis=1).max() <= 1 + 1e-12
        assert len(both) in {569, 1_797}
        assert data.fleet(rows.train, 5_000, np.random.default_rng(9)).devices == 5_000
