"""Vector Laplace: two vectors of bounded l1 norm are told apart by epsilon at most, over all entries together."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import pytest

from deniable import randomness
from deniable.epsilon import Epsilon
from deniable.mechanisms import Laplace, VectorLaplace
from deniable.mechanisms._entries import pack, unpack
from deniable.payload import Integers


def worst_by_shift(noise: Laplace, steps: int) -> dict[tuple[int, int], Fraction]:
    """For two grid points of an entry, the worst ratio of any output's probabilities."""
    rows = noise.channel()
    return {
        (one, other): max(rows[one][payload] / rows[other][payload] for payload in noise.payloads())
        for one in range(steps + 1)
        for other in range(steps + 1)
    }


@pytest.mark.parametrize("epsilon", ["ln 3", 2.0, 8.0])
@pytest.mark.parametrize(("dimensions", "bound"), [(1, 2), (2, 2), (3, 1)])
def test_no_two_vectors_are_told_apart_by_more_than_epsilon(
    dimensions: int, bound: int, epsilon: float | str
) -> None:
    """Entries are independent, so the worst ratio is the product of theirs: exactly, over all pairs in the ball, at
    most e^eps, and at least 0.999 of it for some."""
    mechanism = VectorLaplace(Epsilon.of(epsilon), dimensions, bound)
    worst = worst_by_shift(mechanism.noise, 2 * bound)
    ball = [v for v in product(range(-bound, bound + 1), repeat=dimensions) if sum(map(abs, v)) <= bound]
    ratios = [
        prod(worst[a + bound, b + bound] for a, b in zip(one, other, strict=True)) for one in ball for other in ball
    ]
    assert mechanism.epsilon.exp * Fraction(999, 1000) <= max(ratios) <= mechanism.epsilon.exp


def test_the_noise_does_not_grow_with_the_dimensions() -> None:
    """A thousand entries of one l1 norm take the noise that one entry takes."""
    one, many = (VectorLaplace(Epsilon.of(1.0), dimensions, 500) for dimensions in (1, 1000))
    assert one.variance == many.variance == pytest.approx(2 * 1000**2, rel=1e-4)


def test_probabilities_are_products_over_the_entries() -> None:
    """Of the one-dimensional noise, moved by the bound; over all payloads they add up to 1."""
    mechanism = VectorLaplace(Epsilon.of(8.0), 2, 1)
    noise = mechanism.noise
    chance = mechanism.probability(pack([1, -3]), pack([0, -1]))
    assert chance == noise.probability(4, 1) * noise.probability(0, 0)
    payloads = list(mechanism.payloads())
    assert len(set(payloads)) == len(payloads) == (2 * mechanism.shape.bound + 1) ** 2
    assert sum(mechanism.probability(payload, pack([1, 0])) for payload in payloads) == 1


def test_reports_are_the_vector_with_noise() -> None:
    """30,000 reports: the means of all entries are within 5 standard errors, the variances within 6%.

    The variance of a Laplace sample of that size has a standard error of 1.3%.
    """
    mechanism = VectorLaplace(Epsilon.of(1.0), 3, 100)
    assert mechanism.shape == Integers(3, 102, mechanism.noise.far - 1)
    true = [60, -40, 0]
    drawn = [
        [mechanism.noise.level(entry + 102) - 100 for entry in unpack(mechanism.randomize(pack(true)), 3)]
        for _ in range(30_000)
    ]
    for entry, place in zip(true, zip(*drawn, strict=True), strict=True):
        mean = sum(place) / len(place)
        assert abs(mean - entry) < 5 * (mechanism.variance / len(place)) ** 0.5
        assert sum((each - entry) ** 2 for each in place) / len(place) == pytest.approx(mechanism.variance, rel=0.06)


def test_every_vector_takes_equally_many_words() -> None:
    """From the same random words, whatever the vector."""
    mechanism = VectorLaplace(Epsilon.of(1.0), 2, 50)
    words = [randomness.word() for _ in range(500)]
    left = set()
    for entries in ([0, 0], [50, 0], [-25, 25]):
        randomness._buffer[:] = words
        mechanism.randomize(pack(entries))
        left.add(len(randomness._buffer))
    randomness._buffer.clear()
    assert len(left) == 1


def test_a_vector_that_is_too_long_is_refused() -> None:
    """Its l1 norm is what counts."""
    mechanism = VectorLaplace(Epsilon.of(1.0), 2, 5)
    mechanism.randomize(pack([-3, 2]))
    with pytest.raises(ValueError, match="l1 norm is at most 5"):
        mechanism.randomize(pack([-4, 2]))


@pytest.mark.parametrize(
    ("epsilon", "dimensions", "bound", "says"),
    [
        (1.0, 0, 5, "at least 1 entry"),
        (1.0, 2, 0, "sensitivity"),
        (0.001, 2, 1 << 20, "does not fit 32 bits"),
    ],
)
def test_noise_that_can_not_be_is_refused(epsilon: float, dimensions: int, bound: int, says: str) -> None:
    """Nothing to add noise to, no room for it."""
    with pytest.raises(ValueError, match=says):
        VectorLaplace(Epsilon.of(epsilon), dimensions, bound)
