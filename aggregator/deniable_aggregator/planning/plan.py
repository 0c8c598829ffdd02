"""A plan: of a collection and a fleet all that is known before there is a device, metric by metric and as a whole.

words:
  asked     a metric as a mechanism asks it, with how wide its widest row's interval is then
  wanted    the width that is to be reached: half of an interval, as a part of what is possible
  curve     widths against devices, or against epsilons: of the widest row of a metric
  refused   a metric of which so many devices tell nothing: what its plan says of them is how many it takes
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from deniable import Collection, Metric
from deniable_aggregator.answers import RowId
from deniable_aggregator.planning.leverage import gain, gain_of_ten
from deniable_aggregator.planning.load import Load, load
from deniable_aggregator.planning.needed import (
    Needed,
    at_epsilon,
    devices_for,
    epsilon_for,
    part_at,
)
from deniable_aggregator.planning.noise import white
from deniable_aggregator.planning.otherwise import otherwise
from deniable_aggregator.planning.population import Fleet
from deniable_aggregator.planning.power import Seen, seen
from deniable_aggregator.planning.widths import Width, widths, worst

__all__ = ["DEVICES", "EPSILONS", "Asked", "Curve", "Plan", "Question", "Turned", "curves", "plan", "turned"]

DEVICES = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000, 3_162_278, 10_000_000)
"""Where a curve over devices is looked at: two points a decade."""
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""And one over epsilons."""
_ALTERNATIVES = 32
"""So many answers are drawn, where they are, for what other mechanisms would give."""


class Asked(NamedTuple):
    """A mechanism for a metric's question."""

    mechanism: str
    """Its name."""
    row: RowId
    """The row that is told least."""
    half: float
    """Half of its interval."""
    gain_of_ten: float | None
    """How far one fake would move ten of the answers together."""


class Question(NamedTuple):
    """What is to be expected of one metric."""

    metric: Metric
    widths: Sequence[Width]
    """Of every row."""
    changes: Mapping[RowId, Seen]
    """The least changes that are seen."""
    worst: Width | None
    """The row that is told least; None where none has ends."""
    others: Sequence[Asked]
    """What other mechanisms would give for the same question, the best first."""
    gain: float
    """How many times farther one fake moves a row than a liar in a survey without noise."""
    gain_of_ten: float | None
    """How far it moves ten answers of a longer list together."""
    devices: Needed | None
    """How many devices the wanted width takes; None where no row has ends."""


class Plan(NamedTuple):
    """All of a collection."""

    devices: int
    wanted: float
    questions: Sequence[Question]
    load: Load
    refused: Sequence[str]
    """What tells nothing, and what it would take, a sentence each."""


class Turned(NamedTuple):
    """What a width takes of one metric."""

    metric: Metric
    row: RowId | None
    """The row that is told least."""
    devices: Needed | None
    """At its epsilon."""
    epsilon: Needed | None
    """Of so many devices, where it is said how many there are."""


class Curve(NamedTuple):
    """Points of a curve, and the point where the collection is."""

    points: Sequence[tuple[float, float]]
    """Devices or epsilon, and the part that the widest row has."""
    here: tuple[float, float]
    """The same of the collection as it is."""


def plan(
    collection: Collection,
    devices: int,
    wanted: float,
    fleets: Mapping[str, Fleet],
    names: Sequence[str] = (),
) -> Plan:
    """Of so many devices, for all metrics or those of some names; `fleets` has what they have, where that is said."""
    questions = [
        _question(collection, collection.metrics[name], devices, wanted, fleets.get(name))
        for name in names or collection.metrics
    ]
    refused = [sentence for own in questions for sentence in _refused(collection, own, devices, wanted, fleets)]
    return Plan(devices, wanted, questions, load(collection, devices), refused)


def _question(collection: Collection, metric: Metric, devices: int, wanted: float, fleet: Fleet | None) -> Question:
    expected = widths(metric, devices, fleet)
    row = worst(expected)
    return Question(
        metric,
        expected,
        seen(metric, devices, fleet),
        row,
        sorted(_others(collection, metric, devices, fleet), key=lambda own: own.half),
        gain(metric).row,
        gain_of_ten(metric),
        row and devices_for(metric, wanted, fleet),
    )


def _others(collection: Collection, metric: Metric, devices: int, fleet: Fleet | None) -> Iterator[Asked]:
    """By every other mechanism that fits."""
    own = metric.mechanisms
    for name in metric.kind.mechanisms:
        try:
            other = otherwise(collection, metric, mechanism=name)
        except ValueError:
            continue
        if other.mechanisms == own:
            continue
        row = worst(widths(other, devices, fleet, answers=_ALTERNATIVES))
        if row is not None:
            yield Asked(name, row.where, row.half, gain_of_ten(other))


def _refused(
    collection: Collection, question: Question, devices: int, wanted: float, fleets: Mapping[str, Fleet]
) -> Iterator[str]:
    """What is white noise, and what would not be."""
    metric = question.metric
    for sentence in white(metric, question.widths, devices):
        told = [sentence]
        if question.devices and question.devices.least:
            told.append(f"±{100 * wanted:g}% of what is possible takes {question.devices.least:,.0f} devices")
        epsilon = epsilon_for(collection, metric, wanted, devices, fleets.get(metric.name)).least
        told.append(
            f"of {devices:,} devices it takes epsilon {epsilon:g}"
            if epsilon
            else f"of {devices:,} devices no epsilon is enough for that"
        )
        yield "; ".join(told)


def turned(
    collection: Collection,
    wanted: float,
    devices: int | None,
    fleets: Mapping[str, Fleet],
    names: Sequence[str] = (),
) -> list[Turned]:
    """The question turned round: what devices, and what epsilon, a width takes."""
    found = []
    for name in names or collection.metrics:
        metric, fleet = collection.metrics[name], fleets.get(name)
        row = worst(widths(metric, devices or 10_000, fleet, answers=_ALTERNATIVES))
        epsilon = None
        if row is not None and devices is not None:
            epsilon = epsilon_for(collection, metric, wanted, devices, fleet)
        found.append(Turned(metric, row and row.where, row and devices_for(metric, wanted, fleet), epsilon))
    return found


def curves(
    collection: Collection, metric: Metric, devices: int, fleet: Fleet | None = None
) -> tuple[Curve, Curve | None] | None:
    """Width against devices and against epsilon; None where no row has ends, or where its own key has the cost."""
    own = part_at(metric, devices, fleet)
    if own is None:
        return None
    over = Curve(list(_known((float(each), part_at(metric, each, fleet)) for each in DEVICES)), (float(devices), own))
    if metric.kind.cost is not None:
        return over, None
    costs = ((each, part_at(at_epsilon(collection, metric, each), devices, fleet)) for each in EPSILONS)
    return over, Curve(list(_known(costs)), (float(metric.epsilon), own))


def _known(points: Iterator[tuple[float, float | None]]) -> Iterator[tuple[float, float]]:
    return ((place, part) for place, part in points if part is not None and math.isfinite(part))
