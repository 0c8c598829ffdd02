"""The least change that is seen: between two answers of so many devices each, at 5%, in eight of ten cases.

words:
  side     one of the two answers, as `deniable compare` has it; drawn some times, more often of few devices
  reach    how far a difference has to lie from none so that its 95% interval leaves none out: of a change upwards it
           is made of how far the side before goes up and the one after down
  seen     the change at which the interval leaves none out in 80 of 100 cases
  apart    with other devices on each side, and that said; else nothing is known of the devices: reaches are longer

A difference of normal noise with the error s is beyond a reach r with the chance of 80% where it is r + 0.8416 s in
truth: what is on the other side counts for less than one in 10^6. Where nothing is known of the devices, s is that of
other devices on each side; the same ones, answering alike, have less of it, and their changes are seen more often.

Of a share that is counted by its own reports the error at the share after the change is known as well, and the change
is found with it. Of any other row that is a mean over devices (a node of a tree, a cell of a table, an entry of a
vector) it is that of a fleet in which some devices have come to have the one value that moves it farthest: what a
report counts for has a mean square that is a mean over devices, too, and an answer in which all have that value says
how large it is then. Of all else, and of more values than are tried, both sides are taken to be as uncertain.
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
from deniable_aggregator.analysis.sides import Counted, quantile, side
from deniable_aggregator.answers import Measure, RowId, Target, truth
from deniable_aggregator.estimators import Frequencies, Means, frequencies, means
from deniable_aggregator.planning.population import Fleet, Shares, evenly
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.planning.widths import MOST, MOST_VECTORS, looked_at

__all__ = ["POWER", "Seen", "seen"]

POWER = 0.8
"""How often a change is seen that is called seen."""
_CONFIDENCE = 0.95
_DRAWN, _MORE, _REPORTS, _FEW = 8, 32, 32_000, 100_000
"""So many answers are drawn, and more of few devices: of so many reports together, where counters are few."""
_ROUNDS = 30
_TRIED = 64
"""So many values are tried at the most."""
_WHOLE, _NEAR = 200_000, 1e-4
"""A row is a mean over devices where that of so many is near to the mean of each: by a part of how these differ."""
_LEAST = 1e-12
"""Values of which but one occurs do not vary: by so little, as nothing can be divided by nothing."""
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
    down: float
    """Of its reach,"""
    up: float
    """and upwards."""
    values_down: float
    """Of the reach that is of the devices' values,"""
    values_up: float
    """and upwards."""

    def turned(self) -> _Reaches:
        """Seen from the other end."""
        return _Reaches(self.error, self.up, self.down, self.values_up, self.values_down)


def seen(metric: Metric, devices: int, fleet: Fleet | None = None) -> dict[RowId, Seen]:
    """Of every row that a comparison tells and that every answer has; totals change with the number of reports. Where
    a part of the devices is asked, of as many as that is."""
    generator, devices = np.random.default_rng(devices), max(round(devices * metric.sample), 1)
    drawn = fleet or evenly(metric)
    many = min(devices, MOST_VECTORS if isinstance(metric.kind, Vector) else MOST)
    part = many / devices
    often = min(max(_REPORTS // many, _DRAWN), _MORE if _quick(metric) else _DRAWN)
    found = _reaches(metric, drawn, many, generator, often, part)
    counted = _counted_by(metric)
    if counted is None:
        moved = _Moved.of(metric, drawn, many, generator)
        return {where: (moved and moved.seen(where, own, part)) or _alike(own) for where, own in found.items()}
    known, (start, end) = truth(metric, looked_at(drawn, devices)), _ends(metric)
    asked = replace(counted, reports=max(devices // len(metric.columns), 1))
    told = {}
    for where, own in found.items():
        in_ranges = _Reaches(*(square / (end - start) ** 2 for square in own))
        share = (known[where] - start) / (end - start)
        changes = _counted(asked, share, in_ranges if share <= 0.5 else in_ranges.turned())
        told[where] = Seen(*((end - start) * change for change in changes))
    return told


def _quick(metric: Metric) -> bool:
    """Whether its answers take milliseconds: those of texts, whose words are looked for, take a second."""
    return sum(column.shape.counters for column in metric.columns) <= _FEW


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


def _reaches(
    metric: Metric, fleet: Fleet, many: int, generator: np.random.Generator, often: int, part: float = 1.0
) -> dict[RowId, _Reaches]:
    """Of the rows that each of so many answers has; as of as many devices as there are."""
    drawn = (simulate(metric, fleet(many, generator), generator) for _ in range(often))
    every = [dict(_rows(side(metric, [each], _CONFIDENCE))) for each in drawn]
    rows = [where for where in every[0] if all(where in each for each in every)]
    return {where: _mean([each[where] for each in every], part) for where in rows}


def _rows(own: Counted) -> Iterator[tuple[RowId, _Reaches]]:
    found = own.estimate
    for place, (where, heading, row) in enumerate(zip(found.ids, found.headings, found.rows, strict=True)):
        reaches = _Reaches(row.std_error**2, *own.whole[:, place].tolist(), *own.values[:, place].tolist())
        if not heading.chance and heading.measure is not Measure.TOTAL and math.isfinite(sum(reaches)):
            yield where, reaches


def _mean(every: list[_Reaches], part: float) -> _Reaches:
    """On average, as of as many devices as there are."""
    return _Reaches(*(part * math.fsum(own) / len(every) for own in zip(*every, strict=True)))


def _alike(own: _Reaches) -> Seen:
    """Of two sides that are as uncertain."""
    noise = NormalDist().inv_cdf(POWER) * math.sqrt(2 * own.error)
    both = 2 * math.sqrt(own.values_up * own.values_down)
    return Seen(*(math.sqrt(own.up + own.down + more) + noise for more in (both, 0.0)))


class _Moved(NamedTuple):
    """A fleet of which some devices come to have another value."""

    chances: _Floats
    """How often each value occurs."""
    own: dict[RowId, _Floats]
    """What each row would be in truth if all devices had a value, for each of them,"""
    errors: dict[RowId, dict[int, float]]
    """and the square of its error then, for those that move it farthest."""
    devices: int

    @classmethod
    def of(cls, metric: Metric, fleet: Fleet, devices: int, generator: np.random.Generator) -> _Moved | None:
        """From an answer for each value; None where these are not known, or too many."""
        if not isinstance(fleet, Shares) or len(fleet.values) > _TRIED:
            return None
        values = [metric.kind.check(value) for value in fleet.values]
        truths = [truth(metric, [value]) for value in values]
        rows = [where for where in truths[0] if all(where in told for told in truths)]
        own = {where: np.array([told[where] for told in truths]) for where in rows}
        whole = truth(metric, Shares(values, fleet.chances).exactly(_WHOLE))
        means = {
            where: {int(np.argmin(each)), int(np.argmax(each))}
            for where, each in own.items()
            if abs(float(each @ fleet.chances) - whole[where]) < _NEAR * np.ptp(each)
        }
        often = _DRAWN if _quick(metric) else 1
        told = {
            place: _reaches(metric, Shares.of([fleet.values[place]], [1.0]), devices, generator, often)
            for place in sorted(set().union(*means.values()))
        }
        errors = {
            where: {place: told[place][where].error for place in ends}
            for where, ends in means.items()
            if all(where in told[place] for place in ends)
        }
        return cls(np.array(fleet.chances), own, errors, devices)

    def seen(self, where: RowId, own: _Reaches, part: float) -> Seen | None:
        """The change of a row that is a mean over devices, towards the middle; None of another one."""
        if where not in self.errors:
            return None
        values, squares = self.own[where], np.square(self.own[where])
        mean = float(self.chances @ values)
        place = int(np.argmax(values)) if mean <= (values.min() + values.max()) / 2 else int(np.argmin(values))
        far, end, devices = abs(values[place] - mean), part * self.errors[where][place], self.devices / part
        own = own if values[place] > mean else own.turned()

        def after(change: float) -> tuple[float, float]:
            """How many times as large squares are then, of the error and of what is of the devices' values."""
            moved = min(change / far, 1.0)
            there = mean + moved * (values[place] - mean)
            square = (1 - moved) * (own.error + mean**2 / devices) + moved * (end + squares[place] / devices)
            varies = float(self.chances @ squares)
            return (square - there**2 / devices) / own.error, max(
                (1 - moved) * varies + moved * squares[place] - there**2, 0.0
            ) / max(varies - mean**2, _LEAST)

        normal, changes = NormalDist().inv_cdf(POWER), []
        for known in (False, True):
            change = 0.0
            for _ in range(_ROUNDS):
                times, vary = after(change)
                values_after = min(own.values_down * vary, own.down * times)
                more = 0.0 if known else 2 * math.sqrt(own.values_up * values_after)
                change = math.sqrt(own.up + own.down * times + more) + normal * math.sqrt(own.error * (1 + times))
            changes.append(change)
        return Seen(*changes)


def _counted(found: Frequencies, share: float, own: _Reaches) -> Seen:
    """Of a share, towards the middle, where its reaches go up: the one after is as uncertain as it is then. The
    change that was found says what it is next; as the error changes by little, that settles."""
    z, normal, sign = quantile(_CONFIDENCE), NormalDist().inv_cdf(POWER), 1 if share <= 0.5 else -1

    def error(other: float) -> float:
        counted = found.reports * (found.q + min(max(other, 0.0), 1.0) * (found.p - found.q))
        asked = replace(found, supports=np.array([round(counted)]))
        return float(asked.std_errors(Target.POPULATION)[0]) ** 2

    def vary(other: float, square: float) -> float:
        """How much values vary at the most: at the nearest to the middle of what is believed."""
        most = min(max(0.5, other - z * math.sqrt(square)), other + z * math.sqrt(square))
        return max(most * (1 - most), _LEAST)

    before, changes = error(share), []
    for known in (False, True):
        change = 0.0
        for _ in range(_ROUNDS):
            other = min(max(share + sign * change, 0.0), 1.0)
            after = error(other)
            values_after = min(own.values_down * vary(other, after) / vary(share, before), z**2 * after)
            more = 0.0 if known else 2 * math.sqrt(own.values_up * values_after)
            change = math.sqrt(z**2 * (before + after) + more) + normal * math.sqrt(before + after)
        changes.append(change)
    return Seen(*changes)
