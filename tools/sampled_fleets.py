"""Do 95% intervals hold where a part of the devices is asked? Measures what stands in docs/statistics.md.

python -m tools.sampled_fleets    prints the tables: a few minutes

Fleets are drawn from a population, devices from fleets by their coins, and reports by the twins. An answer is to hold
what the population has, with totals of as many devices as the fleet has, and it is to hold what the fleet itself has.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable_aggregator.analysis.offline import added
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import Measure, RowId, Target, answer, truth
from deniable_aggregator.planning.population import Population, taking_part
from deniable_aggregator.planning.simulate import randomized, simulate

__all__ = ["CASES", "CHANCES", "LASTING", "Held", "Lasting", "collection", "lasting", "survey"]

CHANCES = (0.1, 0.5)
FLEETS = 4_000
DEVICES = 2_000
TEXT = """
[collection]
name = "part"
epoch = "1d"
owner = "telemetry@example.org"
sample = {chance}
[budget]
epoch = 14
[metrics.dark]
kind = "boolean"
description = "The dark theme is on"
epsilon = 2
[metrics.files]
kind = "count"
description = "Files that were saved"
max = 20
epsilon = 4
[metrics.minutes]
kind = "number"
description = "Minutes in the foreground"
range = [0, 480]
mechanism = "one_bit"
epsilon = 4
[metrics.place]
kind = "tree"
description = "Where the device is"
paths = ["a/b", "a/c", "d"]
epsilon = 4
"""
CASES: Mapping[str, tuple[list[Any], list[float]]] = {
    "dark": ([True, False], [0.3, 0.7]),
    "files": ([0, 3, 12], [0.6, 0.3, 0.1]),
    "minutes": ([30.0, 90.0, 300.0], [0.5, 0.3, 0.2]),
    "place": (["a/b", "a/c", "d"], [0.5, 0.2, 0.3]),
}
"""What a population has for each metric."""
LASTING: Mapping[str, tuple[str, list[Any], list[float]]] = {
    "boolean, fresh": ('kind = "boolean"\nepsilon = 4', [True, False], [0.3, 0.7]),
    "boolean, remembered": (
        'kind = "boolean"\nepsilon = 2\nmemoize = true\ninstantaneous_epsilon = "linkable"',
        [True, False],
        [0.3, 0.7],
    ),
    "count, fresh": ('kind = "count"\nmax = 20\nepsilon = 8', [0, 8, 20], [0.5, 0.3, 0.2]),
}
"""Metrics of which devices keep their values over a window, and what a population has."""
EPOCHS, DEVICES_OF_WINDOWS = 8, 1_000
WINDOWS = 1_200
_PARTS = 1000
"""Shares of a population are so many parts of it."""


class Held(NamedTuple):
    """How often the intervals of one sort of rows held."""

    measure: Measure
    intervals: int
    population: float
    """What the population has."""
    fleet: float
    """What the fleet has that was drawn from it."""
    plain: float
    """What the fleet has, if the coins were not counted: as the interval of the devices that reported, scaled up."""


class Lasting(NamedTuple):
    """What came of windows in which a fleet keeps its values."""

    held: float
    """How often intervals held what the population has."""
    worth: float
    """How many reports of different devices the last window was worth;"""
    if_the_same: float
    """and how many it would be, if the same devices had to be taken to report in every epoch."""


def collection(chance: float) -> Collection:
    """One that asks this part of its devices."""
    return Collection.loads(TEXT.format(chance=chance))


def survey(
    asked: Collection, name: str, fleets: int, generator: np.random.Generator, case: tuple[list[Any], list[float]]
) -> Iterator[Held]:
    """Draw so many fleets, ask them, and count what held, sort by sort."""
    own, (values, weights) = asked.metrics[name], case
    everybody, counted = _everybody(own, values, weights), dict[Measure, list[tuple[bool, bool, bool]]]()
    for _ in range(fleets):
        fleet = Population(values, generator.choice(len(values), DEVICES, p=weights))
        here = truth(own, list(fleet))
        taking = taking_part(asked, {name: fleet}, generator)[name]
        found = answer(own, simulate(own, taking, generator))
        for where, row, heading in zip(found.ids, found.rows, found.headings, strict=True):
            if where.series == "standard deviation":
                continue
            low, high = row.low, row.high
            if heading.measure is Measure.TOTAL:
                mean = _mean(found.rows, where, own)
                low, high = (found.size * end for end in (mean.low, mean.high))
            known = here[where]
            held = row.low <= everybody[where] <= row.high, row.low <= known <= row.high, low <= known <= high
            counted.setdefault(heading.measure, []).append(held)
    for measure, every in counted.items():
        yield Held(measure, len(every), *np.mean(every, axis=0).tolist())


def lasting(name: str, chance: float, fleets: int, generator: np.random.Generator) -> Lasting:
    """Have so many fleets report over a window, in each epoch those devices that their coins draw."""
    asked, values, weights = LASTING[name]
    begin = TEXT[: TEXT.index("[metrics")].format(chance=chance)
    own = Collection.loads(f'{begin}[metrics.m]\ndescription = "d"\n{asked}\n').metrics["m"]
    everybody, held, size = truth(own, _parts_of(values, weights)), [], DEVICES_OF_WINDOWS * EPOCHS / _PARTS
    for _ in range(fleets):
        fleet = Population(values, generator.choice(len(values), DEVICES_OF_WINDOWS, p=weights))
        epochs = _reported(own, fleet, generator)
        found = windowed(own, epochs, 0.95, Target.POPULATION)
        for where, row in found.estimate.by_id.items():
            known = everybody[where] * (size if where.key == "total" else 1.0)
            held.append(row.low <= known <= row.high)
    same = windowed(replace(own, sample=Fraction(1)), epochs, 0.95, Target.POPULATION)
    return Lasting(float(np.mean(held)), found.effective, same.effective)


def _reported(own: Metric, fleet: Population, generator: np.random.Generator) -> list[list[NDArray[np.int64]]]:
    """The counters of each epoch."""
    epochs = []
    (sent,) = randomized(own, fleet, generator)
    for _ in range(EPOCHS):
        if not own.memoize:
            (sent,) = randomized(own, fleet, generator)
        coins = generator.random(len(fleet)) < float(own.sample)
        epochs.append(added(own, sent.rows(sent.place)[coins[sent.devices]].astype("<u8").tobytes(), []))
    return epochs


def _parts_of(values: list[Any], weights: list[float]) -> list[Any]:
    """A population in so many parts."""
    return [value for value, weight in zip(values, weights, strict=True) for _ in range(round(weight * _PARTS))]


def _mean(rows: Any, where: RowId, own: Metric) -> Any:
    """The row of which a total is so many times as much: the mean of a quantity, the share of a node."""
    key = where.key if own.kind.name == "tree" else "mean"
    return next(row for row in rows if row.key == key)


def _everybody(own: Metric, values: list[Any], weights: list[float]) -> dict[RowId, float]:
    """What the rows say of a population, with totals of as many devices as a fleet has."""
    known = truth(own, _parts_of(values, weights))
    totals = {"total", "devices"}
    return {where: told * (DEVICES / _PARTS if where.series in totals else 1) for where, told in known.items()}


def _main() -> None:
    generator = np.random.default_rng(20261119)
    print(f"of {FLEETS:,} fleets of {DEVICES:,} devices:\n")
    print("| metric | rows | a part of | hold the population's | hold the fleet's | if coins were not counted |")
    print("|---|---|---|---|---|---|")
    for name, case in CASES.items():
        for chance in CHANCES:
            for held in survey(collection(chance), name, FLEETS, generator, case):
                shares = (held.population, held.fleet, held.plain)
                rows = {Measure.SHARE: "shares", Measure.QUANTITY: "mean", Measure.TOTAL: "totals"}[held.measure]
                print(f"| {name} | {rows} | {chance} | " + " | ".join(f"{own:.1%}" for own in shares) + " |")
                sys.stdout.flush()
    print(f"\nof {WINDOWS:,} fleets of {DEVICES_OF_WINDOWS:,} devices, in {EPOCHS} epochs:\n")
    print("| metric | a part of | hold the population's | worth so many reports | if the same devices reported |")
    print("|---|---|---|---|---|")
    for name in LASTING:
        for chance in CHANCES:
            told = lasting(name, chance, WINDOWS, generator)
            print(f"| {name} | {chance} | {told.held:.1%} | {told.worth:,.0f} | {told.if_the_same:,.0f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    _main()
