"""How often the intervals of every kind hold the truth, and how wide they are, where the truth is known.

words:
  covered    how often a row's interval holds its truth
  width      the mean width of a row's intervals over the ideal width
  ideal      2 * 1.96 times the estimate's standard deviation, as if that were known; no more than what is possible
  joint      how often all simultaneous intervals of an answer hold

A row that is decided by one count needs no samples: every count is looked at. All others are measured on samples
(`samples.py`) of the fleets of every kind (`fleets.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from tools.directions import moments
from tools.fleets import Case
from tools.samples import adds_of, cells_of, drawn, payloads_of, row_of

from deniable import Metric
from deniable.codebook import LENGTH
from deniable.kinds import Boolean, Category, Distribution, Flags, Ordinal, Quantity, Set, Text, Vector
from deniable.mechanisms import Codewords, Gaussian, VectorLaplace
from deniable_aggregator.answers import Estimate, Measure, Row, answer, combines, truth
from deniable_aggregator.answers.joint import MARGINALS, TABLE
from deniable_aggregator.answers.text import CANDIDATES, LONG
from deniable_aggregator.estimators import Frequencies, OneBit, Target, frequencies, means, simultaneous
from deniable_aggregator.planning import twins

__all__ = [
    "CONFIDENCE", "DEVIATION", "PLAIN", "Measured", "alone", "decided", "exactly", "jointly", "linear", "sampled",
    "true_rows", "widths",
]  # fmt: skip

CONFIDENCE = 0.95
DEVIATION = "standard deviation"
"""The row that tells how much devices differ."""
PLAIN = {"joint": (TABLE, MARGINALS), "text": (LONG, CANDIDATES)}
"""Of kinds with other series besides, those whose rows are means of what reports say."""
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


def linear(metric: Metric, counters: Sequence[_Ints], confidence: float = CONFIDENCE) -> Estimate:
    """The rows that are means of what reports say. Of a joint these are cells and marginals:
    `tests/statistics/test_joints.py` looks at ratios of them, and at what has no other truth than 0 or 1. Of a text
    it is how many are too long: `tests/statistics/test_words.py` looks at words that are found."""
    return answer(metric, counters, confidence, only=PLAIN.get(metric.kind.name, ()))


class Measured(NamedTuple):
    """What became of one row's intervals."""

    key: str
    covered: float
    width: float
    rough: bool = False
    """Whether the interval is of whole buckets: then it holds more often, and is wider."""


def decided(metric: Metric) -> bool:
    """Whether one count decides each of its rows."""
    return _counted(metric) is not None


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
