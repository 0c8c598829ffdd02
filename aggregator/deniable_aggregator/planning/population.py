"""A population: what every device of a simulated fleet would answer, without a list of a million equal values.

words:
  together   what the same devices have for several metrics: what answers a metric that is fed from these
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from deniable import Collection

__all__ = ["Population", "with_fed"]


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
        return (self.values[place] for place in self.places.tolist())


def with_fed(collection: Collection, values: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """What every device would answer to every metric: where it is fed, what the device has for its sources, if it has
    something for all of them."""
    fed = {
        name: Population.together({source: values[source] for source in metric.kind.of})
        for name, metric in collection.metrics.items()
        if metric.sources and name not in values and values.keys() >= set(metric.kind.of)
    }
    return {**values, **fed}
