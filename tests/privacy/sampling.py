"""Does a sampler follow its channel? A chi-square test whose false alarms and whose blindness are both known.

words:
  alarm    the chance that a right sampler is rejected, and that one whose epsilon is 5% off is not
  bin      payloads next to each other, counted together so that each bin is expected often

Pearson's statistic of a right sampler follows chi-square; of a wrong one, chi-square off centre by
reports * sum (wrong - right)^2 / right. The number of reports is the least that keeps both chances. The statistics of
several inputs are added up: an epsilon that is off is off for all of them, and takes under half the reports of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, chndtrinc

from deniable.mechanisms import Mechanism
from privacy.channels import detuned, exact_channel

__all__ = ["Plan", "design", "notices", "plan", "rejects", "strays"]

_Row = Sequence[float]
_BINS = 32
"""At most."""
_SURPLUS = 1.2
"""More reports than the formula wants, for what it leaves out."""
_FAINT = 1e-9
"""So near to each other are chances that are the same but for rounding, or that no number of reports tells apart."""
_EXPECTED = 500
"""So many reports in every bin, and the statistic follows chi-square as far out as is asked here."""


@dataclass(frozen=True)
class Plan:
    """How to test the rows of some inputs, all together."""

    reports: int
    """How many to draw of each input."""
    bins: tuple[dict[int, int], ...]
    """For each input the bin of every payload."""
    expected: tuple[tuple[float, ...], ...]
    """For each input the chance of every bin."""
    wrong: tuple[tuple[float, ...], ...]
    """What the chances of the bins are where epsilon is 5% larger."""
    alarm: float
    """The chance that a right sampler is rejected."""


def plan(mechanism: Mechanism, values: Sequence[int], alarm: float) -> Plan:
    """The test of some inputs' rows that is wrong that seldom, either way."""
    right, wrong = ([_row(each, value) for value in values] for each in (mechanism, detuned(mechanism)))
    return design(list(mechanism.payloads()), right, wrong, alarm)


def design(payloads: Sequence[int], right: Sequence[_Row], wrong: Sequence[_Row], alarm: float) -> Plan:
    """The test that tells the chances of some payloads, a row an input, from other ones."""
    places = [_binned(row) for row in right]
    expected, other = (
        [np.bincount(own, np.asarray(row)) for own, row in zip(places, rows, strict=True)] for rows in (right, wrong)
    )
    degrees = _degrees(expected)
    assert degrees, "one bin tells nothing apart: take another point of the grid for sampling"
    distance = sum(float(((off - own) ** 2 / own).sum()) for own, off in zip(expected, other, strict=True))
    assert distance > _FAINT, (
        "these chances are the same whatever epsilon is, and tell nothing of it: take other inputs"
    )
    off_centre = float(chndtrinc(chdtri(degrees, alarm), degrees, alarm))
    reports = int(_SURPLUS * off_centre / distance)
    assert reports * min(row.min() for row in expected) > _EXPECTED, "take another point of the grid for sampling"
    bins = tuple(dict(zip(payloads, own, strict=True)) for own in places)
    near, far = (tuple(tuple(row.tolist()) for row in rows) for rows in (expected, other))
    return Plan(reports, bins, near, far, alarm)


def rejects(planned: Plan, mechanism: Mechanism, values: Sequence[int]) -> bool:
    """Whether the mechanism's draws are too far from what is expected."""
    return strays(planned, [map(mechanism.randomize, repeat(value, planned.reports)) for value in values])


def notices(planned: Plan) -> bool:
    """Whether draws from the channel whose epsilon is 5% larger are too far; numpy draws whole bins of them."""
    generator = np.random.default_rng()
    return too_far(planned, [generator.multinomial(planned.reports, row / np.sum(row)) for row in planned.wrong])


def strays(planned: Plan, sent: Sequence[Iterable[int]]) -> bool:
    """Whether as many payloads of each input as were planned are too far from what is expected."""
    counts = [np.zeros(len(row), dtype=np.int64) for row in planned.expected]
    for own, bins, payloads in zip(counts, planned.bins, sent, strict=True):
        for payload, often in Counter(payloads).items():
            own[bins[payload]] += often
    return too_far(planned, counts)


def too_far(planned: Plan, counts: Sequence[NDArray[np.int64]]) -> bool:
    """Whether the counts of the bins, a row an input, are too far from what is expected."""
    statistic = 0.0
    for seen, row in zip(counts, planned.expected, strict=True):
        assert seen.sum() == planned.reports
        expected = planned.reports * np.array(row)
        statistic += float(((seen - expected) ** 2 / expected).sum())
    return bool(chdtrc(_degrees(planned.expected), statistic) < planned.alarm)


def _degrees(rows: Sequence[Sequence[float] | NDArray[Any]]) -> int:
    return sum(len(row) - 1 for row in rows)


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
