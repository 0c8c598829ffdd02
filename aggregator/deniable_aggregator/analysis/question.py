"""A question and its answer, as values: what is asked of the counters, and what is told.

words:
  window    a span of epochs whose counters are added
  trend     one row of an answer, epoch by epoch
  doubt     that an operator does not trust the counters of an epoch, or has removed them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from deniable import Collection, Metric
from deniable_aggregator.analysis.anytime import Looks
from deniable_aggregator.analysis.catalog import NOWHERE, Place
from deniable_aggregator.answers import Estimate, Row, RowId, Target, check_confidence, check_fakes

__all__ = ["MOST_EPOCHS", "Answer", "EpochDoubt", "EpochSuspicion", "Overview", "Point", "Query", "Trend"]

MOST_EPOCHS = 3660
"""Ten years of days."""
MOST_ASKED = 64
"""So many rows are asked for at most besides those that there are."""
LOOKED_AT = 7
"""In so many epochs of a window, the last ones, marks of fakes are looked for."""
MOST_KEY = 256
"""So many characters their keys have at most, on average: questions are remembered with them."""


@dataclass(frozen=True, slots=True)
class Query:
    """Which window, segment and intervals are asked for."""

    last_epoch: int | None = None
    """The last epoch of the window; None: the newest that is well under way, with at least half as many batches as
    any other that is remembered. One that has only begun would tell little in place of one that is whole."""
    epochs: int = 1
    """How many epochs it has."""
    segment: Mapping[str, str] = field(default_factory=dict)
    """Values of segments, by name; segments that are not named are added up."""
    confidence: float = 0.95
    """Of the intervals."""
    target: Target = Target.POPULATION
    """Whom the intervals are about."""
    rows: int = 0
    """At most so many rows of each series, the largest first, but for those that are ordered; 0: all, in the order of
    the collection file."""
    asked: tuple[RowId, ...] = ()
    """Rows besides those that an answer always has."""
    series: tuple[str, ...] = ()
    """Only these; none: all."""
    looks: Looks = Looks.ONE
    """At which looks together the intervals hold."""
    fakes: float = 0.0
    """A share of the reports: how far fakes that have sent so many can have moved each row is told; 0: it is not."""
    doubtful: bool = False
    """Whether epochs that are doubtful count, too."""

    def __post_init__(self) -> None:
        if len(self.asked) > MOST_ASKED:
            raise ValueError(f"a question can ask for {MOST_ASKED} rows at most, not for {len(self.asked)}")
        characters = sum(len(row.series) + len(row.key) for row in self.asked)
        if characters > MOST_ASKED * MOST_KEY:
            raise ValueError(
                f"the rows that are asked for have {MOST_ASKED * MOST_KEY:,} characters at most together"
            )
        if not 1 <= self.epochs <= MOST_EPOCHS:
            raise ValueError(f"a window has 1 to {MOST_EPOCHS} epochs, not {self.epochs}")
        check_confidence(self.confidence)
        if self.fakes:
            check_fakes(self.fakes)


class EpochDoubt(NamedTuple):
    """One epoch of a window that is doubtful, or was removed."""

    epoch: int
    reason: str
    removed: bool
    """Its counters are gone."""
    left_out: bool
    """It does not count in the answer."""


class EpochSuspicion(NamedTuple):
    """What of one epoch's counters honest devices would hardly add up to."""

    epoch: int
    what: str
    chance: float
    """How often an honest epoch has such a mark or a stronger one: at most."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An estimate, and what it is about."""

    collection: Collection
    metric: Metric
    first_epoch: int
    last_epoch: int
    segment: Mapping[str, str]
    """The segments that were asked for."""
    estimate: Estimate
    """With as many rows as were asked for."""
    effective: float
    """How many reports of different devices it is worth."""
    consistent: Sequence[float | None]
    """For each row its value in the consistent view, where there is one."""
    row_counts: Sequence[int]
    """How many rows each series has."""
    truth: Sequence[float] | None = None
    """For each row what it would say if the values were known: in a demonstration."""
    looks: Looks = Looks.ONE
    """At which looks together its intervals hold."""
    place: Place = NOWHERE
    """Where it stands among the answers of versions that ask the metric in another way."""
    weighted_by: str = ""
    """The segment whose shares of the population it is weighted by."""
    fakes: float = 0.0
    """The share of its reports that are taken to be of fakes."""
    bounds: Sequence[tuple[float, float]] = ()
    """For each row the least and the most that it could be without these; none where nobody has asked."""
    suspicions: tuple[EpochSuspicion, ...] = ()
    """Marks of fakes in the last epochs of the window."""
    doubts: tuple[EpochDoubt, ...] = ()
    """Epochs of the window that an operator does not trust."""


@dataclass(frozen=True, slots=True)
class Point:
    """One epoch of a trend."""

    epoch: int
    reports: int
    row: Row


@dataclass(frozen=True, slots=True)
class Trend:
    """One row of a metric's answer in every epoch that has reports."""

    row: RowId
    """Which row."""
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Overview:
    """The answers of a collection, and how they have come about."""

    answers: list[Answer]
    trends: list[Trend]
    """For each answer, that of its leading row."""
