"""What a question costs, known from the catalog alone, before anything is read.

words:
  price   what answering takes if nothing is remembered, as a rule at the most, counted in counters: 1 is what it
          takes to take over one counter and to add it up
  cell    one column in one epoch and one segment, which is looked up whether or not it has counters

A question above the bound is refused in words that say what would fit. Prices follow what was measured
(`python -m benchmarks questions`): 50 counters are about a microsecond of a processor, the store's included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from deniable import Collection, Metric
from deniable.kinds import Distribution, Tree
from deniable_aggregator.analysis.question import LOOKED_AT
from deniable_aggregator.answers import effort, headings, row_count, searching, swaying

__all__ = [
    "MOST",
    "MOST_COUNTERS",
    "Price",
    "TooDearError",
    "bounding",
    "counting",
    "estimating",
    "reading",
    "suspecting",
    "telling",
    "told",
]

MOST = 500_000_000
"""The dearest question that is answered."""
MOST_KEPT = 16_000_000
"""So many counters of a metric, added over segments, are kept at once while the epochs of a window are added up."""
MOST_COUNTERS = 1_000_000
"""So many counters of several metrics are told at once: each is some thirty bytes of a message, and more in JSON."""
_CELL = 50
"""To look up a cell; most of it is the store's time."""
_VERSION = 50
"""To find out whether an epoch has changed."""
_ESTIMATE = 10_000
_ESTIMATE_COLUMN = 2_000
_ESTIMATE_ROW = 100
"""To turn counters into estimates and intervals, once, and to make consistent rows of them."""
_MARK = 10
"""To look at one counter for marks of fakes (a text's 472,384 take 0.07 to 0.09 s)."""
_NODE = 5
"""To look at a node of a level, for one row."""
_ROW = 3_000
"""To put one row into words, and into a message."""
_COUNTER = 150
"""To tell one counter, and in words what it means."""
_LEVEL = 1.05
_MOST_LEVELS = 16
"""Windows have intervals at several levels of dependence: powers of this, up to the number of epochs; but most rows
have levels that others have too, and as a rule there are no more than so many."""
_FEW_ROWS = 20
"""What is proposed to who has asked for more rows."""


class TooDearError(Exception):
    """A question that is not answered; the message says what it costs, and what would be."""


def reading(collection: Collection, metric: Metric, epochs: int) -> int:
    """To read a metric's counters, in all segments."""
    counters = sum(_CELL + column.shape.counters for column in metric.columns)
    return epochs * collection.segment_count * counters


def estimating(metric: Metric, epochs: int = 1) -> int:
    """To make the estimate of a window."""
    rows, columns = row_count(metric), len(metric.columns)
    one = _ESTIMATE + _ESTIMATE_COLUMN * columns + _ESTIMATE_ROW * rows + effort(metric)
    levels = min(rows, _MOST_LEVELS, math.ceil(math.log(epochs) / math.log(_LEVEL)))
    return one if epochs == 1 else one * (2 + levels)


def bounding(metric: Metric, most: int) -> int:
    """To say how far fakes can have moved rows: all, or at most so many of each series."""
    return estimating(metric) + _NODE * swaying(metric, most)


def suspecting(metric: Metric) -> int:
    """To look for marks of fakes in one epoch. Levels are fitted, as for an answer."""
    counters = sum(column.shape.counters for column in metric.columns)
    fitted = effort(metric) if isinstance(metric.kind, Distribution | Tree) else 0
    return _ESTIMATE + _ESTIMATE_COLUMN * len(metric.columns) + _MARK * counters + fitted


def telling(metric: Metric, most: int) -> int:
    """To tell the rows of an estimate, all or at most so many of each series."""
    rows, own = row_count(metric), headings(metric)
    cut = most and not any(heading.ordered for heading in own)
    return told(min(rows, most * len(own)) if cut else rows)


def counting(metric: Metric) -> int:
    """To tell a metric's counters as they are, each with what it means."""
    return _COUNTER * sum(column.shape.counters for column in metric.columns)


def told(rows: int) -> int:
    """To tell so many rows, once they are there."""
    return _ROW * rows


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a question as a function of what can be asked for less of."""

    collection: Collection
    metrics: Sequence[Metric]
    epochs: int
    """Of the window."""
    rows: int = 0
    """At most so many rows of each series; 0: all."""
    trend: int = 0
    """Over so many epochs every metric has a trend."""
    apart: bool = False
    """Each epoch has an answer of its own."""
    times: int = 1
    """So many answers differ in nothing but their segment."""
    asked: int = 0
    """Each has so many rows besides."""
    finds: bool = True
    """Words and the like are looked for, where rows depend on what was reported."""
    joined: int = 1
    """So many versions of the collection are added."""
    marked: bool = True
    """Marks of fakes are looked for; what compares answers tells none."""
    fakes: float = 0.0
    """How far so many fakes can have moved each row is told."""
    raw: bool = False
    """The counters are told as they are, and nothing is made of them."""

    @property
    def counters(self) -> int:
        """How much it is."""
        return self._of(self.metrics, self.epochs, self.trend)

    def check(self, most: int = MOST) -> int:
        """How much it is; a TooDearError where that is more than this."""
        price = self.counters
        if self.raw and len(self.metrics) > 1:
            told = sum(counting(metric) for metric in self.metrics) // _COUNTER
            if told > MOST_COUNTERS:
                raise TooDearError(f"there are {told:,} counters, and {MOST_COUNTERS:,} is the most at once: "
                                   "ask for one metric at a time")  # fmt: skip
        if price <= most and self._kept(self.metrics, self._span) <= MOST_KEPT:
            return price
        fits = self._fits(most)
        kept = self._kept(self.metrics, self._span)
        costs = (
            f"costs {price:,} counters, and {most:,} is the most"
            if price > most
            else f"has {kept:,} counters of one metric, and {MOST_KEPT:,} is the most"
        )
        raise TooDearError(f"this question {costs}: ask for {', or '.join(fits) or 'less'}")

    def _fits(self, most: int) -> list[str]:
        """What could be asked for instead."""

        def longest(metrics: Sequence[Metric]) -> int:
            low, high = 0, self._span  # the most epochs that fit, as fewer do too
            while low < high:
                epochs = (low + high + 1) // 2
                price = self._of(metrics, min(self.epochs, epochs), min(self.trend, epochs))
                fits = price <= most and self._kept(metrics, epochs) <= MOST_KEPT
                low, high = (epochs, high) if fits else (low, epochs - 1)
            return low

        fits, all_of_them = [], longest(self.metrics)
        if all_of_them:
            fits.append(f"{all_of_them:,} epochs at the most" if all_of_them > 1 else "one epoch")
        alone = min(longest([metric]) for metric in self.metrics)
        if len(self.metrics) > 1 and alone > all_of_them:
            fits.append("one metric at a time" if alone == self._span else f"one metric and {alone:,} epochs")
        few = replace(self, rows=_FEW_ROWS)
        if few.counters <= most and self._kept(self.metrics, self._span) <= MOST_KEPT:
            fits.append(f"the {_FEW_ROWS} largest rows")
        return fits

    @staticmethod
    def _kept(metrics: Sequence[Metric], epochs: int) -> int:
        """Of the metric that has most; one epoch alone is never too much."""
        each = max(sum(column.shape.counters for column in metric.columns) for metric in metrics)
        return epochs * each if epochs > 1 else 0

    @property
    def _span(self) -> int:
        return max(self.epochs, self.trend)

    def _of(self, metrics: Sequence[Metric], epochs: int, trend: int) -> int:
        return self.joined * _VERSION * max(epochs, trend) + sum(
            self._metric(metric, epochs, trend) for metric in metrics
        )

    def _metric(self, metric: Metric, epochs: int, trend: int) -> int:
        if self.raw:
            return self.joined * reading(self.collection, metric, epochs) + counting(metric)
        read, tell = (
            self.joined * reading(self.collection, metric, max(epochs, trend)),
            telling(metric, self.rows) + told(self.asked),
        )
        if self.apart:
            return read + epochs * (estimating(metric) + self._besides(metric) + tell)
        answers = self.times * (estimating(metric, epochs) + self._besides(metric) + tell)
        return read + answers + trend * estimating(metric)

    def _besides(self, metric: Metric) -> int:
        """To find rows, to say what fakes can do to them, and to look for marks of fakes."""
        bounded = bounding(metric, self.rows) if self.fakes else 0
        looked = 1 if self.apart else min(self.epochs, LOOKED_AT)
        return self.finds * searching(metric) + bounded + self.marked * looked * suspecting(metric)
