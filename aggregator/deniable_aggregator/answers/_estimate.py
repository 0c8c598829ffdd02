"""Estimates: a few series of rows, with the number of reports behind them.

words:
  series   rows that are of one sort: shares, or the mean; their heading says what their numbers are
  row      one number with its interval
  key      what a row is about, told from every other row of its series: a value, a quantile, a path, a pair
  parent   the key of the row that a row is a part of, where series are trees
"""

from __future__ import annotations

import csv
import enum
import io
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from deniable_aggregator.answers._asking import QUANTILES, SHARES, quantile_key, share_key
from deniable_aggregator.estimators import Target

if TYPE_CHECKING:
    from deniable_aggregator.answers.naive_bayes import NaiveBayes

__all__ = ["Bound", "Estimate", "Heading", "Keys", "Measure", "Row", "RowId", "Series", "by_size"]

_NUMBERS = ("value", "low", "high", "std_error")


class Measure(enum.StrEnum):
    """What the numbers of a series are."""

    SHARE = "share"
    """A share of devices: 0 to 1."""
    QUANTITY = "quantity"
    """In the unit of the metric: a mean, a deviation, a quantile, a rank."""
    TOTAL = "total"
    """In the unit of the metric, added up over the devices that reported, or over all where coins drew these
    (`_drawn.py`): it grows with their number."""


class RowId(NamedTuple):
    """Where a row is found in an answer, in whatever window, segment or epoch."""

    series: str
    key: str


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above the rows of a series; known before there are any."""

    name: str
    """Of the series, among those of its answer."""
    measure: Measure
    """What the numbers are."""
    unit: str = ""
    """Of quantities and totals, where the collection file names one."""
    span: tuple[float, float] | None = None
    """The least and the most that a device's quantity can be, where the collection file says so."""
    adds_up: bool = False
    """Whether every device is in exactly one row: then shares add up to 1."""
    ordered: bool = False
    """Whether rows go up a scale, as those of a curve do: all of them are told, as a part would say nothing."""
    chance: bool = False
    """Whether its numbers are p-values: chances of what is seen, which have no intervals of their own. Over several
    epochs they are of as many reports of different devices as the window is worth."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a series."""

    key: str
    """What it is about."""
    value: float
    """The estimate, not corrected: it may lie outside of what is possible; nan without reports."""
    low: float
    """Lower end of the interval."""
    high: float
    """Upper end of the interval; infinite where nothing is known of it, as the estimate's note says."""
    std_error: float
    """Standard error of the value, as the reports show it; nan where it is not known."""
    parent: str = ""
    """The key of the row that this one is a part of; empty where there is none."""


class Bound(NamedTuple):
    """From where to where the estimate of a row could be without a share of its reports that may be of fakes, cut to
    what is possible: so far they can have moved it."""

    series: str
    key: str
    low: float
    high: float


def by_size(row: Row) -> tuple[bool, float]:
    """Sorts rows: the largest first, and last those of which nothing is known, which compare with none."""
    return math.isnan(row.value), -row.value


@dataclass(frozen=True, slots=True)
class Series:
    """Rows under one heading."""

    heading: Heading
    rows: tuple[Row, ...]
    least: float | None = None
    """Of rows that are found by what was reported: about how much one must have to be found nearly always."""


Keys = Mapping[str, Sequence[str]]
"""Rows that are asked for: the keys of a series, by its name."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The answer of one metric."""

    metric: str
    """Its name."""
    reports: int
    """How many reports are behind it."""
    series: tuple[Series, ...]
    """What is told; the first series stands for the answer."""
    confidence: float
    """The confidence level of each interval."""
    target: Target
    """Whom the intervals are about."""
    simultaneous: bool = False
    """Whether all intervals together hold with this confidence, not just each."""
    note: str = ""
    """What keeps an interval from having an end; empty where nothing does."""
    devices: Row | None = None
    """How many devices have an answer, where those that reported were drawn by coins: what totals are of, added up
    over the epochs of a window. None where all that have one report, or where just those that reported are meant."""
    without: Callable[[float], tuple[Bound, ...]] | None = field(default=None, repr=False, compare=False)
    """What makes the bounds of all rows, with the reports at hand; None where they are not any more."""
    ask: Callable[[RowId], Row] | None = field(default=None, repr=False, compare=False)
    """What makes another row out of the same reports; None where they are not at hand any more."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all series, one after another."""
        return tuple(row for series in self.series for row in series.rows)

    @property
    def size(self) -> float:
        """How many devices its totals are of."""
        return self.devices.value if self.devices else self.reports

    @property
    def ids(self) -> tuple[RowId, ...]:
        """Where each of the rows is found."""
        return tuple(RowId(series.heading.name, row.key) for series in self.series for row in series.rows)

    @property
    def headings(self) -> tuple[Heading, ...]:
        """The heading of each of the rows."""
        return tuple(series.heading for series in self.series for _ in series.rows)

    @property
    def keys(self) -> Keys:
        """The keys of its rows: who asks for these has the same rows again, from other counters."""
        return {series.heading.name: [row.key for row in series.rows] for series in self.series}

    @property
    def by_id(self) -> dict[RowId, Row]:
        """Its rows, by where they are found; a ValueError where that is one place for two of them."""
        rows = self.rows
        found = dict(zip(self.ids, rows, strict=True))
        if len(found) < len(rows):
            raise ValueError(f"two rows of a series of {self.metric} have one key")
        return found

    def row(self, where: RowId) -> Row:
        """The row that is found there; a LookupError where there is none."""
        for series in self.series:
            if series.heading.name == where.series:
                for row in series.rows:
                    if row.key == where.key:
                        return row
        raise LookupError(f"{self.metric} has no row {where.key!r} of {where.series!r}")

    def told(self, only: Collection[str], more: Iterable[RowId]) -> Estimate:
        """What of it is told: all series, or `only` some and those of which `more` rows are asked for."""
        names = {*only, *(row.series for row in more)}
        kept = tuple(own for own in self.series if own.heading.name in names)
        return replace(self, series=kept) if only else self

    def share(self, *, above: float | None = None, below: float | None = None) -> Row:
        """Of a distribution, the share of devices at `above` or beyond it, below `below`, or between both."""
        return self._asked(RowId(SHARES, share_key(above, below)))

    def quantile(self, share: float) -> Row:
        """Of a distribution, the value that this share of devices is below."""
        return self._asked(RowId(QUANTILES, quantile_key(share)))

    def naive_bayes(self, target: str) -> NaiveBayes:
        """Of a joint, what tells this source of it from the others."""
        from deniable_aggregator.answers.naive_bayes import naive_bayes

        rows = {own.heading.name: [(row.key, row.value, row.std_error) for row in own.rows] for own in self.series}
        return naive_bayes(self.metric, self.reports, rows, target)

    def manipulation_bound(self, share: float) -> tuple[Bound, ...]:
        """How far fakes can have moved each row, if they have sent up to this share of its reports: from where to
        where the estimate of the others lies."""
        if self.without is None:
            raise LookupError(f"the reports behind {self.metric} are not at hand: ask for fakes with the answer")
        return self.without(share)

    def _asked(self, where: RowId) -> Row:
        if self.ask is None:
            raise LookupError(
                f"the reports behind the answer of {self.metric} are not at hand: ask for the row with it"
            )
        return self.ask(where)

    def with_rows(self, rows: Iterable[Row]) -> Estimate:
        """The same series with other numbers: as many rows, in the same order."""
        given = iter(rows)
        series = tuple(replace(own, rows=tuple(next(given) for _ in own.rows)) for own in self.series)
        return replace(self, series=series)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows in plain Python; what is not known is None."""
        about = {"metric": self.metric, "reports": self.reports}
        return [
            {**about, "series": where.series, "key": where.key}
            | {name: _known(getattr(row, name)) for name in _NUMBERS}
            for where, row in zip(self.ids, self.rows, strict=True)
        ]

    def to_csv(self) -> str:
        """The rows as a CSV table with a header; what is not known is empty."""
        text = io.StringIO()
        writer = csv.DictWriter(text, ["metric", "reports", "series", "key", *_NUMBERS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.to_dicts())
        return text.getvalue()


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
