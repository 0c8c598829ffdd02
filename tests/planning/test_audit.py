"""The audit: what it measures is at most the claim, and near it; and more than the claim where that is not true.

A measured epsilon is too large by chance less than once in a million claims, and too small for these tests as seldom.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest

from deniable import Collection, Epsilon, Metric
from deniable.mechanisms import MECHANISMS, RandomizedResponse
from deniable.randomness import WORD, word
from deniable_aggregator.planning.audit import Finding, audit
from mechanisms.registered import ASKED
from planning.everything import COLLECTION

AUDITED = {each.name: each for each in ASKED.values() if each.audited}
REPORTS = {name: asked.audited for name, asked in AUDITED.items()}
"""As many reports as tell 0.9 and 1.15 from 1."""
FEW = 50_000
"""Reports that tell 1.4 from 1: they measure 1.22 and more, with a standard deviation of 0.04 at most."""
QUICK = [name for name, reports in REPORTS.items() if reports <= 1_000_000 and not name.endswith("remembered")]


def metrics(epsilon: str) -> dict[str, Metric]:
    """All of them, at one epsilon."""
    tables = [f'[metrics.{name}]\ndescription = "d"\nepsilon = {epsilon}\n{asked.table}\n'
              for name, asked in AUDITED.items()]  # fmt: skip
    return dict(Collection.loads(COLLECTION + "".join(tables)).metrics)


ONE, WRONG, VERY_WRONG = metrics("1"), metrics("1.15"), metrics("1.4")
QUICKLY = pytest.mark.parametrize("name", QUICK)
DEEPLY = pytest.mark.parametrize("name", REPORTS)


def by_claim(findings: list[Finding]) -> dict[str, Finding]:
    """The findings, by the claim."""
    return {finding.claim: finding for finding in findings}


def check_honest(name: str, reports: int, least: float) -> None:
    """At epsilon 1 it measures at most 1, and at least so much; every claim holds."""
    found = by_claim(audit(ONE[name], reports))
    assert all(finding.holds for finding in found.values()), found
    assert found["epsilon"].claimed == 1
    assert found["epsilon"].measured >= least, found
    assert (ONE[name].instantaneous is not None) == ("instantaneous_epsilon" in found)


def check_broken(metric: Metric, reports: int) -> None:
    """Built for a larger epsilon and claiming 1, it measures more than 1."""
    broken = replace(metric, epsilon=Epsilon.of(1))
    assert not by_claim(audit(broken, reports))["epsilon"].holds


def test_every_mechanism_is_audited() -> None:
    """No mechanism gets into a collection file without being audited here."""
    assert {mechanism.name for metric in ONE.values() for mechanism in metric.mechanisms} == set(MECHANISMS)


@QUICKLY
def test_a_metric_measures_no_more_than_it_spends_and_more_than_if_it_spent_less(name: str) -> None:
    """Built for 1.4, of which all claims hold, it measures at most that and more than 1: had it claimed 1, whatever
    its mechanism, it would be caught. The claim is no part of the measurement."""
    found = by_claim(audit(VERY_WRONG[name], FEW))
    assert all(finding.holds for finding in found.values()), found
    assert not replace(found["epsilon"], claimed=1.0).holds, found
    (few,) = audit(replace(VERY_WRONG[name], epsilon=Epsilon.of(1)), 2)
    assert (found["epsilon"].claimed, few.claimed) == (1.4, 1.0)


def test_a_metric_that_spends_40_percent_more_is_caught() -> None:
    """Built for 1.4 and claiming 1; one that is built for 1 is not, and measures not much less."""
    check_honest("yes", FEW, 0.7)
    check_broken(VERY_WRONG["yes"], FEW)


@pytest.mark.deep
@pytest.mark.timeout(1800)
@DEEPLY
def test_every_mechanism_measures_what_it_claims(name: str) -> None:
    """The long version: between 0.9 and 1."""
    check_honest(name, REPORTS[name], 0.9)


@pytest.mark.deep
@pytest.mark.timeout(1800)
@DEEPLY
def test_every_mechanism_that_spends_15_percent_more_is_caught(name: str) -> None:
    """The long version."""
    check_broken(WRONG[name], REPORTS[name])


def test_an_instantaneous_claim_that_is_wrong_is_caught() -> None:
    """What one report tells of what is remembered is a claim of its own."""
    metric = ONE["yes_remembered"]
    assert metric.instantaneous is not None
    honest = by_claim(audit(metric, 50_000))["instantaneous_epsilon"]
    assert honest.claimed == 0.5
    assert 0.4 <= honest.measured <= 0.5
    less = replace(metric, instantaneous=Epsilon.of(float(metric.instantaneous) / 1.4))
    claimed = by_claim(audit(less, 2))["instantaneous_epsilon"].claimed
    assert claimed == pytest.approx(0.5 / 1.4)
    assert not replace(honest, claimed=claimed).holds


def test_a_column_that_depends_on_the_answer_gives_it_away() -> None:
    """Devices that answer the flag that is set, instead of a drawn one, are found out whatever they say of it."""

    class Careless(type(ONE["drawn"].kind)):  # type: ignore[misc]
        def encode(self, value: list[str], *_: object) -> tuple[int, int]:
            return (0, 1) if value else (1, 0)

    kind = ONE["drawn"].kind
    careless = replace(ONE["drawn"], kind=Careless(kind.flags))  # type: ignore[attr-defined]
    (finding,) = audit(careless, 20_000)
    assert finding.measured > 5


def test_of_many_values_the_one_that_is_told_too_often_is_caught_whichever_it_is() -> None:
    """Of a hundred values, too many to learn what each symbol says, one is told five times as often as the claim
    allows. It measures 2.1, with a standard deviation of 0.1."""

    class Blurting(RandomizedResponse):
        blurted: ClassVar[int]

        def remember(self, value: int) -> int:
            return value if value == self.blurted and word() < WORD // 8 else self.randomize(value)

    metric = Collection.loads(f"""{COLLECTION}[metrics.many]
description = "d"
epsilon = 1
kind = "category"
mechanism = "randomized_response"
values = {[f"v{number}" for number in range(100)]}
""").metrics["many"]
    (column,) = metric.columns
    for Blurting.blurted in (0, 99):
        blurting = Blurting(metric.epsilon, 100)
        (found,) = audit(replace(metric, columns=(replace(column, mechanism=blurting),)), 40_000)
        assert not found.holds


def test_few_reports_prove_nothing() -> None:
    """Two reports, and no reports of some columns, are no proof of anything."""
    for metric in ONE.values():
        for finding in audit(metric, 2):
            assert finding.measured == 0
            assert finding.holds
