"""From a metric's counters to its answer: one kind a file, as on the client's side, registered here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable_aggregator.answers._asking import QUANTILES, SHARES, quantile_key, share_key
from deniable_aggregator.answers._drawn import of_all
from deniable_aggregator.answers._estimate import (
    Bound,
    Estimate,
    Heading,
    Keys,
    Measure,
    Row,
    RowId,
    Series,
    by_size,
)
from deniable_aggregator.answers._room import Counters, Room
from deniable_aggregator.answers.boolean import BooleanRoom
from deniable_aggregator.answers.category import CategoryRoom
from deniable_aggregator.answers.count import CountRoom
from deniable_aggregator.answers.distribution import DistributionRoom
from deniable_aggregator.answers.flags import FlagsRoom
from deniable_aggregator.answers.joint import JointRoom
from deniable_aggregator.answers.number import NumberRoom
from deniable_aggregator.answers.ordinal import OrdinalRoom
from deniable_aggregator.answers.sets import SetRoom
from deniable_aggregator.answers.suspicions import RATE, Suspicion, jump, suspicions
from deniable_aggregator.answers.text import CANDIDATES, TextRoom, word_key
from deniable_aggregator.answers.tree import DEVICES, TreeRoom
from deniable_aggregator.answers.vector import VectorRoom
from deniable_aggregator.estimators import Target, divisible
from deniable_aggregator.estimators import simultaneous as confidence_of_each

__all__ = [
    "CANDIDATES", "DEVICES", "LEAST_CONFIDENCE", "MOST_CONFIDENCE", "QUANTILES", "RATE", "ROOMS", "SHARES", "Bound",
    "Counters", "Estimate", "Heading", "Keys", "Measure", "Room", "Row", "RowId", "Series", "Suspicion",
    "Target", "always", "anew", "answer", "apart", "by_size", "check_asked", "check_confidence",
    "check_fakes", "combines", "consistent", "divisible", "effort", "ends", "every_series", "headings",
    "jump", "leading", "of_all", "quantile_key", "row_count", "searching", "share_key", "shared",
    "suspicions", "swaying", "truth", "values_vary", "view", "without_fakes", "word_key",
]  # fmt: skip

LEAST_CONFIDENCE = 1e-6
"""Errors are told by dividing an interval by how many of them it has: of less there would be none."""
MOST_CONFIDENCE = 1 - 1e-9
"""Six errors and more: nobody learns from wider ones. From 1 - 2^-53 on half of what is left is nothing."""

ROOMS: dict[str, Room] = {
    room.kind.name: room
    for room in (
        BooleanRoom(),
        CategoryRoom(),
        NumberRoom(),
        CountRoom(),
        DistributionRoom(),
        OrdinalRoom(),
        FlagsRoom(),
        JointRoom(),
        SetRoom(),
        TextRoom(),
        TreeRoom(),
        VectorRoom(),
    )
}
"""How the answers of every kind are made, by its name."""


def answer(
    metric: Metric,
    counters: Counters,
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
    simultaneous: bool = False,
    keys: Keys | None = None,
    more: Sequence[RowId] = (),
    only: Collection[str] = (),
) -> Estimate:
    """The answer of a metric from the counters of its columns, in their order.

    Each interval holds with the confidence; simultaneous ones, which are wider, all do together. Where rows depend on
    what was reported, `keys` asks for just these; None for those that are found, and for some `more`, of which a
    ValueError says if there are none such. `only` names the series that are told, with those of the rows that are
    asked for besides; none: all.
    """
    found = of_all(every_series(metric, counters, confidence, target, keys, more, only), metric.sample)
    told = found.told(only, more)
    if not simultaneous:
        return told
    each = confidence_of_each(confidence, len(told.rows))
    again = of_all(every_series(metric, counters, each, target, found.keys), metric.sample).told(only, more)
    return replace(again, confidence=confidence, simultaneous=True)


def every_series(
    metric: Metric,
    counters: Counters,
    confidence: float = 0.95,
    target: Target = Target.POPULATION,
    keys: Keys | None = None,
    more: Sequence[RowId] = (),
    only: Collection[str] = (),
) -> Estimate:
    """An answer with every series that it has, as whatever is made of it takes it: of those that are not told, where
    `only` some are, rows may be left out that take long. Its totals are of the devices that reported."""
    check_confidence(confidence)
    room = _room(metric)
    asked = (counters, confidence, target)
    if keys is None:
        found = room.only(metric, only, *asked) if only else room.answer(metric, *asked)
    else:
        found = room.again(metric, keys, *asked)
    if more:
        room.asked(metric, more)
        found = room.again(metric, _with(found.keys, more), *asked)
    return found


def _with(keys: Keys, more: Sequence[RowId]) -> Keys:
    """The keys with some more of them, each once."""
    every: dict[str, list[str]] = {name: list(own) for name, own in keys.items()}
    for row in more:
        every.setdefault(row.series, []).append(row.key)
    return {name: list(dict.fromkeys(own)) for name, own in every.items()}


def check_asked(metric: Metric, rows: Sequence[RowId], only: Collection[str] = ()) -> None:
    """A ValueError where a metric's answers have no such rows to ask for, or not all of these series."""
    _room(metric).asked(metric, rows)
    names = [heading.name for heading in headings(metric)]
    for name in only:
        if name not in names:
            raise ValueError(f"{metric.name} has no series {name!r}; its series: {', '.join(names)}")


def headings(metric: Metric) -> tuple[Heading, ...]:
    """Those of the series that a metric's answers have."""
    return _room(metric).headings(metric)


def view(metric: Metric) -> str:
    """How a metric's answers look on the page: the name of one of its views."""
    return _room(metric).view


def always(metric: Metric) -> Keys:
    """Of series that are drawn, and whose rows follow the reports, those rows that every answer of a metric has."""
    return _room(metric).always(metric)


def effort(metric: Metric) -> int:
    """What making a metric's answers takes beside their rows and columns, counted in counters."""
    return _room(metric).effort(metric)


def row_count(metric: Metric) -> int:
    """How many rows a metric's answers have, at the most."""
    return _room(metric).row_count(metric)


def swaying(metric: Metric, most: int) -> int:
    """How many nodes are looked at to bound what fakes can do to rows: all, or at most so many of each series."""
    return _room(metric).swaying(metric, most)


def searching(metric: Metric) -> int:
    """What it takes to find the rows of a metric's answers, where that is not known before: in counters."""
    return _room(metric).searching


def leading(metric: Metric, found: Estimate) -> RowId:
    """The row that stands for the whole answer."""
    return _room(metric).leading(metric, found)


def consistent(metric: Metric, found: Estimate, part: bool = False) -> list[float | None]:
    """For each row what it would be if it fitted the others; None where nothing is known, or nothing to fit. Of all
    devices more may be known than of a `part` of them, such as a segment."""
    room = _room(metric)
    return room.consistent_part(metric, found) if part else room.consistent(metric, found)


def shared(metric: Metric, counters: Counters, pooled: Estimate, spread: Sequence[float]) -> NDArray[np.float64]:
    """For each row of an answer over several epochs, the part of a report's variance that is of what its device
    brings along into all of them, at most: at the low end of the interval, at the value, at the high end.

    `spread` says of each column how many times more reports it has than independent ones. What is not said of a
    mechanism by its chances alone (answers that are remembered, and sent as they are) is not asked for here.
    """
    return _room(metric).shared(metric, counters, pooled, spread)


def combines(metric: Metric) -> bool:
    """Whether the rows of a metric's answers are made of all its columns."""
    return _room(metric).combines


def anew(metric: Metric, counters: Counters, pooled: Estimate) -> NDArray[np.float64]:
    """For each row of an answer that is remembered and randomised once more, the part of a report's variance that is
    of the second randomisation, at most."""
    return _room(metric).anew(metric, counters, pooled)


def apart(metric: Metric) -> bool:
    """Whether each row is of reports of its own: one a column, in their order."""
    return _room(metric).apart(metric)


def ends(metric: Metric, found: Estimate) -> NDArray[np.float64]:
    """For each row, the least and the most that an interval can reach to, whatever was reported."""
    return _room(metric).ends(metric, found)


def check_confidence(level: float) -> None:
    """A ValueError where no interval is of this level, or one that is as good as a point."""
    if not LEAST_CONFIDENCE <= level <= MOST_CONFIDENCE:
        least, most = f"{LEAST_CONFIDENCE:f}", f"{MOST_CONFIDENCE:.9f}"
        raise ValueError(f"a confidence level lies between 0 and 1, and is {least} to {most}, not {level}")


def check_fakes(share: float) -> None:
    """A ValueError where this is no share of reports to be fakes."""
    if not 0 < share < 1:
        raise ValueError(f"a share of fakes lies between 0 and 1, such as 0.01, not {share}")


def without_fakes(
    metric: Metric, counters: Counters, found: Estimate, share: float, told: Estimate | None = None
) -> NDArray[np.float64]:
    """For each row of an answer, or of a part of it that is told, the least and the most that it could be without
    fakes which have sent up to this share of its reports: that far they can have moved it. It is cut to what is
    possible. Where rows are found, they depend on all others, told or not."""
    check_fakes(share)
    if told is None or not _room(metric).searching:
        return _without(metric, counters, told or found, share)
    places = {where: place for place, where in enumerate(found.ids)}
    return _without(metric, counters, found, share)[:, [places[where] for where in told.ids]]


def _without(metric: Metric, counters: Counters, found: Estimate, share: float) -> NDArray[np.float64]:
    room, reports = _room(metric), found.reports
    possible = room.ends(metric, found)
    if not reports:
        return possible
    times, fakes = found.size / reports, share * reports
    totals = np.array([heading.measure is Measure.TOTAL for heading in found.headings], dtype=bool)
    plain = found.with_rows(
        replace(row, value=row.value / times) if own else row for row, own in zip(found.rows, totals, strict=True)
    )
    low, high = np.where(totals, times, 1.0) * room.without(metric, counters, plain, fakes)
    fewer = np.where(totals, possible * (1 - share), possible)  # on either side of 0
    least, most = np.minimum(fewer, possible)[0], np.maximum(fewer, possible)[1]
    return np.stack([np.clip(np.nan_to_num(own, nan=end), least, most)
                     for own, end in ((low, -np.inf), (high, np.inf))])  # fmt: skip


def values_vary(metric: Metric, found: Estimate) -> NDArray[np.float64]:
    """For each row how much the values of devices vary, at most, as far as the row is their mean; else infinite."""
    return _room(metric).values_vary(metric, found)


def truth(metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
    """What the rows of the answer would say if the values of all devices were known: for simulations."""
    return _room(metric).truth(metric, values)


def _room(metric: Metric) -> Room:
    return ROOMS[metric.kind.name]
