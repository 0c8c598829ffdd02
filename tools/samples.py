"""Samples: sets of counters, drawn as fleets of devices would make them.

words:
  sample     one set of counters: so many devices drawn from the fleet, each randomised

Devices are independent, so where the payloads of a metric can be listed, the counters of a sample are one multinomial
draw, whatever the number of devices. Vectors are drawn device by device, by the vectorised twins, codewords from
their law (`directions.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tools.directions import named
from tools.fleets import Case

from deniable import Metric
from deniable.kinds import Vector
from deniable.mechanisms import Codewords, Laplace, Mechanism
from deniable.payload import Bitmap, Codeword, Integer, Integers, Symbol
from deniable.randomness import WORD
from deniable_aggregator.planning import twins
from deniable_aggregator.planning.simulate import encodings

__all__ = ["adds_of", "cells_of", "drawn", "endless", "listed", "payloads_of", "row_of"]

_LISTED = 1 << 13
"""So many payloads are drawn as one multinomial vector."""
_HELD = 1 << 22
"""So many counts, or devices, are held at a time."""
_AT_ONCE = 50
"""So many samples are drawn at a time, if it is up to them."""
_LIMB = (1 << 32) - 1

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


def drawn(case: Case, reports: int, samples: int, generator: np.random.Generator) -> list[list[_Ints]]:
    """So many samples."""
    return list(islice(endless(case, reports, generator), samples))


def endless(case: Case, reports: int, generator: np.random.Generator) -> Iterator[list[_Ints]]:
    """The counters of the metric's columns, sample by sample."""
    mechanisms = [column.mechanism for column in case.metric.columns]
    if any(isinstance(mechanism.shape, Integers | Codeword) for mechanism in mechanisms):
        yield from _vectors(mechanisms[0], cells_of(case), reports, generator)
    chances, adding = listed(case)
    ends = np.cumsum([len(own) for own in chances])[:-1]
    every = np.concatenate(chances)
    at_once = min(max(1, _HELD // len(every)), _AT_ONCE)
    while True:
        drawn = generator.multinomial(reports, every / every.sum(), size=at_once)
        columns = [own @ adds for own, adds in zip(np.split(drawn, ends, axis=1), adding, strict=True)]
        yield from map(list, zip(*columns, strict=True))


def listed(case: Case) -> tuple[list[_Floats], list[_Ints]]:
    """For each column the chances of its payloads, and what each of them adds to its counters."""
    cells, chances, adding = cells_of(case), [], []
    for place, column in enumerate(case.metric.columns):
        payloads = payloads_of(column.mechanism)
        own = [(chosen, chance) for (where, chosen), chance in cells.items() if where == place]
        chances.append(
            sum((chance * row_of(column.mechanism, chosen) for chosen, chance in own), np.zeros(len(payloads)))
        )
        adding.append(adds_of(column.mechanism, payloads))
    return chances, adding


def cells_of(case: Case) -> dict[tuple[int, int], float]:
    """The chance of every column and input."""
    cells: dict[tuple[int, int], float] = {}
    for value, often in zip(case.fleet.values, case.fleet.devices, strict=True):
        found = encodings(case.metric, case.metric.kind.check(value)) or {_on_the_grid(case.metric, value): 1.0}
        for outcome, chance in found.items():
            cells[outcome] = cells.get(outcome, 0.0) + often / sum(case.fleet.devices) * chance
    return cells


def _on_the_grid(metric: Metric, value: Any) -> tuple[int, int]:
    """A vector whose entries lie on the grid, so that no word makes a difference."""
    mechanisms = [column.mechanism for column in metric.columns]

    def encoded(word: int) -> tuple[int, int]:
        return metric.kind.encode(metric.kind.check(value), mechanisms, lambda: word)

    if not isinstance(metric.kind, Vector) or encoded(0) != encoded(WORD - 1):
        raise ValueError(f"{metric.name}: {value!r} takes several random words to encode")
    return encoded(0)


@lru_cache(maxsize=64)
def payloads_of(mechanism: Mechanism) -> list[int]:
    """All that it can send, where they can be listed."""
    shape = mechanism.shape
    size = comb(shape.size, shape.weight or shape.size // 2) if isinstance(shape, Bitmap) else shape.size
    if size > _LISTED:
        raise ValueError(f"{mechanism.name}: {size} payloads are too many")
    return list(mechanism.payloads())


@lru_cache(maxsize=1024)
def row_of(mechanism: Mechanism, chosen: int) -> _Floats:
    """The chance of every payload for one input."""
    if isinstance(mechanism, Laplace):  # a row for each of many inputs: the same noise, moved
        steps, alpha = mechanism.steps, mechanism.alpha
        away, farther = mechanism.away / WORD, mechanism.farther / WORD
        parts = np.array([farther, away - farther, 1 - away])
        low, high = (alpha**far / (1 + alpha) * parts for far in (chosen, steps - chosen))
        return np.concatenate([low, _noise(mechanism)[steps - chosen : 2 * steps - 1 - chosen], high[::-1]])
    return np.array([float(mechanism.probability(payload, chosen)) for payload in payloads_of(mechanism)])


@lru_cache(maxsize=8)
def _noise(mechanism: Laplace) -> _Floats:
    """The chance of every size of noise that leads from some input to a grid point between the ends."""
    side = [float(mechanism.noise(size)) for size in range(mechanism.steps)]
    return np.array([*side[:0:-1], *side])


def adds_of(mechanism: Mechanism, payloads: Sequence[int]) -> _Ints:
    """What each payload adds to the counters."""
    shape, sent = mechanism.shape, np.array(payloads)
    ones = np.ones(len(sent), dtype=np.int64)
    match shape:
        case Symbol():
            return np.eye(shape.size, dtype=np.int64)
        case Bitmap():
            return np.column_stack([ones, (sent[:, np.newaxis] >> np.arange(shape.size)) & 1])
        case Integer():
            levels = sent + shape.gap * ((sent >= 2).astype(np.int64) + (sent >= shape.size - 2))
            return np.column_stack([ones, levels, levels * levels & _LIMB, levels * levels >> 32])
    raise TypeError(f"{mechanism.name} has vectors")


def _vectors(
    mechanism: Mechanism,
    cells: dict[tuple[int, int], float],
    reports: int,
    generator: np.random.Generator,
) -> Iterator[list[_Ints]]:
    """Device by device."""
    inputs = twins.inputs(mechanism, [chosen for _, chosen in cells])
    chances = np.array(list(cells.values()))
    at_once = min(max(1, _HELD // (4 * reports)), _AT_ONCE)
    while True:
        which = generator.choice(len(chances), p=chances / chances.sum(), size=at_once * reports)
        if isinstance(mechanism, Codewords):
            entries = named(mechanism, inputs[which], generator)
            summed = [entries, entries * entries]
        else:
            entries = _noisy(mechanism, inputs[which], generator)
            squares = entries * entries
            summed = [entries, squares & _LIMB, squares >> 32]
        parts = [np.add.reduceat(part, np.arange(0, len(part), reports), axis=0) for part in summed]
        for each in np.hstack(parts):
            yield [np.concatenate([[reports], each])]


def _noisy(mechanism: Mechanism, inputs: _Ints, generator: np.random.Generator) -> _Ints:
    """Entries with noise, as they are counted."""
    entries = twins.draw(mechanism, inputs, generator).view("<i4").astype(np.int64)
    shape = mechanism.shape
    assert isinstance(shape, Integers)
    entries += shape.gap * ((entries > shape.bound - 2).astype(np.int64) - (entries < 2 - shape.bound))
    return entries
