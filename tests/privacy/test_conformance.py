"""Every mechanism against the suite in conformance.py: a new one adds a line to FAMILIES.

The samplings together raise a false alarm once in a million runs, and miss a sampler whose epsilon is 5% off as
seldom.
"""

from __future__ import annotations

import pytest

from deniable.epsilon import Epsilon
from deniable.mechanisms import (
    MECHANISMS,
    BitwiseResponse,
    Exponential,
    Gaussian,
    Hybrid,
    Laplace,
    Mechanism,
    Memoized,
    MemoizedBitwise,
    MemoizedSubset,
    PadAndSample,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
    VectorLaplace,
)
from privacy.conformance import ExactConformance, Family, SampledConformance

EPSILONS = ("0.01", "0.1", "0.5", "1", "ln 3", "2", "4", "8")
DOMAINS = (2, 3, 16, 48, 49, 256, 4096)
STEPS = (1, 2, 7, 60)


def each_event(epsilon: Epsilon, steps: int) -> Laplace:
    """Laplace noise that hides one step, not the whole range."""
    return Laplace(epsilon, steps, 1)


def repeated(epsilon: Epsilon, answers: int) -> Memoized:
    """A remembered answer, told with half of its epsilon every time."""
    return Memoized(RandomizedResponse(epsilon, answers), RandomizedResponse(epsilon.part(2), answers))


def repeated_flags(epsilon: Epsilon, flags: int) -> MemoizedBitwise:
    """Remembered flags, told with half of their epsilon every time."""
    return MemoizedBitwise(BitwiseResponse(epsilon, flags), BitwiseResponse(epsilon.part(2), flags))


def repeated_subset(epsilon: Epsilon, answers: int) -> MemoizedSubset:
    """A remembered subset, of which one answer is named every time."""
    return MemoizedSubset(SubsetSelection.best(epsilon, answers), epsilon.part(2))


def repeated_two_of(epsilon: Epsilon, values: int) -> MemoizedSubset:
    """What is remembered of sets of up to two values, and named every time."""
    return MemoizedSubset(PadAndSample(epsilon, values, 2, "subset_selection"), epsilon.part(2))


def two_of(epsilon: Epsilon, values: int) -> PadAndSample:
    """Sets of up to two values."""
    return PadAndSample(epsilon, values, 2)


# fmt: off
FAMILIES = (
    Family(RandomizedResponse, EPSILONS, DOMAINS, (("ln 3", 2), ("3", 48)), (("1", 1), ("1", 1 << 49))),
    Family(SubsetSelection.best, EPSILONS, DOMAINS, (("2", 8),), (("1", 1), ("1", 0))),
    Family(ProjectiveGeometryResponse.best, EPSILONS, (60, 4096), (("2", 60),), (("1", 1), ("1", 1 << 22))),
    Family(Hybrid, EPSILONS, (13, 41, 131), (("2", 19),), (("1", 11), ("1", 20), ("1", 1003))),
    Family(Laplace, EPSILONS[1:], STEPS, (("1", 1), ("4", 20)), (("1", 0), ("0.001", 1 << 26))),
    Family(Laplace, EPSILONS[2:], (200, 480), (), (("1", -1),)),
    Family(each_event, EPSILONS[1:], STEPS, (("2", 7),), (("1", 0), ("8", 1 << 33))),
    Family(repeated, EPSILONS, DOMAINS[:3], (("4", 3),)),
    Family(Exponential, EPSILONS, (2, 3, 16, 48), (("2", 5),), (("1", 1), ("1", 4097))),
    Family(BitwiseResponse, EPSILONS, (1, 2, 6), (("2", 3),), (("1", 0),)),
    Family(repeated_flags, EPSILONS, (1, 2, 6), (("4", 2),)),
    Family(repeated_subset, EPSILONS, DOMAINS[:4], (("4", 12),)),
    Family(repeated_two_of, EPSILONS, (2, 5), (("4", 8),)),
    Family(two_of, EPSILONS, (2, 5, 10), (("2", 4),), (("1", 1),)),
)
# fmt: on
OF_VECTORS = {Gaussian, VectorLaplace}
"""Their inputs and payloads can not be listed, and one of them has a delta: their own tests prove them."""
SUBJECTS = [mechanism for family in FAMILIES for mechanism in family.grid()]
SAMPLED = [family.at(*point) for family in FAMILIES for point in family.sampled]


def _label(mechanism: Mechanism) -> str:
    event = "-event" if isinstance(mechanism, Laplace) and mechanism.sensitivity < mechanism.steps else ""
    return f"{mechanism.name}{event}-{mechanism.inputs}-{mechanism.epsilon}"


@pytest.fixture(params=FAMILIES, ids=lambda family: f"{_label(family.grid()[0])} and others")
def family(request: pytest.FixtureRequest) -> Family:
    """What is judged exactly."""
    judged: Family = request.param
    return judged


@pytest.fixture(params=SAMPLED, ids=_label)
def sampled(request: pytest.FixtureRequest) -> Mechanism:
    """What is sampled."""
    drawn: Mechanism = request.param
    return drawn


@pytest.fixture(scope="module")
def alarm() -> float:
    """Each sampling's share of one false alarm in a million runs."""
    return 1e-6 / len(SAMPLED)


class TestExactly(ExactConformance):
    """All families, over their grids."""


class TestSampled(SampledConformance):
    """All families, where samples tell."""


def test_every_registered_mechanism_is_judged_and_sampled() -> None:
    """No mechanism gets into a collection file without passing here."""
    judged = set(MECHANISMS.values()) - OF_VECTORS
    assert {type(each) for each in SUBJECTS} == {type(each) for each in SAMPLED} == judged


@pytest.mark.parametrize(("family", "point"), [(family, point) for family in FAMILIES for point in family.refused])
def test_parameters_that_make_no_mechanism_are_refused(family: Family, point: tuple[str, int]) -> None:
    """The constructor raises a ValueError: no invalid mechanism exists."""
    with pytest.raises(ValueError, match=r"\d"):
        family.at(*point)
