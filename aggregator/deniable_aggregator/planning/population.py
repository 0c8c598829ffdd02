"""A population: what every device of a simulated fleet would answer, without a list of a million equal values.

words:
  together   what the same devices have for several metrics: what answers a metric that is fed from these
  spread     values that lie evenly over all that a metric's devices can have: what is supposed where nobody knows
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from deniable import Collection, Metric
from deniable.kinds import Category, Distribution, Kind, Ordinal, Quantity, Set, Tree
from deniable.randomness import WORD
from deniable_aggregator.planning import twins

__all__ = ["Fleet", "Population", "Shares", "evenly", "spread", "taking_part", "with_fed"]

_SPREAD = 512
"""So many values are spread at the most."""
_POINTS = 33
"""So many over the range of a quantity: it is told by how much these differ."""


@dataclass(frozen=True, slots=True, eq=False)
class Population(Sequence[Any]):
    """The values that occur, and which of them each device has."""

    values: Sequence[Any]
    """What occurs."""
    places: NDArray[np.int64]
    """For each device, the place of its value."""

    def __post_init__(self) -> None:
        if len(self.places) and not 0 <= self.places.min() <= self.places.max() < len(self.values):
            raise ValueError(f"a place lies below the {len(self.values)} values")

    @classmethod
    def of(cls, values: Sequence[Any]) -> Population:
        """The population of a list of everybody's values."""
        if isinstance(values, Population):
            return values
        numbers: dict[str, int] = {}  # by what they look like: lists have no hash, and True is not 1
        places = [numbers.setdefault(repr(value), len(numbers)) for value in values]
        first = dict(zip(reversed(places), reversed(values), strict=True))
        return cls([first[number] for number in range(len(numbers))], np.array(places, dtype=np.int64))

    @classmethod
    def together(cls, parts: Mapping[str, Sequence[Any]]) -> Population:
        """What every device has for several metrics, by their names."""
        given = [cls.of(values) for values in parts.values()]
        values: list[tuple[Any, ...]] = [()]
        places = np.zeros(len(given[0]), dtype=np.int64)
        for each in given:  # only what occurs is kept: there can be many more combinations than devices
            own = len(each.values)
            occurring, places = np.unique(places * own + each.places, return_inverse=True)
            values = [(*values[pair // own], each.values[pair % own]) for pair in occurring.tolist()]
        return cls([dict(zip(parts, value, strict=True)) for value in values], places)

    def only(self, devices: NDArray[np.bool_]) -> Population:
        """The population of just those devices."""
        return Population(self.values, self.places[devices])

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, device: int) -> Any: ...
    @overload
    def __getitem__(self, device: slice) -> Population: ...
    def __getitem__(self, device: int | slice) -> Any:
        """The value of a device; of some devices, their population."""
        if isinstance(device, slice):
            return Population(self.values, self.places[device])
        return self.values[self.places[device]]

    def __iter__(self) -> Iterator[Any]:
        return map(self.values.__getitem__, self.places.tolist())


Fleet = Callable[[int, np.random.Generator], Population]
"""What so many devices have; `Shares`, where it is known how often each value occurs."""


@dataclass(frozen=True, slots=True)
class Shares:
    """A fleet of any number of devices, each of which has one of some values by chance."""

    values: Sequence[Any]
    """What occurs."""
    chances: Sequence[float]
    """How often each does; they add up to 1."""

    @classmethod
    def of(cls, values: Sequence[Any], weights: Sequence[float]) -> Shares:
        """By weights, which need not add up to anything."""
        chances = np.asarray(weights, dtype=np.float64)
        return cls(values, (chances / math.fsum(chances.tolist())).tolist())

    def __call__(self, devices: int, generator: np.random.Generator) -> Population:
        """So many devices, drawn."""
        return Population(self.values, generator.choice(len(self.values), size=devices, p=self.chances))

    def exactly(self, devices: int) -> Population:
        """So many devices, of which as many have each value as is to be expected, but for less than one."""
        ends = np.rint(np.cumsum(self.chances) * devices).astype(np.int64)
        return Population(self.values, np.repeat(np.arange(len(self.values)), np.diff(ends, prepend=0)))


def with_fed(collection: Collection, values: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """What every device would answer to every metric: where it is fed, what the device has for its sources, if it has
    something for all of them."""
    fed = {
        name: Population.together({source: values[source] for source in metric.kind.of})
        for name, metric in collection.metrics.items()
        if metric.sources and name not in values and values.keys() >= set(metric.kind.of)
    }
    return {**values, **fed}


def taking_part(
    collection: Collection, values: Mapping[str, Sequence[Any]], generator: np.random.Generator
) -> dict[str, Sequence[Any]]:
    """What those devices would answer that their coins draw for an epoch, each by one word below the threshold."""
    if collection.sample == 1:
        return dict(values)
    every = {name: Population.of(own) for name, own in values.items()}
    coins = twins.words(generator, len(next(iter(every.values()))))
    own = coins < np.uint64(int(collection.sample * WORD))
    return {name: each.only(own) for name, each in every.items()}


def evenly(metric: Metric) -> Fleet:
    """Devices that each have one of the values that are spread; of a metric that is fed, of each source."""
    if not metric.sources:
        values = [metric.kind.check(value) for value in spread(metric)]
        return Shares.of(values, [1.0] * len(values))
    parts = {source.name: evenly(source) for source in metric.sources}
    every = [part.values for part in parts.values() if isinstance(part, Shares)]
    if math.prod(map(len, every)) <= _SPREAD:
        together = [dict(zip(parts, value, strict=True)) for value in itertools.product(*every)]
        return Shares.of(together, [1.0] * len(together))
    return lambda devices, generator: Population.together(
        {name: part(devices, generator) for name, part in parts.items()}
    )


def spread(metric: Metric) -> list[Any]:
    """The values: of a kind that has no list or range of them, the two that are to be confused."""
    values = _values(metric.kind)
    places = np.linspace(0, len(values) - 1, min(len(values), _SPREAD)).astype(np.intp)
    return [values[place] for place in places.tolist()]


def _values(kind: Kind) -> Sequence[Any]:
    match kind:
        case Category() | Ordinal():
            return kind.values
        case Set():
            around = kind.values * 2
            return [list(around[start : start + kind.most]) for start in range(len(kind.values))]
        case Quantity() if kind.limited:
            low, high = kind.ends
            whole = isinstance(kind.apart()[0], int) and isinstance(kind.apart()[1], int)
            return [int(each) if whole else float(each) for each in np.linspace(low, high, _POINTS)]
        case Distribution():
            return [kind.boundary(bucket) + kind.width / 2 for bucket in range(kind.buckets)]
        case Tree():
            return list(kind.index)
    return kind.apart()
