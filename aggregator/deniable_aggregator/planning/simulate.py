"""Simulation: what whole populations send, by the vectorised twins, and the counters that it adds up to.

words:
  population  what every device would answer
  sent        the payloads of the devices that answered one column
  encoding    a value whose encoding takes no chance is encoded once, every other one for each device
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Column, Metric
from deniable.mechanisms import Mechanism
from deniable.payload import PAYLOAD_BITS
from deniable.randomness import WORD
from deniable_aggregator.offline import added
from deniable_aggregator.planning import twins
from deniable_aggregator.planning.population import Population

__all__ = ["Sent", "randomized", "simulate"]

_Devices = NDArray[np.int64]
_DRAWN = 1 << 12


class Sent(NamedTuple):
    """The reports that answer one column."""

    column: Column
    """Which."""
    place: int
    """The column's place among those of its metric."""
    devices: _Devices
    """Who answered it."""
    payloads: twins.Payloads
    """What each of them said."""

    def rows(self, number: int) -> NDArray[np.uint64]:
        """The rows of eight bytes, of a narrow column that goes by some number."""
        rows: NDArray[np.uint64] = self.payloads.astype(np.uint64) | np.uint64(number << PAYLOAD_BITS)
        return rows

    def wide_rows(self, number: int) -> list[tuple[int, bytes]]:
        """The wide rows, of a wide column that goes by some number."""
        width, packed = self.payloads.shape[1], self.payloads.tobytes()
        return [(number, packed[start : start + width]) for start in range(0, len(packed), width)]


def simulate(metric: Metric, values: Sequence[Any], generator: np.random.Generator) -> list[NDArray[np.int64]]:
    """The counters of the metric's columns when every device has answered."""
    rows: list[NDArray[np.uint64]] = [np.zeros(0, dtype=np.uint64)]
    wide_rows: list[tuple[int, bytes]] = []
    for sent in randomized(metric, values, generator):
        if sent.column.shape.wide:
            wide_rows += sent.wide_rows(sent.place)
        else:
            rows.append(sent.rows(sent.place))
    return added(metric, np.concatenate(rows).astype("<u8").tobytes(), wide_rows)


def randomized(metric: Metric, values: Sequence[Any], generator: np.random.Generator) -> Iterator[Sent]:
    """What every device sends, by column."""
    for place, chosen in _encoded(metric, Population.of(values), generator).items():
        column = metric.columns[place]
        numbers: dict[int, int] = {}
        which = [np.full(len(own), numbers.setdefault(value, len(numbers))) for value, own in chosen]
        inputs = twins.inputs(column.mechanism, list(numbers))[np.concatenate(which)]
        devices = np.concatenate([own for _, own in chosen])
        yield Sent(column, place, devices, twins.draw(column.mechanism, inputs, generator))


def _encoded(
    metric: Metric, population: Population, generator: np.random.Generator
) -> dict[int, list[tuple[int, _Devices]]]:
    """For each column that is answered, the mechanism's inputs and the devices that have each."""
    mechanisms = [column.mechanism for column in metric.columns]
    chance = _Chance(generator)
    encoded: defaultdict[int, list[tuple[int, _Devices]]] = defaultdict(list)
    order = np.argsort(population.places, kind="stable")
    ends = np.cumsum(np.bincount(population.places, minlength=len(population.values))).tolist()
    for value, start, end in zip(population.values, [0, *ends], ends, strict=False):
        devices = order[start:end]
        if len(devices):
            checked = metric.kind.check(value)
            for place, chosen, own in _each(metric.kind.encode, checked, mechanisms, chance, devices):
                encoded[place].append((chosen, own))
    return encoded


def _each(
    encode: Callable[[Any, Sequence[Mechanism], Callable[[], int]], tuple[int, int]],
    value: Any,
    mechanisms: Sequence[Mechanism],
    chance: _Chance,
    devices: _Devices,
) -> Iterator[tuple[int, int, _Devices]]:
    """The columns and inputs of the devices that have one value."""
    before = chance.taken
    place, chosen = encode(value, mechanisms, chance)
    if chance.taken == before:
        yield place, chosen, devices
        return
    groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    groups[place, chosen].append(0)
    for number in range(1, len(devices)):
        groups[encode(value, mechanisms, chance)].append(number)
    for (place, chosen), numbers in groups.items():
        yield place, chosen, devices[numbers]


class _Chance:
    """Words of a generator, one at a time, and how many of them were taken."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.taken = 0
        self._generator = generator
        self._words: list[int] = []

    def __call__(self) -> int:
        self.taken += 1
        if not self._words:
            self._words = self._generator.integers(0, WORD, size=_DRAWN, dtype=np.uint64).tolist()
        return self._words.pop()
