"""Codewords: two vectors are told apart by epsilon exactly, and the mean of what is named is the vector."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.directions import moments, named
from tools.vectors import PAGE, placed, privunit

from deniable import codebook, randomness
from deniable.epsilon import Epsilon
from deniable.kinds import Vector
from deniable.mechanisms import Codewords
from deniable.mechanisms._entries import pack
from deniable.mechanisms._sphere import cosines
from deniable.payload import Codeword
from deniable_aggregator.codebook import directions
from deniable_aggregator.estimators import Target, entries
from deniable_aggregator.planning import twins
from deniable_aggregator.planning.audit import audit
from support.asked import asked

TINY = [(3, 2, 1, 4), (8, 1, 2, 3), (5, 3, 4, 2)]
"""Codewords, dimensions, nearest ones and seeds of channels that are looked at as a whole."""


@pytest.mark.parametrize("epsilon", [0.01, "ln 3", 2.0, 8.0])
@pytest.mark.parametrize(("codewords", "dimensions", "nearest", "seeds"), TINY)
def test_no_two_vectors_are_told_apart_by_more_than_epsilon(
    codewords: int, dimensions: int, nearest: int, seeds: int, epsilon: float | str
) -> None:
    """Over all pairs of vectors in the ball and all payloads, in rationals: e^eps at most, and some by as much, but
    for a part of 2^-40. All rows add up to 1, and no payload is impossible for any vector."""
    mechanism = Codewords(Epsilon.of(epsilon), dimensions, 2, codewords, nearest, seeds)
    ball = [v for v in product(range(-2, 3), repeat=dimensions) if sum(entry**2 for entry in v) <= 4]
    rows = [[mechanism.probability(payload, pack(v)) for payload in mechanism.payloads()] for v in ball]
    assert all(sum(row) == 1 and min(row) > 0 for row in rows)
    worst = max(max(chances) / min(chances) for chances in zip(*rows, strict=True))
    assert worst <= mechanism.epsilon.exp
    assert worst >= mechanism.epsilon.exp * (1 - Fraction(1, 1 << 40))


@pytest.mark.parametrize(("codewords", "dimensions", "nearest", "seeds"), TINY)
def test_the_seed_says_nothing(codewords: int, dimensions: int, nearest: int, seeds: int) -> None:
    """Of every vector each seed is as likely; and of its codewords exactly so many are likelier."""
    mechanism = Codewords(Epsilon.of(1), dimensions, 5, codewords, nearest, seeds)
    for value in ([0] * dimensions, [5] + [0] * (dimensions - 1), [-2] * dimensions):
        for seed in range(seeds):
            own = [mechanism.probability(seed * codewords + number, pack(value)) for number in range(codewords)]
            assert sum(own) == Fraction(1, seeds)
            assert Counter(own) == {max(own): nearest, min(own): codewords - nearest}


@pytest.mark.parametrize("dimensions", [16, 64, 256, 1024])
@pytest.mark.parametrize(("epsilon", "most"), [(1, 1.01), (2, 1.01), (4, 1.02), (8, 1.07)])
def test_the_variance_is_next_to_that_of_the_best(dimensions: int, epsilon: int, most: float) -> None:
    """n Var of all entries together, over PrivUnit's at its own best threshold."""
    mechanism = Codewords.best(Epsilon.of(epsilon), dimensions, 1000)
    own = 1 / mechanism.reach**2 - 1
    assert 1 < own / privunit(dimensions, epsilon) < most
    none, whole = mechanism.spread
    assert dimensions * none + whole == pytest.approx(1 - mechanism.reach**2)  # of a vector along one entry
    assert dimensions * mechanism.variance / 1000**2 == pytest.approx(own, rel=0.15)


def test_the_nearest_are_as_many_as_tell_most() -> None:
    """No other number of them makes the mean codeword longer."""
    for epsilon, dimensions in ((0.1, 1), (1, 40), (4, 7), (8, 1000)):
        best = Codewords.best(Epsilon.of(epsilon), dimensions, 9)
        every = [
            Codewords(Epsilon.of(epsilon), dimensions, 9, best.codewords, nearest, 1).reach
            for nearest in range(1, min(best.codewords // 2, 3 * best.nearest) + 1)
        ]
        assert best.reach == max(every) == every[best.nearest - 1]


@pytest.mark.parametrize(("entries", "codewords", "nearest"), [(2, 256, 79), (2, 2, 1), (3, 64, 1), (40, 256, 20)])
def test_cosines_are_those_of_draws(entries: int, codewords: int, nearest: int) -> None:
    """10,000 codebooks: their means are within 5.5 standard errors of the integrals, but for 10^-9."""
    generator = np.random.default_rng(entries)
    found = cosines(entries, codewords, nearest)
    means = []
    for _ in range(10):
        along, across = generator.normal(size=(1000, codewords)), generator.chisquare(entries - 1, (1000, codewords))
        nearly = np.sort(along / np.sqrt(along**2 + across), axis=1)[:, -nearest:]
        means += [(row.mean(), (row**2).mean()) for row in nearly]
    for value, drawn in zip(found, np.array(means).T, strict=True):
        assert abs(value - drawn.mean()) < 5.5 * drawn.std() / math.sqrt(len(drawn)) + 1e-9


VECTORS = [("sparse", [1.0] + [0.0] * 15), ("dense", [0.25, -0.25] * 8), ("zero", [0.0] * 16),
           ("short", [0.3] + [0.0] * 14 + [-0.4]), ("few", [0.6] * 2 + [0.0] * 12 + [-0.37] * 2)]  # fmt: skip


def reported(mechanism: Codewords, share: list[float], count: int) -> tuple[NDArray[np.float64], list[int]]:
    """What so many devices with one vector say, as ingest counts it, and their entries on the grid."""
    places = [int(mechanism.bound * entry) for entry in share]
    rows = np.repeat(twins.inputs(mechanism, [pack(places)]), count, axis=0)
    sent = twins.draw(mechanism, rows, np.random.default_rng(len(share)))
    assert isinstance(mechanism.shape, Codeword)
    return directions(mechanism.shape, sent.astype(np.uint64)), places


@pytest.mark.parametrize("share", [each for _, each in VECTORS], ids=[name for name, _ in VECTORS])
def test_the_mean_is_the_vector_whatever_it_is(share: list[float]) -> None:
    """4,000 devices with codebooks of their own at epsilon 8, naming the very nearest of 256: every entry, and the
    length along the vector, is within 5.8 standard errors of what it is; a false alarm is rarer than one in 10^6.

    There the ends of the table matter most. A length that is wrong by 4% of the clip would be seen.
    """
    count, mechanism = 4_000, Codewords(Epsilon.of(8), 16, 10_000, 256, 1, 1 << 40)
    counted, places = reported(mechanism, share, count)
    (means,), (variances,) = moments(mechanism, np.array([places]))
    along = np.array(places) / max(math.hypot(*places), 1)
    error = (counted @ along).std() / math.sqrt(count)
    assert abs((counted @ along).mean() - means @ along) <= 5.8 * error <= 0.04 * codebook.LENGTH * mechanism.reach
    assert (abs(counted.mean(axis=0) - means) < 5.8 * np.sqrt(variances / count)).all()
    assert counted.var(axis=0) == pytest.approx(variances, rel=0.16)


def test_the_law_that_simulations_draw_from_is_that_of_codebooks() -> None:
    """Means and second moments of 20,000 draws of each, of three entries: within 5.8 standard errors."""
    mechanism = Codewords.best(Epsilon.of(2), 3, 1000)
    counted, places = reported(mechanism, [0.8, 0.0, -0.5], 20_000)
    law = named(mechanism, np.repeat([places], 20_000, axis=0), np.random.default_rng(4)).astype(np.float64)
    for one, other in (
        (counted, law),
        (counted**2, law**2),
        (counted[:, :2] * counted[:, 1:], law[:, :2] * law[:, 1:]),
    ):
        error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / len(one))
        assert (abs(one.mean(axis=0) - other.mean(axis=0)) < 5.8 * error).all()
    (means,), (variances,) = moments(mechanism, np.array([places]))
    assert (abs(law.mean(axis=0) - means) < 5.8 * np.sqrt(variances / len(law))).all()
    assert law.var(axis=0) == pytest.approx(variances, rel=0.06)


def test_the_estimate_is_in_steps_of_the_grid() -> None:
    """Reports that all name one codeword say its direction, longer by the reach; errors are those of the spread."""
    mechanism = Codewords.best(Epsilon.of(1), 2, 500)
    counters = np.array([100, *[100 * 1000, 0], *[100 * 1000**2, 0]])
    found = entries(mechanism, counters)
    first, second = found.estimate(0.95, Target.REPORTING)
    assert first[0] == pytest.approx(1000 / codebook.LENGTH / mechanism.reach * 500)
    assert second[0] == 0
    assert first[1] == pytest.approx(math.sqrt((mechanism.variance + 0.25) / 100), rel=1e-6)
    population = found.estimate(0.95, Target.POPULATION)
    assert population[0][1] < first[1]  # reports that are all the same are luck, which is believed by a half


def test_an_audit_measures_its_epsilon() -> None:
    """From the outside, by what codewords tell alone: built for 1.4, it measures more than 1 in 10,000 reports, and
    no more than it spends. It has 16 codewords here, which take a tenth of the time; the long version has all."""
    metric = asked("vector", 'dimensions = 1\nclip = 1\nnorm = "l2"\nepsilon = 1.4\n')
    assert isinstance(metric.kind, Vector)
    few = Codewords(metric.epsilon, 1, metric.kind.bound, 16, 6, 1 << 40)
    (found,) = audit(replace(metric, columns=(replace(metric.columns[0], mechanism=few),)), 10_000)
    assert 1 < found.measured <= 1.4


def test_every_vector_takes_equally_many_words() -> None:
    """From the same random words, whatever the vector."""
    mechanism = Codewords(Epsilon.of(1), 2, 50, 8, 3, 1 << 40)
    words = [randomness.word() for _ in range(50)]
    left = set()
    for value in ([0, 0], [50, 0], [-25, 25]):
        randomness._buffer[:] = words
        mechanism.randomize(pack(value))
        left.add(len(randomness._buffer))
    randomness._buffer.clear()
    assert left == {46}


def test_a_vector_that_is_too_long_is_refused() -> None:
    """Its l2 norm is what counts."""
    mechanism = Codewords(Epsilon.of(1), 2, 5, 8, 3, 4)
    mechanism.randomize(pack([-3, 4]))
    with pytest.raises(ValueError, match="l2 norm is at most 5"):
        mechanism.randomize(pack([-4, 4]))


@pytest.mark.parametrize(
    ("dimensions", "bound", "codewords", "nearest", "seeds", "says"),
    [
        (0, 5, 8, 1, 4, "1 to 4096 dimensions"),
        (4097, 5, 8, 1, 4, "1 to 4096 dimensions"),
        (2, 0, 8, 1, 4, "at least 1"),
        (2, 5, 8, 0, 4, "from 1 to 7 of 8"),
        (2, 5, 8, 8, 4, "from 1 to 7 of 8"),
        (2, 5, 8, 1, 0, "at least 1 seed"),
        (2, 5, 256, 1, (1 << 40) + 1, "2\\^48"),
    ],
)
def test_codewords_that_can_not_be_are_refused(
    dimensions: int, bound: int, codewords: int, nearest: int, seeds: int, says: str
) -> None:
    """No vector, no codeword that is nearest or is not, no room for the seed."""
    with pytest.raises(ValueError, match=says):
        Codewords(Epsilon.of(1), dimensions, bound, codewords, nearest, seeds)


def test_the_table_on_the_page_is_that_of_the_code() -> None:
    """`python -m tools.vectors --write` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    assert placed(page) == page
