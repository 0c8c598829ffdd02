"""Comparisons: by how much an answer differs from another one, or from a baseline, and how sure that is.

words:
  side        one of the two answers: a window, a segment, both; `before` and `after`, also where neither is
  difference  after less before; it is 0 where nothing has changed
  ratio       after over before, where before is known to be above 0
  baseline    numbers that are known without an error, in place of the side before
  kept        what a device brings along to both sides: its value, and remembered noise
  came        of rows that follow the reports, as words do: found after, and not before

**Independent sides.** The interval of a difference takes its reach from those of both sides: down from the reach
down of after and up of before, squared and added (Zou and Donner, 2008). So it is as good as theirs, also where few
reports are expected. A ratio r is believed if after - r before may be 0 (Fieller, 1954, with the same reaches). The
p-value is that of the normal distribution whose interval just meets 0: it is below 1 - confidence exactly where the
interval leaves 0 out.

**The same devices** may stand on both sides, and nobody can tell. What is randomised anew is independent in any case.
Remembered noise is the same on both sides while an answer is unchanged, and independent where it has changed: the
difference has never more of it than if it were independent. Values can be the other way round: where each device
answers on one side what it does not on the other, both sides err in opposite directions. How much values vary is
known for shares, f (1 - f), and bounded for quantities that have two ends. By Cauchy and Schwarz

    var(difference) <= var(before) + var(after) + 2 sqrt(values(before) values(after)),

which is taken where nothing is known. It holds at least as often as it claims, and more often where the devices are
others, or answer as they did.

**What is known can be said.** `apart`: the devices are others, the last term is 0; it is not above 0 either where
whoever answers yes on one side is no less likely to on the other. `changed`: the same devices report on both sides,
and no more than this part of them answers otherwise. What is kept cancels where an answer is unchanged, and

    var(difference) <= anew(before) + anew(after) + changed (kept(before) + kept(after) + size^2 / devices)

is left, where size is how far a device's value can move: exact where no answer has changed. For just the devices that
reported no values are sampled, and only noise counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable_aggregator.analysis.anytime import Held, Looks, held_at
from deniable_aggregator.analysis.sides import Counted, Side, exactly, quantile, side
from deniable_aggregator.analysis.windows import Counters, Windowed, keys_of
from deniable_aggregator.answers import Estimate, Heading, Keys, Measure, Row, RowId, Target

__all__ = ["OTHERS", "UNKNOWN", "Change", "Comparison", "Devices", "against", "compared"]

_Floats = NDArray[np.float64]
_MOST_KNOWN = 1e30
"""More than counters of 64 bits add up to, and little enough for squares of squares to be numbers."""


@dataclass(frozen=True, slots=True)
class Devices:
    """What is known of the devices on both sides; at first nothing: any may stand on both."""

    apart: bool = False
    """No device stands on both sides."""
    changed: float | None = None
    """The same devices report on both sides, and this part of them, at most, has another answer."""

    def __post_init__(self) -> None:
        if self.changed is not None and not 0 <= self.changed <= 1:
            raise ValueError(f"the part of devices that answer otherwise lies between 0 and 1, not {self.changed}")
        if self.apart and self.changed is not None:
            raise ValueError("devices on both sides are others, or the same, not both")


UNKNOWN = Devices()
OTHERS = Devices(apart=True)


@dataclass(frozen=True, slots=True)
class Change:
    """One row on both sides; of its numbers those are nan that nobody knows."""

    key: str
    """What it is about."""
    before: Row
    """The row on the side before; of a baseline, a row without an error."""
    after: Row
    """And after."""
    value: float
    """The difference, not corrected."""
    low: float
    """Lower end of its interval."""
    high: float
    """Upper end of its interval."""
    std_error: float
    """Standard error of the difference."""
    ratio: float
    """After over before, where before is certain to be above 0."""
    ratio_low: float
    """Lower end of its interval."""
    ratio_high: float
    """Upper end of its interval."""
    p_value: float
    """How often so large a difference, or a larger one, would come out if there were none."""
    came: bool = False
    """Whether it is of a row that is found after and was not before, as a word may be. That alone says little: what
    is just frequent enough to be found is found every other time."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two answers of one metric, side by side."""

    before: Windowed
    """The answer that is compared with."""
    after: Windowed
    """The answer that is compared."""
    series: tuple[tuple[Heading, tuple[Change, ...]], ...]
    """Of each series, what stands above it, and its rows as after has them."""
    devices: Devices
    """What was said of the devices on both sides."""

    @property
    def by_id(self) -> dict[RowId, Change]:
        """The changes, by where their rows are found."""
        return {RowId(heading.name, own.key): own for heading, rows in self.series for own in rows}

    def claiming(self, confidence: float, held: Held) -> Comparison:
        """The same, of intervals and p-values that hold at several looks together."""
        series = tuple(
            (heading, tuple(replace(own, p_value=held.chance(own.p_value)) for own in rows))
            for heading, rows in self.series
        )
        sides = self.before.claiming(confidence), self.after.claiming(confidence)
        return Comparison(*sides, series, self.devices)


def compared(
    metric: Metric,
    before: Sequence[Sequence[Counters]],
    after: Sequence[Sequence[Counters]],
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
    devices: Devices = UNKNOWN,
    looks: Looks = Looks.ONE,
    keys: Keys | None = None,
) -> Comparison:
    """How the answer of each epoch's counters differs from that of other ones; with intervals and p-values that hold
    at one look, or at a year of looks at whatever windows. Of rows that are found on any side, or of these `keys`.

    A ValueError where windows grow on both sides: nothing is known of how two sequences go together.
    """
    if looks is Looks.GROWING:
        raise ValueError("growing windows are compared with a baseline; two windows hold at a year of looks at any")
    held = held_at(metric, after, confidence, target, looks)
    asked = held.confidence, target
    one, other = side(metric, before, *asked, keys), side(metric, after, *asked, keys)
    came = _found(other.estimate) - _found(one.estimate)
    if one.estimate.ids != other.estimate.ids:  # rows that were found on one side are asked for on the other
        keys = keys_of([one.estimate, other.estimate])
        one, other = side(metric, before, *asked, keys), side(metric, after, *asked, keys)
    return _comparison(one, other, _together(one, other, devices), devices, came).claiming(confidence, held)


def _found(estimate: Estimate) -> set[RowId]:
    """The rows that follow the reports, as words do."""
    own = (series for series in estimate.series if series.least is not None)
    return {RowId(series.heading.name, row.key) for series in own for row in series.rows}


def against(
    metric: Metric,
    baseline: Mapping[RowId, float],
    after: Sequence[Sequence[Counters]],
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
    looks: Looks = Looks.ONE,
) -> Comparison:
    """How the answer differs from numbers that are known without an error; rows that have none are left out."""
    held = held_at(metric, after, confidence, target, looks)
    found = side(metric, after, held.confidence, target)
    rows = found.estimate.by_id
    for where, value in baseline.items():
        if where not in rows:
            there = ", ".join(f"{own.series}/{own.key}" for own in rows)
            raise ValueError(f"{metric.name} has no row {where.series}/{where.key}; there are {there}")
        if not abs(value) <= _MOST_KNOWN:
            raise ValueError(f"a baseline lies between -{_MOST_KNOWN:g} and {_MOST_KNOWN:g}, not at {value:g}")
    known = [baseline.get(where, math.nan) for where in rows]
    fixed = [
        Row(row.key, value, value, value, 0.0, row.parent) for row, value in zip(rows.values(), known, strict=True)
    ]
    whole = _comparison(exactly(found.estimate.with_rows(fixed)), found, found.whole, OTHERS)
    asked = tuple(
        (heading, tuple(own for own in rows if RowId(heading.name, own.key) in baseline))
        for heading, rows in whole.series
    )
    return Comparison(whole.before, whole.after, asked, OTHERS).claiming(confidence, held)


def _comparison(
    before: Side, after: Side, together: _Floats, devices: Devices, came: Collection[RowId] = ()
) -> Comparison:
    """From both sides, which have the same rows, and the squares of reaches of their difference."""
    z = quantile(after.estimate.confidence)
    pairs = zip(before.estimate.rows, after.estimate.rows, after.estimate.headings, strict=True)
    changes = [
        _change(_Pair(*own, before.whole[:, place], after.whole[:, place], together[:, place]), z)
        for place, own in enumerate(pairs)
    ]
    told_at = zip(changes, after.estimate.ids, strict=True)
    rows = iter([replace(own, came=True) if where in came else own for own, where in told_at])
    series = [(own.heading, tuple(next(rows) for _ in own.rows)) for own in after.estimate.series]
    told = tuple(own for own in series if not own[0].chance)  # no p-value is more or less so than another one
    return Comparison(before.windowed, after.windowed, told, devices)


def _together(before: Counted, after: Counted, devices: Devices) -> _Floats:
    """The squares of reaches of differences, down and up: a difference is low where after is, and before high."""
    whole = before.whole[::-1] + after.whole
    if devices.apart:
        return whole
    unknown: _Floats = whole + 2 * np.sqrt(before.values[::-1] * after.values)
    if devices.changed is None:
        return unknown
    kept = [own.whole - np.minimum(own.anew, np.where(np.isinf(own.whole), 0, own.whole)) for own in (before, after)]
    kept[0] = kept[0][::-1]
    few, many = np.sort([before.devices, after.devices], axis=0)
    apart = 1 - np.divide(few, many, out=np.zeros(few.shape), where=many > 0)
    left = before.anew[::-1] + after.anew + _part(np.maximum(*kept), apart)
    left += _part(kept[0] + kept[1], np.full(few.shape, devices.changed))
    if after.estimate.target is Target.POPULATION:
        left += _part(np.broadcast_to(after.farthest, left.shape), devices.changed / np.maximum(few, 1))
    known: _Floats = np.minimum(left, unknown)
    return known


def _part(squares: _Floats, part: _Floats) -> _Floats:
    """A part of what may be infinite; no part of it is nothing."""
    parts: _Floats = np.multiply(
        squares, part, out=np.zeros(squares.shape), where=np.broadcast_to(part > 0, squares.shape)
    )
    return parts


_NOTHING = (math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)


class _Pair(NamedTuple):
    """A row on both sides, with the squares of its reaches and of those of the difference, down and up."""

    before: Row
    after: Row
    heading: Heading
    own: _Floats
    """Of the side before."""
    other: _Floats
    """Of the side after."""
    together: _Floats
    """Of the difference."""

    @property
    def common(self) -> _Floats:
        """What the difference has besides those of both sides: negative where errors cancel, or nan if infinite."""
        with np.errstate(invalid="ignore"):
            less: _Floats = self.together - self.own[::-1] - self.other
        return less


def _change(pair: _Pair, z: float) -> Change:
    before, after = pair.before, pair.after
    value = after.value - before.value
    if math.isnan(value):
        return Change(after.key, before, after, *_NOTHING)
    down, up = np.sqrt(pair.together).tolist()
    square = before.std_error**2 + after.std_error**2 + float(pair.common.mean()) / z**2
    chance = _p_value(abs(value), down if value > 0 else up, z)
    error = math.sqrt(max(square, 0.0)) if math.isfinite(square) else math.nan
    return Change(after.key, before, after, value, value - down, value + up, error, *_ratio(pair), chance)


def _p_value(size: float, reach: float, z: float) -> float:
    if math.isinf(reach):
        return math.nan
    if not reach:
        return 0.0 if size else 1.0
    return math.erfc(z * size / reach / math.sqrt(2))


def _ratio(pair: _Pair) -> tuple[float, float, float]:
    """After over before with its interval, where both are of what can not be below 0, and before is above it."""
    before, after, span = pair.before.value, max(pair.after.value, 0.0), pair.heading.span
    if not np.isfinite(pair.own + pair.other).all():
        return math.nan, math.nan, math.nan
    if (
        before <= 0
        or before**2 <= pair.own[0]
        or (pair.heading.measure is not Measure.SHARE and span and span[0] < 0)
    ):
        return math.nan, math.nan, math.nan
    (down, up), (low, high), (less, more) = (each.tolist() for each in (pair.own, pair.other, pair.common))
    return after / before, _edge(before, after, up, low, less, -1), _edge(before, after, down, high, more, 1)


def _edge(before: float, after: float, own: float, other: float, common: float, sign: int) -> float:
    """The farthest ratio r, lower or higher, at which (after - r before)^2 is other + r common + r^2 own."""
    square, linear, free = before**2 - own, 2 * before * after + common, after**2 - other
    if sign < 0 and free <= 0:
        return 0.0
    if not math.isfinite(square + linear + free):
        return 0.0 if sign < 0 else math.inf
    root = math.sqrt(max(linear**2 - 4 * square * free, 0.0))
    if sign > 0:
        return (linear + root) / (2 * square)
    return 2 * free / (linear + root)  # the same root, also where the square is nothing, or less
