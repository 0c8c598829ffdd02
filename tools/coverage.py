"""How often the intervals of every kind hold the truth, and how wide they are, where the truth is known.

words:
  fleet      a population: the values that occur, and how many of the devices have each
  sample     one set of counters: so many devices drawn from the fleet, each randomised
  covered    how often a row's interval holds its truth
  width      the mean width of a row's intervals over the ideal width
  ideal      2 * 1.96 times the estimate's standard deviation, as if that were known; no more than what is possible
  joint      how often all simultaneous intervals of an answer hold

Devices are independent, so where the payloads of a metric can be listed, the counters of a sample are one multinomial
draw, whatever the number of devices. Vectors are drawn device by device, by the vectorised twins, codewords from
their law (`directions.py`). A row that is
decided by one count needs no samples: every count is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from math import comb
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from tools.directions import moments, named

from deniable import Collection, Metric
from deniable.codebook import LENGTH
from deniable.kinds import Boolean, Category, Distribution, Flags, Joint, Ordinal, Quantity, Set, Text, Vector
from deniable.mechanisms import Codewords, Gaussian, Laplace, Mechanism, VectorLaplace
from deniable.payload import Bitmap, Codeword, Integer, Integers, Symbol
from deniable.randomness import WORD
from deniable_aggregator.answers import Estimate, Measure, Row, answer, combines, truth
from deniable_aggregator.answers.joint import MARGINALS, TABLE
from deniable_aggregator.estimators import Frequencies, OneBit, Target, frequencies, means, simultaneous
from deniable_aggregator.planning import twins
from deniable_aggregator.planning.simulate import outcomes

__all__ = [
    "CONFIDENCE", "DEVIATION", "Case", "Fleet", "Measured", "adds_of", "alone", "cases", "cells_of", "drawn",
    "endless", "exactly", "jointly", "linear", "payloads_of", "row_of", "sampled", "true_rows", "widths",
]  # fmt: skip

CONFIDENCE = 0.95
DEVIATION = "standard deviation"
"""The row that tells how much devices differ."""
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
_LISTED = 1 << 13
"""So many payloads are drawn as one multinomial vector."""
_HELD = 1 << 22
"""So many counts, or devices, are held at a time."""
_AT_ONCE = 50
"""So many samples are drawn at a time, if it is up to them."""
_LIMB = (1 << 32) - 1

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

_HEAD = """
[collection]
name = "coverage"
epoch = "1d"
owner = "a"
[budget]
epoch = 1000
"""
_LETTERS = "abcdefghijklmnop"
_MANY = [f"value {number}" for number in range(60)]


def _texts(texts: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"


_SOURCES = "".join(
    f'[metrics.{name}{{number}}]\nkind = "category"\nvalues = {_texts(values)}\ndescription = "d"\nepsilon = 1\n'
    for name, values in (("few", _LETTERS[:2]), ("more", _LETTERS[:3]))
)
_METRICS = {
    "boolean": 'kind = "boolean"',
    "boolean, remembered": 'kind = "boolean"\nmemoize = true\ninstantaneous_epsilon = {epsilon}',
    "category of 5": f'kind = "category"\nvalues = {_texts(_LETTERS[:5])}',
    "category of 16": f'kind = "category"\nvalues = {_texts(_LETTERS)}',
    "category of 60": f'kind = "category"\nvalues = {_texts(_MANY)}\nmechanism = "projective_geometry"',
    "ordinal of 7": f'kind = "ordinal"\nvalues = {_texts(_LETTERS[:7])}\nmechanism = "exponential"',
    "number": 'kind = "number"\nrange = [0, 60]',
    "number, one bit": 'kind = "number"\nrange = [0, 60]\nmechanism = "one_bit"',
    "number, Laplace": 'kind = "number"\nrange = [0, 60]\nmechanism = "laplace"',
    "count": 'kind = "count"\nmax = 20',
    "count of events": 'kind = "count"\nmax = 100\nprivacy_unit = "event"',
    "distribution of 4": 'kind = "distribution"\nrange = [0, 4]\nbuckets = 4',
    "text, any word": 'kind = "text"\nmax_bytes = 8',
    "tree of 5": 'kind = "tree"\npaths = ["a/x", "a/y", "b", "c/x", "c/y"]',
    "4 flags": 'kind = "flags"\nflags = ["a", "b", "c", "d"]\nmechanism = "bitwise_response"',
    "4 flags, one drawn": 'kind = "flags"\nflags = ["a", "b", "c", "d"]\nmechanism = "randomized_response"',
    "set of 2 out of 8": f'kind = "set"\nvalues = {_texts(_LETTERS[:8])}\nmax_items = 2',
    "joint of 2 by 3": f'kind = "joint"\nof = ["few{{number}}", "more{{number}}"]\n{_SOURCES}',
    "vector, l2": 'kind = "vector"\ndimensions = 2\nclip = 1\nnorm = "l2"\ndelta = 1e-9\nfleet = 1000000',
    "vector, l1": 'kind = "vector"\ndimensions = 2\nclip = 1\nnorm = "l1"\nmechanism = "vector_laplace"',
    "vector, codewords": 'kind = "vector"\ndimensions = 2\nclip = 1\nnorm = "l2"',
}


@dataclass(frozen=True)
class Fleet:
    """A population."""

    name: str
    values: Sequence[Any]
    devices: Sequence[int]
    """How many of the devices have each value."""


def _equal(values: Sequence[Any]) -> Fleet:
    return Fleet("uniform", values, [1] * len(values))


def _skewed(values: Sequence[Any], *devices: int) -> Fleet:
    """The first values occur, the others do not."""
    return Fleet("skewed", values[: len(devices)], devices)


def _falling(count: int) -> tuple[int, ...]:
    """As frequent as one over their rank."""
    return tuple(5040 // rank for rank in range(1, count + 1))


_PAIRS = [[_LETTERS[place], _LETTERS[(place + 3) % 8]] for place in range(8)]
_TOGETHER = [{"few{number}": few, "more{number}": more} for few in _LETTERS[:2] for more in _LETTERS[:3]]
_LEAVES = ["a/x", "a/y", "b", "c/x", "c/y"]
_FLEETS: dict[str, tuple[Fleet, Fleet]] = {
    "boolean": (_equal([True, False]), _skewed([True, False], 1, 49)),
    "category of 5": (_equal(_LETTERS[:5]), _skewed(_LETTERS, *_falling(3))),
    "category of 16": (_equal(_LETTERS), _skewed(_LETTERS, *_falling(8))),
    "category of 60": (_equal(_MANY), _skewed(_MANY, *_falling(30))),
    "ordinal": (_equal(_LETTERS[:7]), _skewed(_LETTERS, *_falling(4))),
    "number": (_equal(range(61)), _skewed([0, 5, 60], 14, 5, 1)),
    "count": (_equal(range(21)), _skewed([0, 3, 20], 14, 5, 1)),
    "distribution": (_equal([0.5, 1.5, 2.5, 3.5]), _skewed([0.5, 1.5, 3.5], 14, 5, 1)),
    "text": (_equal(["a", "b", _LETTERS, "d"]), _skewed([_LETTERS, "a"], 19, 1)),
    "tree": (_equal(_LEAVES), _skewed(_LEAVES, 6, 3, 1)),
    "4 flags": (_equal([[flag for place, flag in enumerate("abcd") if bits >> place & 1] for bits in range(16)]),
                _skewed([[], ["a"], ["a", "b"]], 6, 3, 1)),
    "joint": (_equal(_TOGETHER), _skewed(_TOGETHER[::2], 9, 4, 2)),
    "set": (_equal(_PAIRS), _skewed([[], ["a"], ["a", "b"]], 5, 3, 2)),
    "vector": (_equal([[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, -0.5]]),
               _skewed([[0, 0], [1, 0], [0, -1]], 16, 3, 1)),
}  # fmt: skip
"""By the beginning of a metric's name."""


@dataclass(frozen=True)
class Case:
    """A metric, and a fleet that answers it."""

    name: str
    metric: Metric
    fleet: Fleet

    def __str__(self) -> str:
        return f"{self.name}, {self.fleet.name}"


def cases(epsilon: str) -> list[Case]:
    """Every kind, with every mechanism whose intervals are made in another way, at one epsilon; two fleets each."""
    text = [_HEAD]
    for number, rest in enumerate(_METRICS.values()):
        own = rest.format(epsilon=epsilon, number=number)
        text.append(f'[metrics.m{number}]\ndescription = "d"\nepsilon = {epsilon}\n{own}\n')
    collection = Collection.loads("".join(text))
    found = []
    for number, name in enumerate(_METRICS):
        fleets = next(both for start, both in _FLEETS.items() if name.startswith(start))
        found += [Case(name, collection.metrics[f"m{number}"], _sourced(fleet, number)) for fleet in fleets]
    return found


def _sourced(fleet: Fleet, number: int) -> Fleet:
    """The fleet, whose values are by the names that the sources of a metric have in the collection of all."""
    if not isinstance(fleet.values[0], dict):
        return fleet
    values = [{key.format(number=number): own for key, own in value.items()} for value in fleet.values]
    return replace(fleet, values=values)


def linear(metric: Metric, counters: Sequence[_Ints], confidence: float = CONFIDENCE) -> Estimate:
    """The rows that are means of what reports say. Of a joint these are cells and marginals:
    `tests/statistics/test_joints.py` looks at ratios of them, and at what has no other truth than 0 or 1."""
    return answer(metric, counters, confidence, only=(TABLE, MARGINALS) if isinstance(metric.kind, Joint) else ())


class Measured(NamedTuple):
    """What became of one row's intervals."""

    key: str
    covered: float
    width: float
    rough: bool = False
    """Whether the interval is of whole buckets: then it holds more often, and is wider."""


def exactly(case: Case, reports: int) -> list[Measured] | None:
    """Every row by every count that can decide it; None where it takes more than a count.

    Where devices answer one column of several, each is taken to have its part of the reports.
    """
    found = _counted(case.metric)
    if found is None:
        return None
    own = reports if combines(case.metric) else reports // len(case.metric.columns)
    rows = linear(case.metric, _nothing(case.metric), CONFIDENCE)
    measured = []
    for row, heading, true in zip(rows.rows, rows.headings, true_rows(case, reports, rows), strict=True):
        least, most = _possible(case.metric, row, heading.measure, reports)
        measured.append(Measured(row.key, *_counting(found.p, found.q, own, (true - least) / (most - least))))
    return measured


@lru_cache(maxsize=1024)
def _counting(p: float, q: float, reports: int, share: float) -> tuple[float, float]:
    """How often the interval of a share holds it, and its mean width over the ideal one."""
    rate = q + share * (p - q)
    middle, reach = reports * rate, 40 + 12 * np.sqrt(reports * rate * (1 - rate))  # beyond lies less than 1e-25
    counts = np.arange(max(int(middle - reach), 0), min(int(middle + reach), reports) + 1)
    low, high = (ends[counts] for ends in _intervals(p, q, reports))
    chance = binom.pmf(counts, reports, rate)
    ideal = min(2 * _Z * np.sqrt(rate * (1 - rate) / reports) / (p - q), 1.0)
    covered = chance[(low <= share + 1e-12) & (share - 1e-12 <= high)].sum()
    return float(covered), float(chance @ (high - low) / ideal)


@lru_cache(maxsize=16)
def _intervals(p: float, q: float, reports: int) -> tuple[_Floats, _Floats]:
    return Frequencies(reports, np.arange(reports + 1), p, q).intervals(CONFIDENCE, Target.POPULATION)


def _counted(metric: Metric) -> Frequencies | None:
    """The chances of a metric each of whose rows is decided by one count out of all reports."""
    mechanism, counters = metric.columns[0].mechanism, _nothing(metric)[0]
    if isinstance(metric.kind, Boolean | Category | Flags | Set | Text):
        return frequencies(mechanism, counters)
    if isinstance(metric.kind, Quantity):
        found = means(mechanism, counters)
        return found.frequencies if isinstance(found, OneBit) else None
    return None


def _nothing(metric: Metric) -> list[_Ints]:
    return [np.zeros(column.shape.counters, dtype=np.int64) for column in metric.columns]


def true_rows(case: Case, reports: int, rows: Estimate) -> list[float]:
    """What the rows of so many devices should say."""
    everybody = [
        value for value, often in zip(case.fleet.values, case.fleet.devices, strict=True) for _ in range(often)
    ]
    true = truth(case.metric, everybody)
    times = reports / len(everybody)
    return [
        true[row] * times if heading.measure is Measure.TOTAL else true[row]
        for row, heading in zip(rows.ids, rows.headings, strict=True)
    ]


def _possible(metric: Metric, row: Row, measure: Measure, reports: int) -> tuple[float, float]:
    """The least and the greatest that a row can truly be."""
    match metric.kind:
        case Quantity() as kind:
            low, high = kind.ends
            if row.key == DEVIATION:
                return 0.0, (high - low) / 2
            times = reports if measure is Measure.TOTAL else 1
            return low * times, high * times
        case Ordinal(values) if measure is Measure.QUANTITY:
            return 1.0, float(len(values))
        case Distribution() as kind if measure is Measure.QUANTITY:
            return kind.apart()
        case Vector() as kind:
            return -float(kind.clip), float(kind.clip)
    return 0.0, float(reports) if measure is Measure.TOTAL else 1.0


def sampled(case: Case, reports: int, samples: int, generator: np.random.Generator) -> tuple[list[Measured], float]:
    """Every row over so many samples, and how often all of its simultaneous intervals hold."""
    every = drawn(case, reports, samples, generator)
    return alone(case, reports, every), jointly(case, reports, every)


def drawn(case: Case, reports: int, samples: int, generator: np.random.Generator) -> list[list[_Ints]]:
    """So many samples."""
    return list(islice(endless(case, reports, generator), samples))


def jointly(case: Case, reports: int, samples: Sequence[list[_Ints]]) -> float:
    """How often all simultaneous intervals of the samples hold."""
    true = np.array(true_rows(case, reports, linear(case.metric, samples[0])))
    confidence, held = simultaneous(CONFIDENCE, len(true)), 0
    for counters in samples:
        rows = linear(case.metric, counters, confidence).rows
        held += all(row.low <= each + 1e-9 and each - 1e-9 <= row.high for row, each in zip(rows, true, strict=True))
    return held / len(samples)


def alone(case: Case, reports: int, samples: Sequence[list[_Ints]]) -> list[Measured]:
    """Every row over the samples."""
    return widths(case, reports, [linear(case.metric, counters, CONFIDENCE) for counters in samples])


def widths(case: Case, reports: int, answers: Sequence[Estimate]) -> list[Measured]:
    """Every row over the answers to samples."""
    metric, found = case.metric, answers[-1]
    true = np.array(true_rows(case, reports, found))
    numbers = [[(row.value, row.low, row.high) for row in each.rows] for each in answers]
    value, low, high = np.moveaxis(np.array(numbers), 2, 0)
    least, most = np.transpose(
        [
            _possible(metric, row, heading.measure, reports)
            for row, heading in zip(found.rows, found.headings, strict=True)
        ]
    )
    covered = ((low <= true + 1e-9) & (true - 1e-9 <= high)).mean(axis=0)
    power = np.array([2 if row.key == DEVIATION else 1 for row in found.rows])  # the estimate is the variance's root
    known = _spread(case, reports) if len(metric.columns) == 1 else np.full(len(true), math.nan)
    spread = np.where(np.isnan(known), (value**power).std(axis=0), known)
    ideal = np.minimum(2 * _Z * spread, most**power - least)
    width = (high**power - low**power).mean(axis=0) / ideal
    rough = [isinstance(metric.kind, Distribution) and own.measure is Measure.QUANTITY for own in found.headings]
    rows = zip(found.rows, covered.tolist(), width.tolist(), rough, strict=True)
    return [Measured(row.key, *both) for row, *both in rows]


def _spread(case: Case, reports: int) -> _Floats:
    """The standard deviation of every row's estimate, from the exact chances; nan where samples have to tell it.

    An estimate is the mean of what each report says, and an answer to reports that are all the same is what one says.
    """
    metric, cells = case.metric, cells_of(case)
    empty = linear(metric, _nothing(metric))
    rows = empty.rows
    unknown = [math.nan if row.key == DEVIATION else 0.0 for row in rows]
    times = [reports if heading.measure is Measure.TOTAL else 1 for heading in empty.headings]
    mechanism = metric.columns[0].mechanism
    if isinstance(mechanism, Gaussian | VectorLaplace | Codewords):
        assert isinstance(metric.kind, Vector)
        step = float(metric.kind.clip) / metric.kind.grid
        inputs = twins.inputs(mechanism, [chosen for _, chosen in cells])
        chances, entries = np.array(list(cells.values())), step * inputs
        noise: _Floats | float = step**2 * mechanism.variance
        if isinstance(mechanism, Codewords):
            noise = chances @ moments(mechanism, inputs)[1] * (step * mechanism.bound / mechanism.reach / LENGTH) ** 2
        variance = chances @ entries**2 - (chances @ entries) ** 2 + noise
    else:
        payloads = payloads_of(mechanism)
        chances = sum(
            (chance * row_of(mechanism, chosen) for (_, chosen), chance in cells.items()), np.zeros(len(payloads))
        )
        says = np.array(
            [[row.value for row in linear(metric, [2 * adds]).rows] for adds in adds_of(mechanism, payloads)]
        )
        says = says / np.where(np.array(times) > 1, 2, 1)
        variance = chances @ says**2 - (chances @ says) ** 2
    return np.sqrt(variance / reports) * times + unknown


def endless(case: Case, reports: int, generator: np.random.Generator) -> Iterator[list[_Ints]]:
    """The counters of the metric's columns, sample by sample."""
    mechanisms = [column.mechanism for column in case.metric.columns]
    cells = cells_of(case)
    if any(isinstance(mechanism.shape, Integers | Codeword) for mechanism in mechanisms):
        yield from _vectors(mechanisms[0], cells, reports, generator)
    chances, adding = [], []
    for place, mechanism in enumerate(mechanisms):
        payloads = payloads_of(mechanism)
        own = [(chosen, chance) for (column, chosen), chance in cells.items() if column == place]
        chances.append(sum((chance * row_of(mechanism, chosen) for chosen, chance in own), np.zeros(len(payloads))))
        adding.append(adds_of(mechanism, payloads))
    ends = np.cumsum([len(own) for own in chances])[:-1]
    every = np.concatenate(chances)
    at_once = min(max(1, _HELD // len(every)), _AT_ONCE)
    while True:
        drawn = generator.multinomial(reports, every / every.sum(), size=at_once)
        columns = [own @ adds for own, adds in zip(np.split(drawn, ends, axis=1), adding, strict=True)]
        yield from map(list, zip(*columns, strict=True))


def cells_of(case: Case) -> dict[tuple[int, int], float]:
    """The chance of every column and input."""
    cells: dict[tuple[int, int], float] = {}
    for value, often in zip(case.fleet.values, case.fleet.devices, strict=True):
        found = outcomes(case.metric, case.metric.kind.check(value))
        if found is None:
            found = [(0, _on_the_grid(case.metric, value))]
        firsts = [first for first, _ in found] + [WORD]
        for (first, outcome), end in zip(found, firsts[1:], strict=True):
            share = often / sum(case.fleet.devices) * ((end - first) / WORD)
            cells[outcome] = cells.get(outcome, 0.0) + share
    return cells


def _on_the_grid(metric: Metric, value: Any) -> tuple[int, int]:
    """A vector whose entries lie on the grid, so that no word makes a difference."""
    mechanisms = [column.mechanism for column in metric.columns]

    def encoded(word: int) -> tuple[int, int]:
        return metric.kind.encode(metric.kind.check(value), mechanisms, lambda: word)

    if not isinstance(metric.kind, Vector) or encoded(0) != encoded(WORD - 1):
        raise ValueError(f"{metric.name}: {value!r} takes several random words to encode")
    return encoded(0)


@lru_cache(maxsize=64)
def payloads_of(mechanism: Mechanism) -> list[int]:
    """All that it can send, where they can be listed."""
    shape = mechanism.shape
    size = comb(shape.size, shape.weight or shape.size // 2) if isinstance(shape, Bitmap) else shape.size
    if size > _LISTED:
        raise ValueError(f"{mechanism.name}: {size} payloads are too many")
    return list(mechanism.payloads())


@lru_cache(maxsize=1024)
def row_of(mechanism: Mechanism, chosen: int) -> _Floats:
    """The chance of every payload for one input."""
    if isinstance(mechanism, Laplace):  # a row for each of many inputs: the same noise, moved
        steps, alpha = mechanism.steps, mechanism.alpha
        away, farther = mechanism.away / WORD, mechanism.farther / WORD
        parts = np.array([farther, away - farther, 1 - away])
        low, high = (alpha**far / (1 + alpha) * parts for far in (chosen, steps - chosen))
        return np.concatenate([low, _noise(mechanism)[steps - chosen : 2 * steps - 1 - chosen], high[::-1]])
    return np.array([float(mechanism.probability(payload, chosen)) for payload in payloads_of(mechanism)])


@lru_cache(maxsize=8)
def _noise(mechanism: Laplace) -> _Floats:
    """The chance of every size of noise that leads from some input to a grid point between the ends."""
    side = [float(mechanism.noise(size)) for size in range(mechanism.steps)]
    return np.array([*side[:0:-1], *side])


def adds_of(mechanism: Mechanism, payloads: Sequence[int]) -> _Ints:
    """What each payload adds to the counters."""
    shape, sent = mechanism.shape, np.array(payloads)
    ones = np.ones(len(sent), dtype=np.int64)
    match shape:
        case Symbol():
            return np.eye(shape.size, dtype=np.int64)
        case Bitmap():
            return np.column_stack([ones, (sent[:, np.newaxis] >> np.arange(shape.size)) & 1])
        case Integer():
            levels = sent + shape.gap * ((sent >= 2).astype(np.int64) + (sent >= shape.size - 2))
            return np.column_stack([ones, levels, levels * levels & _LIMB, levels * levels >> 32])
    raise TypeError(f"{mechanism.name} has vectors")


def _vectors(
    mechanism: Mechanism,
    cells: dict[tuple[int, int], float],
    reports: int,
    generator: np.random.Generator,
) -> Iterator[list[_Ints]]:
    """Device by device."""
    inputs = twins.inputs(mechanism, [chosen for _, chosen in cells])
    chances = np.array(list(cells.values()))
    at_once = min(max(1, _HELD // (4 * reports)), _AT_ONCE)
    while True:
        which = generator.choice(len(chances), p=chances / chances.sum(), size=at_once * reports)
        if isinstance(mechanism, Codewords):
            entries = named(mechanism, inputs[which], generator)
            summed = [entries, entries * entries]
        else:
            entries = _noisy(mechanism, inputs[which], generator)
            squares = entries * entries
            summed = [entries, squares & _LIMB, squares >> 32]
        parts = [np.add.reduceat(part, np.arange(0, len(part), reports), axis=0) for part in summed]
        for each in np.hstack(parts):
            yield [np.concatenate([[reports], each])]


def _noisy(mechanism: Mechanism, inputs: _Ints, generator: np.random.Generator) -> _Ints:
    """Entries with noise, as they are counted."""
    entries = twins.draw(mechanism, inputs, generator).view("<i4").astype(np.int64)
    shape = mechanism.shape
    assert isinstance(shape, Integers)
    entries += shape.gap * ((entries > shape.bound - 2).astype(np.int64) - (entries < 2 - shape.bound))
    return entries
