"""The least change that is seen: between two answers of so many devices each, at 5%, in eight of ten cases.

words:
  side     one of the two answers, as `deniable compare` has it; drawn a few times, since its reaches vary little
  reach    how far a difference has to lie from none so that its 95% interval leaves none out
  seen     the change at which the interval leaves none out in 80 of 100 cases
  apart    with other devices on each side, and that said; else nothing is known of the devices: reaches are longer

A difference of normal noise with the error s is beyond a reach r with the chance of 80% where it is r + 0.8416 s in
truth: what is on the other side counts for less than one in 10^6. Where nothing is known of the devices, s is that of
other devices on each side; the same ones, answering alike, have less of it, and their changes are seen more often.

Of a share that is counted by its own reports the error at the share after the change is known as well, and the change
is found with it. Of all else both sides are taken to be as uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Boolean, Category, Flags, Quantity, Set, Vector
from deniable.payload import Integer
from deniable_aggregator.analysis.sides import Side, quantile, side
from deniable_aggregator.answers import Measure, RowId, Target, truth
from deniable_aggregator.estimators import Frequencies, Means, frequencies, means
from deniable_aggregator.planning.population import Fleet, evenly
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.planning.widths import MOST, MOST_VECTORS, looked_at

__all__ = ["POWER", "Seen", "seen"]

POWER = 0.8
"""How often a change is seen that is called seen."""
_CONFIDENCE = 0.95
_DRAWN, _ROUNDS = 8, 30
_COUNTED = (Boolean, Category, Flags, Set)
"""Kinds each of whose shares is counted by its own reports."""
_Floats = NDArray[np.float64]


class Seen(NamedTuple):
    """The least change of a row that is seen."""

    change: float
    """By `deniable compare` as it is, which knows nothing of the devices."""
    apart: float
    """By `deniable compare --apart`."""


class _Reaches(NamedTuple):
    """Of a row: squares, of one side, on average over what devices draw."""

    error: float
    """Of its error."""
    whole: float
    """Of its reach."""
    values: float
    """Of the reach that is of the devices' values."""


def seen(metric: Metric, devices: int, fleet: Fleet | None = None) -> dict[RowId, Seen]:
    """Of every row that a comparison tells and that every answer has; totals change with the number of reports. Where
    a part of the devices is asked, of as many as that is."""
    generator, devices = np.random.default_rng(devices), max(round(devices * metric.sample), 1)
    drawn = fleet or evenly(metric)
    many = min(devices, MOST_VECTORS if isinstance(metric.kind, Vector) else MOST)
    every = [_reaches(metric, drawn, many, generator) for _ in range(_DRAWN)]
    rows = [where for where in every[0] if all(where in each for each in every)]
    part = many / devices
    found = {where: _mean([each[where] for each in every], part) for where in rows}
    counted = _counted_by(metric)
    if counted is None:
        return {where: _alike(own) for where, own in found.items()}
    known, (start, end) = truth(metric, looked_at(drawn, devices)), _ends(metric)
    asked = replace(counted, reports=max(devices // len(metric.columns), 1))
    told = {}
    for where, own in found.items():
        in_ranges = _Reaches(*(square / (end - start) ** 2 for square in own))
        changes = _counted(asked, (known[where] - start) / (end - start), in_ranges)
        told[where] = Seen(*((end - start) * change for change in changes))
    return told


def _counted_by(metric: Metric) -> Frequencies | None:
    """What counts a share, or the mean of a quantity that is asked in one bit; None where nothing does."""
    mechanism = metric.columns[0].mechanism
    nothing = np.zeros(mechanism.shape.counters, dtype=np.int64)
    if isinstance(metric.kind, Quantity):
        if isinstance(mechanism.shape, Integer):
            return None
        found = means(mechanism, nothing)
        return None if isinstance(found, Means) else found.frequencies
    return frequencies(mechanism, nothing) if isinstance(metric.kind, _COUNTED) else None


def _ends(metric: Metric) -> tuple[float, float]:
    return metric.kind.ends if isinstance(metric.kind, Quantity) else (0.0, 1.0)


def _reaches(metric: Metric, fleet: Fleet, many: int, generator: np.random.Generator) -> dict[RowId, _Reaches]:
    """From one answer that is drawn."""
    return dict(_rows(side(metric, [simulate(metric, fleet(many, generator), generator)], _CONFIDENCE)))


def _rows(own: Side) -> Iterator[tuple[RowId, _Reaches]]:
    found = own.estimate
    for place, (where, heading, row) in enumerate(zip(found.ids, found.headings, found.rows, strict=True)):
        whole, values = float(own.whole[:, place].mean()), float(own.values[:, place].mean())
        if not heading.chance and heading.measure is not Measure.TOTAL and math.isfinite(whole + row.std_error):
            yield where, _Reaches(row.std_error**2, whole, values)


def _mean(every: list[_Reaches], part: float) -> _Reaches:
    """On average, as of as many devices as there are."""
    return _Reaches(*(part * math.fsum(own) / len(every) for own in zip(*every, strict=True)))


def _alike(own: _Reaches) -> Seen:
    """Of two sides that are as uncertain."""
    noise = NormalDist().inv_cdf(POWER) * math.sqrt(2 * own.error)
    return Seen(*(math.sqrt(2 * own.whole + more) + noise for more in (2 * own.values, 0.0)))


def _counted(found: Frequencies, share: float, own: _Reaches) -> Seen:
    """Of a share, towards the middle: the one after is as uncertain as it is then. The change that was found says
    what it is next; as the error changes by little, that settles."""
    z, normal = quantile(_CONFIDENCE), NormalDist().inv_cdf(POWER)

    def error(other: float) -> float:
        counted = found.reports * (found.q + min(max(other, 0.0), 1.0) * (found.p - found.q))
        asked = replace(found, supports=np.array([round(counted)]))
        return float(asked.std_errors(Target.POPULATION)[0]) ** 2

    before, changes = error(share), []
    for known in (False, True):
        change = 0.0
        for _ in range(_ROUNDS):
            after = error(share + change if share <= 0.5 else share - change)
            # Values vary by f (1 - f) / n: towards the middle by more, and never by more than all of the error.
            more = 0.0 if known else 2 * math.sqrt(own.values * min(_values(share, change, own), z**2 * after))
            change = math.sqrt(z**2 * (before + after) + more) + normal * math.sqrt(before + after)
        changes.append(change)
    return Seen(*changes)


def _values(share: float, change: float, own: _Reaches) -> float:
    """The part of the devices' values after a change."""
    other = min(share + change, 1.0) if share <= 0.5 else max(share - change, 0.0)
    varies = share * (1 - share)
    return own.values * other * (1 - other) / varies if varies else own.values
