"""Projective geometry response, the aggregator's half: the transform is the definition, exactly, and fast."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.epsilon import Epsilon
from deniable.mechanisms import ProjectiveGeometryResponse
from deniable.payload import Symbol
from deniable_aggregator.analysis.windows import scaled
from deniable_aggregator.estimators import divisible
from deniable_aggregator.estimators._frequencies import Frequencies
from deniable_aggregator.estimators.projective_geometry import _most, frequencies, supports
from support.asked import asked
from support.counting import calls

SMALL = [(2, 3), (2, 7), (3, 3), (3, 5), (5, 3), (5, 4), (7, 3), (11, 3), (17, 3)]
"""Orders and dimensions of geometries of up to 307 points."""
LARGE = [(2, 19), (3, 12), (5, 9), (7, 7), (13, 6), (79, 4), (257, 3), (719, 3)]
"""Of 66,307 to 524,287 points: the largest that a category of 65,536 values is asked with."""


def points(order: int, dimensions: int) -> int:
    """How many points a geometry has."""
    return int((order**dimensions - 1) // (order - 1))


def coefficients(order: int, dimensions: int) -> NDArray[np.int64]:
    """For every number, the coefficients of its polynomial, the lowest first: 0 is 1, q n + b + 1 is x a + b."""
    rows = np.zeros((points(order, dimensions), dimensions), np.int64)
    rows[0, 0] = 1
    parents, last = np.divmod(np.arange(len(rows) - 1), order)
    for degree in range(1, dimensions):
        own = slice(points(order, degree), points(order, degree + 1))
        rows[own, 1:] = rows[parents[own.start - 1 : own.stop - 1], :-1]
        rows[own, 0] = last[own.start - 1 : own.stop - 1]
    return rows


def defined(
    counters: Sequence[NDArray[np.int64]], order: int, dimensions: int, answers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each counters and some answers, the reports whose product with them has no x^(t-1): the definition."""
    rows = coefficients(order, dimensions)
    supporting = (rows @ rows[answer, ::-1] % order == 0 for answer in answers)
    return np.array([[own[found].sum() for own in counters] for found in supporting]).T


@pytest.mark.parametrize("most", [1, 1000, 1 << 54])
@pytest.mark.parametrize(("order", "dimensions"), SMALL)
def test_the_transform_is_the_definition(order: int, dimensions: int, most: int) -> None:
    """For every answer of a small geometry, with few reports and with so many that doubles could not add them up."""
    counters = np.random.default_rng(most).integers(0, most + 1, points(order, dimensions))
    (expected,) = defined([counters], order, dimensions, np.arange(len(counters)))
    assert (supports(counters, order, dimensions) == expected).all()


@pytest.mark.parametrize(("order", "dimensions"), LARGE)
def test_large_transforms_are_exact_at_the_margin_and_beyond(order: int, dimensions: int) -> None:
    """With as many reports as one transform takes, all in one counter or over all, and with a thousand times more.

    All in one counter is the worst case of the bound on the rounding.
    """
    rng, size = np.random.default_rng(order), points(order, dimensions)
    answers = np.array([0, 1, 2, size - 1, *rng.integers(0, size, 3)])
    most = _most(order, dimensions - 1)
    assert most > 10**7
    spread = rng.multinomial(most, np.full(size, 1 / size))
    single = np.zeros(size, np.int64)
    single[-2] = most
    every = [spread, single, spread * 1024 + single]
    for counters, expected in zip(every, defined(every, order, dimensions, answers), strict=True):
        assert (supports(counters, order, dimensions)[answers] == expected).all()


def test_large_transforms_work_on_arrays() -> None:
    """Half a million counters take as many steps as a transform of 400 has, times what its digits are more.

    Tables of a geometry are made once, by whichever test is the first to ask for them.
    """

    def steps(order: int, dimensions: int) -> int:
        counters = np.random.default_rng(1).integers(0, 40, points(order, dimensions))
        supports(counters, order, dimensions)
        return calls(lambda: supports(counters, order, dimensions))

    few = steps(3, 6)
    for order, dimensions in LARGE:
        assert steps(order, dimensions) < 4 * few * max(order, dimensions) / 3


def test_as_many_reports_as_there_are_cost_as_much_as_one() -> None:
    """Ten million reports of 1,024 values, added up, are estimated in as many steps as ten."""
    mechanism = ProjectiveGeometryResponse.best(Epsilon.of(1.0), 1024)

    def found(reports: int) -> Frequencies:
        counters = np.random.default_rng(1).multinomial(reports, np.full(mechanism.points, 1 / mechanism.points))
        return frequencies(mechanism, counters)

    found(10)  # what is made once is there now
    assert calls(lambda: found(10**7)) < 1.1 * calls(lambda: found(10))
    assert (found(10**7).reports, len(found(10**7).supports)) == (10**7, 1024)


def test_nothing_is_estimated_from_nothing() -> None:
    """Without reports every support is 0."""
    mechanism = ProjectiveGeometryResponse.best(Epsilon.of(1.0), 100)
    found = frequencies(mechanism, np.zeros(mechanism.points, np.int64))
    assert found.reports == 0
    assert not found.supports.any()


@pytest.mark.parametrize(("inputs", "epsilon"), [(100, 1.0), (256, 3.0), (1024, 0.5)])
def test_estimates_of_real_reports_err_as_the_formula_says(inputs: int, epsilon: float) -> None:
    """Mean squared errors of 200 rounds of 500 devices, all with answer 0, in units of the formula's.

    The mean over rounds lies within 5 of its own standard errors of 1: false one time in a million. An error that
    is 15% off would be seen with a probability of more than 0.999: 1 is off by at least 8 standard errors then.
    """
    mechanism = ProjectiveGeometryResponse.best(Epsilon.of(epsilon), inputs)
    rounds, devices = 200, 500
    ratios = np.empty(rounds)
    for number in range(rounds):
        counters = np.zeros(mechanism.points, np.int64)
        for payload, count in Counter(mechanism.randomize(0) for _ in range(devices)).items():
            counters[payload] = count
        ratios[number] = (
            (frequencies(mechanism, counters).values[1:] ** 2).mean() / float(mechanism.variance) * devices
        )
    spread = ratios.std() / rounds**0.5
    assert abs(ratios.mean() - 1) < 5 * spread
    assert 8 * spread < 0.15


def test_real_reports_estimate_the_population() -> None:
    """Answers of 30%, 20% and 0% of 40,000 devices come out within 5.5 standard errors: false 1 in 10 million."""
    mechanism = ProjectiveGeometryResponse.best(Epsilon.of(2.0), 300)
    shares = {7: 0.3, 250: 0.2, 299: 0.5, 0: 0.0}
    counters = np.zeros(mechanism.points, np.int64)
    for value, share in shares.items():
        for _ in range(round(share * 40_000)):
            counters[mechanism.randomize(value)] += 1
    found = frequencies(mechanism, counters)
    error = (float(mechanism.variance) / 40_000) ** 0.5
    for value, share in shares.items():
        assert abs(found.values[value] - share) < 5.5 * error + 5.5 * (share / 40_000) ** 0.5


@pytest.mark.parametrize(("order", "dimensions"), [(2, 12), (5, 6), (13, 4)])
def test_of_fewer_reports_a_point_is_supported_as_often(order: int, dimensions: int) -> None:
    """A sixth of 9,000 reports: of every point a sixth of its supports, to the nearest whole number."""
    sent = np.random.default_rng(2).multinomial(
        9_000, np.full(points(order, dimensions), 1 / points(order, dimensions))
    )
    fewer = scaled(sent, Symbol(len(sent)), 1 / 6, parts=True)
    found = supports(fewer, order, dimensions)
    assert np.abs(found - supports(sent, order, dimensions) / 6).max() < 1e-6


def test_counters_may_be_parts_where_reports_support_many() -> None:
    """Also where a slot of a set is drawn first; not where a report names what it supports."""
    mechanism = ProjectiveGeometryResponse(Epsilon.of(1), 12, 2, 4)
    assert divisible(mechanism)
    values = 'values = ["a", "b", "c", "d", "e", "f", "g", "h"]\nmax_items = 2\nepsilon = 1'
    for name, parts in (("projective_geometry", True), ("subset_selection", False), ("randomized_response", False)):
        (column,) = asked("set", f'{values}\nmechanism = "{name}"').columns
        assert divisible(column.mechanism) == parts
    few = frequencies(mechanism, np.full(mechanism.shape.counters, 0.25))
    assert few.supports.dtype == np.int64
    assert few.reports == round(mechanism.shape.counters / 4)
