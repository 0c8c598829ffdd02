"""Every mechanism against the suite in conformance.py, as its cases say.

The samplings together raise a false alarm once in a million runs, and miss a sampler whose epsilon is 5% off as
seldom.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deniable.mechanisms import MECHANISMS, Laplace, Mechanism
from mechanisms.registered import CASES
from planning.everything import collection
from privacy.channels import exact_channel
from privacy.conformance import ExactConformance, Family, SampledConformance
from support.commands import ROOT

FAMILIES = [family for cases in CASES.values() for family in cases.families]
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


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """Nobody else asks for these channels, which are half a gigabyte."""
    yield
    exact_channel.cache_clear()


class TestExactly(ExactConformance):
    """All families, over their grids."""


class TestSampled(SampledConformance):
    """All families, where samples tell."""


def test_every_registered_mechanism_is_judged_and_sampled() -> None:
    """No mechanism gets into a collection file without passing here, or a file of its own that proves it."""
    proved = {name for name, cases in CASES.items() if cases.proved}
    assert {each.name for each in SUBJECTS} == {each.name for each in SAMPLED} == set(MECHANISMS) - proved
    assert all((ROOT / CASES[name].proved).exists() for name in proved)


@pytest.mark.parametrize(("family", "point"), [(family, point) for family in FAMILIES for point in family.refused])
def test_parameters_that_make_no_mechanism_are_refused(family: Family, point: tuple[str, int]) -> None:
    """The constructor raises a ValueError: no invalid mechanism exists."""
    with pytest.raises(ValueError, match=r"\d"):
        family.at(*point)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_column_of_any_kind_claims_more_than_its_metric(epsilon: float) -> None:
    """Whichever one a device answers is held to what the ledger is charged for it."""
    for metric in collection(epsilon).metrics.values():
        assert {column.mechanism.epsilon for column in metric.columns} == {metric.epsilon}, metric.name
