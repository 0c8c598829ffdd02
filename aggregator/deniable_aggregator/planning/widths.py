"""How wide the intervals of an answer will be, before there is a device: of every row of every kind.

words:
  fleet      what the devices have; where nobody says so, values that lie evenly over all that can be answered
  half       half of a row's interval as it is told, cut to what is possible, on average over what devices may draw
  usual      of a row that is a mean: half of its interval, cut, on average over estimates around what is known. An
             answer's half, less what it would be by its own estimate, and what is usual instead, varies far less
  exact      from the channel's own chances, for any number of devices: where reports name answers or outputs
  asked      where a collection asks a part of its devices: those that are expected to take part, and so the reports
  simulated  from answers that are drawn, as many as tell each half to half a hundredth: all else. Where reports are
             of a few symbols, these are drawn as any number of devices send them; else fleets are, by the twins. Of
             more than `MOST` devices the noise is made smaller by the root of how many times more there are

A kind that is not exact is simulated: there is none without widths.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import (
    Boolean,
    Category,
    Count,
    Distribution,
    Flags,
    Kind,
    Number,
    Ordinal,
    Quantity,
    Set,
    Text,
    Vector,
)
from deniable.payload import Integer
from deniable_aggregator.answers import (
    CANDIDATES,
    Estimate,
    Heading,
    Measure,
    Row,
    RowId,
    answer,
    ends,
    headings,
    truth,
    values_vary,
)
from deniable_aggregator.answers.text import LONG
from deniable_aggregator.estimators import Frequencies, Means, Target, drawn, frequencies, means, ranks
from deniable_aggregator.estimators._special import bdtr
from deniable_aggregator.planning.population import Fleet, Population, Shares, evenly, spread
from deniable_aggregator.planning.simulate import Symbols, simulate, symbols

__all__ = ["MOST", "MOST_VECTORS", "Width", "half_of", "looked_at", "part_of", "widths", "worst"]

MOST = 100_000
"""Devices of a simulated fleet,"""
MOST_VECTORS = 5_000
"""and of one that answers vectors: the halves of all entries are known from few."""
_FEWEST, _ANSWERS, _SURE = 8, 200, 0.005
"""So many answers are drawn at the least, and at the most unless said: until each half is known to such a part, by
its standard error. One of a collection's rows is off by four of these: of a hundredth it would be by too much."""
_MORE, _FEW_VALUES = 8, 512
"""So many times as many answers, where no device is drawn for them: where reports are symbols of so few values."""
_SAME = 64
"""So many answers, where a half came out the same each time: others may be rare. A quantile has whole buckets."""
_SIMULATED = 4_000_000
"""At the most, and in fewer answers, so many devices are simulated."""
_LOOKED_AT = 200_000
"""Devices that say what a fleet has."""
_FEW, _REACH = 100.0, 8
"""Up to such a standard deviation every count is looked at, as far as so many of it; beyond it they are normal."""
_WORD = "elephant"
"""A word that is asked for, of eight letters: nobody has it."""
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


class Width(NamedTuple):
    """What is to be expected of one row."""

    where: RowId
    heading: Heading
    half: float
    """Half of its interval; of one without an upper end, how far the low end is below the value."""
    whole: float
    """How far what is possible reaches from end to end; infinite where it has none."""
    open: bool = False
    """Whether the interval has no upper end."""


def widths(
    metric: Metric, devices: int, fleet: Fleet | None = None, confidence: float = 0.95, *, answers: int = _ANSWERS
) -> list[Width]:
    """Of each row of the answer that so many devices make, which all have one; p-values have none, nor have rows that
    not every answer has. Of few devices more `answers` tell better what is not exact."""
    if fleet is None:
        return list(_of_evenly(metric, devices, confidence, answers))
    return _of_fleet(
        metric, _asked(metric, devices, confidence, answers), fleet, lambda: [*looked_at(fleet, devices)]
    )


@lru_cache(maxsize=256)
def _of_evenly(metric: Metric, devices: int, confidence: float, answers: int) -> tuple[Width, ...]:
    """Where nobody says what the devices have: asked again and again, by a plan and by what is told beside it."""
    asked = _asked(metric, devices, confidence, answers)
    return tuple(_of_fleet(metric, asked, evenly(metric), lambda: spread(metric)))


def _asked(metric: Metric, devices: int, confidence: float, answers: int) -> _Asked:
    return _Asked(max(round(devices * metric.sample), 1), confidence, answers)


def _of_fleet(metric: Metric, asked: _Asked, fleet: Fleet, values: Callable[[], list[Any]]) -> list[Width]:
    exact = _EXACT.get(type(metric.kind))
    if exact is None or isinstance(metric.columns[0].shape, Integer):
        return _simulated(metric, asked, fleet)
    return exact(metric, asked, values())


def looked_at(fleet: Fleet, seed: int) -> Population:
    """Devices that say what a fleet has: exactly, where it is known how often each value occurs."""
    if isinstance(fleet, Shares):
        return fleet.exactly(_LOOKED_AT)
    return fleet(_LOOKED_AT, np.random.default_rng(seed))


class _Asked(NamedTuple):
    devices: int
    confidence: float
    answers: int


def worst(expected: Sequence[Width]) -> Width | None:
    """The row of the first series that is told least, as a part of what is possible; None where none has ends."""
    first = [own for own in expected if own.heading.name == expected[0].heading.name]
    known = [own for own in first if not own.open and math.isfinite(own.whole)]
    return max(known, key=lambda own: own.half / own.whole, default=None)


def part_of(expected: Sequence[Width]) -> float | None:
    """Half of the interval of that row, as a part of what is possible."""
    row = worst(expected)
    return None if row is None else row.half / row.whole


def half_of(low: float, value: float, high: float) -> tuple[float, bool]:
    """Half of an interval, and whether it is open: then what lies below the value."""
    return (value - low, True) if math.isinf(high) else ((high - low) / 2, False)


# Exact: shares.


def _of_shares(metric: Metric, asked: _Asked, values: Sequence[Any]) -> list[Width]:
    """Each row by the count of its own reports: where a device answers one of several columns, its part."""
    (heading,) = headings(metric)
    found = frequencies(metric.columns[0].mechanism, _nothing(metric))
    reports = max(asked.devices // len(metric.columns), 1)
    shares = truth(metric, values)
    return [
        Width(where, heading, _counted(found, reports, share, asked.confidence), 1.0)
        for where, share in shares.items()
    ]


def _counted(found: Frequencies, reports: int, share: float, confidence: float) -> float:
    """Half of the interval of a share, on average over the counts that can come out."""
    rate = found.q + share * (found.p - found.q)
    spread = math.sqrt(reports * rate * (1 - rate))
    if spread < _FEW:
        reach = math.ceil(_REACH * (spread + 1))
        counts = np.arange(max(int(reports * rate) - reach, 0), min(int(reports * rate) + reach, reports) + 1)
        chances = np.diff(bdtr(counts.astype(np.float64), reports, rate), prepend=0.0)
    else:
        counts = np.clip(np.rint(reports * rate + spread * _places()), 0, reports).astype(np.int64)
        chances = np.full(len(counts), 1 / len(counts))
    low, high = replace(found, reports=reports, supports=counts).intervals(confidence, Target.POPULATION)
    return float(chances @ (high - low)) / 2


@cache
def _places() -> NDArray[np.float64]:
    """Where in a normal distribution its equal parts have their middles."""
    normal, parts = NormalDist(), 101
    return np.array([normal.inv_cdf((place + 0.5) / parts) for place in range(parts)])


def _of_words(metric: Metric, asked: _Asked, values: Sequence[Any]) -> list[Width]:
    """As if all devices had been asked about one word: how many are too long, and one that nobody has."""
    found = frequencies(metric.columns[0].mechanism, _nothing(metric))
    known, series = truth(metric, values), {own.name: own for own in headings(metric)}
    return [
        Width(where, series[where.series], _counted(found, asked.devices, known[where], asked.confidence), 1.0)
        for where in (RowId(LONG, LONG), RowId(CANDIDATES, _WORD))
    ]


# Exact: quantities and orders, from reports that name one of several outputs.


def _of_means(metric: Metric, asked: _Asked, values: Sequence[Any]) -> list[Width]:
    """One bit as a share of the range; of other outputs, whose levels are added up, by how often each is named."""
    kind, mechanism = metric.kind, metric.columns[0].mechanism
    assert isinstance(kind, Quantity)
    found = means(mechanism, _nothing(metric))
    if isinstance(found, Means):
        return _of_symbols(metric, asked, truth(metric, values), _sent(metric, tuple(Counter(values).items())))
    start, end = kind.ends
    share = float(np.mean(np.clip(values, start, end)) - start) / (end - start)
    half = (end - start) * _counted(found.frequencies, asked.devices, share, asked.confidence)
    every = drawn(asked.devices, float(metric.sample), asked.confidence)
    coins = (every.high - every.low) / 2 * (start + (end - start) * share)
    total = every.value, math.hypot(half * every.value, coins)
    scales = [(own, *(total if own.measure is Measure.TOTAL else (1.0, half))) for own in headings(metric)]
    return [Width(RowId(own.name, own.name), own, known, (end - start) * scale) for own, scale, known in scales]


@lru_cache(maxsize=16)
def _sent(metric: Metric, values: tuple[tuple[Any, int], ...]) -> Symbols:
    """Of quantities: the same for any number of devices, which is looked for."""
    found = symbols(metric, [(metric.kind.check(value), often) for value, often in values])
    assert found is not None  # outputs are few, and one word says between which inputs a quantity lies
    return found


def _of_ranks(metric: Metric, asked: _Asked, values: Sequence[Any]) -> list[Width]:
    """By how often each place is named."""
    known = truth(metric, values)
    shares = np.array([known[RowId(headings(metric)[0].name, value)] for value in metric.kind.names(0)])
    sent = shares @ ranks(metric.columns[0].mechanism, _nothing(metric)).channel
    return _of_symbols(metric, asked, known, Symbols(sent / sent.sum(), ()))


def _of_symbols(metric: Metric, asked: _Asked, known: Mapping[RowId, float], sent: Symbols) -> list[Width]:
    """From counters that are drawn as any number of devices make them, by how likely each symbol is."""
    generator = np.random.default_rng(asked.devices)

    def drawn() -> Iterator[list[Width]]:
        while True:
            found = answer(metric, sent.counters(asked.devices, generator), asked.confidence)
            yield list(_as_of(metric, asked.devices, found, known))

    return _averaged(drawn(), _MORE * asked.answers, _SAME)


_EXACT: dict[type[Kind], Callable[[Metric, _Asked, Sequence[Any]], list[Width]]] = {
    Boolean: _of_shares, Category: _of_shares, Flags: _of_shares, Set: _of_shares,
    Number: _of_means, Count: _of_means, Ordinal: _of_ranks, Text: _of_words,
}  # fmt: skip


# Simulated.


def _simulated(metric: Metric, asked: _Asked, fleet: Fleet) -> list[Width]:
    """From the answers of fleets that the twins draw."""
    generator = np.random.default_rng(asked.devices)
    known = truth(metric, looked_at(fleet, asked.devices))
    if isinstance(fleet, Shares) and len(fleet.values) <= _FEW_VALUES:
        values = [metric.kind.check(value) for value in fleet.values]
        sent = symbols(metric, list(zip(values, fleet.chances, strict=True)))
        if sent is not None:
            return _of_symbols(metric, asked, known, sent)
    many = min(asked.devices, MOST_VECTORS if isinstance(metric.kind, Vector) else MOST)

    def drawn() -> Iterator[list[Width]]:
        while True:
            found = answer(metric, simulate(metric, fleet(many, generator), generator), asked.confidence)
            yield list(_as_of(metric, asked.devices, found, known))

    return _averaged(drawn(), min(asked.answers, _SIMULATED // many))


def _as_of(metric: Metric, devices: int, found: Estimate, known: Mapping[RowId, float]) -> Iterator[Width]:
    """The rows of an answer, as if so many devices had made it; where they are means, by what is known of these."""
    part, told = math.sqrt(found.reports / devices), _told(found)
    reach = NormalDist().inv_cdf((1 + found.confidence) / 2)
    vary = dict(zip(found.ids, np.isfinite(values_vary(metric, found)).tolist(), strict=True))
    means = [
        vary[where] and heading.measure is not Measure.TOTAL and row.std_error > 0 for where, heading, row in told
    ]
    possible = _possible(metric, found)
    every = zip(told, means, possible, strict=True)
    usual = iter(_usual([(known[own[0]], own[2], ends) for own, mean, ends in every if mean], part, reach))
    for own, mean in zip(_of_answer(devices, found, told, possible), means, strict=True):
        if mean:
            then, here = next(usual)
            yield own._replace(half=own.half + then - (here if part == 1 else own.half))
        else:
            fixed = metric.kind.width / 2 if isinstance(metric.kind, Distribution) else 0.0
            yield own._replace(half=fixed + part * max(own.half - fixed, 0.0))


def _usual(
    means: Sequence[tuple[float, Row, tuple[float, float]]], part: float, reach: float
) -> Iterator[tuple[float, float]]:
    """Of rows that are means, and of which the truth and what is possible is known: half of the interval around
    estimates near the truth, and around its own."""
    if not means:
        return iter(())
    known, values, errors, low, high = np.array(
        [(true, row.value, part * row.std_error, *ends) for true, row, ends in means]
    ).T[:, :, np.newaxis]
    around = (_cut(each, reach * errors, (low, high)).tolist() for each in (known + errors * _places(), values))
    return zip(*around, strict=True)


def _cut(values: _Floats, reach: _Floats, possible: tuple[_Floats, _Floats]) -> _Floats:
    """Half of the intervals around values, as far as they are possible, on average over each row of these."""
    low, high = (np.minimum(np.maximum(each, possible[0]), possible[1]) for each in (values + reach, values - reach))
    half: _Floats = (low - high).mean(axis=1) / 2
    return half


def _averaged(drawn: Iterator[list[Width]], most: int, fewest: int = _FEWEST) -> list[Width]:
    """The rows that all answers have, with their halves on average: of as many answers as tell them. Of few answers
    chance can make halves look alike that are not: where they cost little, more are the fewest."""
    rows = {own.where: own for own in next(drawn)}
    halves, answers = {where: [own.half] for where, own in rows.items()}, 1
    while answers < min(fewest, max(most, _FEWEST)) or (answers < most and not _are_known([*halves.values()])):
        found, answers = {own.where: own.half for own in next(drawn)}, answers + 1
        halves = {where: own for where, own in halves.items() if where in found}
        for where, own in halves.items():
            own.append(found[where])
    return [rows[where]._replace(half=math.fsum(own) / answers) for where, own in halves.items()]


def _are_known(halves: Sequence[Sequence[float]]) -> bool:
    """Whether the error of each row's half is a small part of it; looked at now and then. None is seen of few answers
    that are the same."""
    if not halves or len(halves[0]) % _FEWEST:
        return not halves
    every = np.array(halves).T
    errors = every.std(axis=0, ddof=1) / math.sqrt(len(every))
    return bool((errors <= _SURE * every.mean(axis=0)).all()) and (bool(errors.all()) or len(every) >= _SAME)


def _of_answer(
    devices: int,
    found: Estimate,
    told: Sequence[tuple[RowId, Heading, Row]],
    possible: Sequence[tuple[float, float]],
) -> Iterator[Width]:
    """The rows of an answer, but for p-values; totals as of so many devices."""
    for (where, heading, row), (least, most) in zip(told, possible, strict=True):
        scale = devices / found.reports if heading.measure is Measure.TOTAL else 1.0
        half, is_open = half_of(row.low, row.value, row.high)
        yield Width(where, heading, half * scale, (most - least) * scale, is_open)


def _told(found: Estimate) -> list[tuple[RowId, Heading, Row]]:
    every = zip(found.ids, found.headings, found.rows, strict=True)
    return [own for own in every if not own[1].chance]


def _possible(metric: Metric, found: Estimate) -> list[tuple[float, float]]:
    """From where to where each of these rows can be."""
    every = zip(found.headings, *ends(metric, found).tolist(), strict=True)
    return [(least, most) for heading, least, most in every if not heading.chance]


def _nothing(metric: Metric) -> _Ints:
    return np.zeros(metric.columns[0].shape.counters, dtype=np.int64)
