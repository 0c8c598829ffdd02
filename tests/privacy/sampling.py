"""Does a sampler follow its channel? A chi-square test whose false alarms and whose blindness are both known.

words:
  alarm    the chance that a right sampler is rejected, and that one whose epsilon is 5% off is not
  bin      payloads next to each other, counted together so that each bin is expected often

Pearson's statistic of a right sampler follows chi-square; of a wrong one, chi-square off centre by
reports * sum (wrong - right)^2 / right. The number of reports is the least that keeps both chances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, chdtri, chndtrinc

from deniable.mechanisms import Mechanism
from privacy.channels import detuned, exact_channel

__all__ = ["Plan", "design", "plan", "rejects", "strays"]

_BINS = 32
"""At most."""
_SURPLUS = 1.2
"""More reports than the formula wants, for what it leaves out."""
_EXPECTED = 500
"""So many reports in every bin, and the statistic follows chi-square as far out as is asked here."""


@dataclass(frozen=True)
class Plan:
    """How to test one input's row."""

    reports: int
    """How many to draw."""
    bins: dict[int, int]
    """The bin of every payload."""
    expected: tuple[float, ...]
    """The chance of every bin."""
    alarm: float
    """The chance that a right sampler is rejected."""


def plan(mechanism: Mechanism, value: int, alarm: float) -> Plan:
    """The test of one input's row that is wrong that seldom, either way."""
    right, wrong = (_row(each, value) for each in (mechanism, detuned(mechanism)))
    return design(list(mechanism.payloads()), right, wrong, alarm)


def design(payloads: Sequence[int], right: Sequence[float], wrong: Sequence[float], alarm: float) -> Plan:
    """The test that tells the chances of some payloads from other ones."""
    places = _binned(right)
    expected, other = np.bincount(places, right), np.bincount(places, wrong)
    degrees = len(expected) - 1
    assert degrees, "one bin tells nothing apart: take another point of the grid for sampling"
    distance = float(((other - expected) ** 2 / expected).sum())
    off_centre = float(chndtrinc(chdtri(degrees, alarm), degrees, alarm))
    reports = int(_SURPLUS * off_centre / distance)
    assert reports * expected.min() > _EXPECTED, "take another point of the grid for sampling"
    bins = dict(zip(payloads, places, strict=True))
    return Plan(reports, bins, tuple(expected.tolist()), alarm)


def rejects(planned: Plan, mechanism: Mechanism, value: int) -> bool:
    """Whether the mechanism's draws are too far from what is expected."""
    return strays(planned, (mechanism.randomize(value) for _ in range(planned.reports)))


def strays(planned: Plan, sent: Iterable[int]) -> bool:
    """Whether as many payloads as were planned are too far from what is expected."""
    seen = Counter(planned.bins[payload] for payload in sent)
    assert seen.total() == planned.reports
    expected = [planned.reports * chance for chance in planned.expected]
    statistic = sum((seen[place] - often) ** 2 / often for place, often in enumerate(expected))
    return bool(chdtrc(len(expected) - 1, statistic) < planned.alarm)


def _binned(row: Sequence[float]) -> list[int]:
    """A bin for each payload: full once it has its share, what is left over goes to the last full one."""
    places, place, mass = [], 0, 0.0
    for chance in row:
        places.append(place)
        mass += chance
        if mass >= 1 / _BINS:
            place, mass = place + 1, 0.0
    return [min(each, place - 1) for each in places]


def _row(mechanism: Mechanism, value: int) -> list[float]:
    channel = exact_channel(mechanism)
    return [channel.cell(payload, value) / channel.whole for payload in mechanism.payloads()]
