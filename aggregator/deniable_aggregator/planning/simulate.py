"""Simulation: what whole populations send, by the vectorised twins, and the counters that it adds up to.

words:
  population  what every device would answer
  sent        the payloads of the devices that answered one column
  outcomes    what a value can be encoded as; where one word decides, it is enough to know from which word on
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Column, Metric
from deniable.kinds import Set, Vector
from deniable.mechanisms import Mechanism
from deniable.payload import PAYLOAD_BITS, Symbol
from deniable.randomness import WORD
from deniable_aggregator.analysis.offline import added
from deniable_aggregator.planning import twins
from deniable_aggregator.planning.population import Population

__all__ = ["Sent", "Symbols", "encodings", "outcomes", "randomized", "simulate", "symbols"]

_Devices = NDArray[np.int64]
_Input = tuple[int, int]
"""The place of a column, and its mechanism's input."""
_DRAWN = 1 << 12
_FEW = 48
"""Devices of a value, whose words are looked at one by one: a cut is found by 64 looks."""
_SYMBOLS = 1 << 10
"""So many symbols are few: as many as a quantity has at the largest epsilon."""


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


class Symbols(NamedTuple):
    """What devices send, where each report is one of a few symbols."""

    chances: NDArray[np.float64]
    """Of every symbol of every column, one column after another."""
    cuts: tuple[int, ...]
    """Where columns end, but for the last."""

    def counters(self, devices: int, generator: np.random.Generator) -> list[NDArray[np.int64]]:
        """As any number of devices make them that have values independently."""
        return np.split(generator.multinomial(devices, self.chances), self.cuts)


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
    for place, chosen in sorted(_encoded(metric, Population.of(values), generator).items()):
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
    encoded: defaultdict[int, list[tuple[int, _Devices]]] = defaultdict(list)
    places = population.places.astype(np.min_scalar_type(len(population.values)))  # of few bytes, which sort fast
    order, cuts = np.argsort(places, kind="stable"), list[int]()
    ends = np.cumsum(np.bincount(population.places, minlength=len(population.values))).tolist()
    for value, start, end in zip(population.values, [0, *ends], ends, strict=False):
        devices = order[start:end]
        if len(devices):
            for (place, chosen), own in _each(metric, metric.kind.check(value), devices, generator, cuts):
                encoded[place].append((chosen, own))
    return encoded


def _each(
    metric: Metric, value: Any, devices: _Devices, generator: np.random.Generator, cuts: list[int]
) -> Iterator[tuple[_Input, _Devices]]:
    """The columns and inputs of the devices that have one value. Words are looked at first where the value before was
    cut, whose cuts are replaced by those of this one."""
    encoded, taken = _by_word(metric, value)
    if taken == 1 and len(devices) < _FEW:
        words = twins.words(generator, len(devices))
        chosen: defaultdict[_Input, list[int]] = defaultdict(list)
        for number in np.argsort(words, kind="stable").tolist():
            chosen[encoded(int(words[number]))].append(number)
        for outcome, numbers in chosen.items():
            yield outcome, devices[sorted(numbers)]
        return
    found = outcomes(metric, value, cuts)
    if found is not None:
        cuts[:] = [first for first, _ in found[1:]]
        stretch = np.searchsorted(np.array([first for first, _ in found[1:]], dtype=np.uint64),
                                  twins.words(generator, len(devices)), side="right")  # fmt: skip
        for number, (_, outcome) in enumerate(found):
            yield outcome, devices[stretch == number]
        return
    groups: defaultdict[_Input, list[int]] = defaultdict(list)
    for number, outcome in enumerate(_one_by_one(metric, value, len(devices), generator)):
        groups[outcome].append(number)
    for outcome, numbers in groups.items():
        yield outcome, devices[numbers]


def _one_by_one(metric: Metric, value: Any, devices: int, generator: np.random.Generator) -> Iterator[_Input]:
    """What each device's answer is encoded as, where that takes several words. Of a vector, with a word an entry,
    what `Vector.encode` does for one is done for some thousands at a time, with the very same words."""
    kind, draw = metric.kind, _Words(generator)
    if not isinstance(kind, Vector):
        mechanisms = [column.mechanism for column in metric.columns]
        yield from (kind.encode(value, mechanisms, draw) for _ in range(devices))
        return
    places = np.array(kind.shares(value)) * kind.grid
    below = np.floor(places)
    limits = np.ceil((places - below) * WORD).astype(np.uint64)
    for start in range(0, devices, _DRAWN):  # so that all but the last take whole draws
        count = min(_DRAWN, devices - start)
        words = draw.many(count * kind.dimensions).reshape(count, kind.dimensions)
        for chosen in twins.packed(below.astype(np.int64) + (words < limits)):
            yield 0, chosen


def outcomes(metric: Metric, value: Any, cuts: Sequence[int] = ()) -> list[tuple[int, _Input]] | None:
    """What a checked value is encoded as, and the word from which on it is: None where that takes several words.

    A word that decides between columns or inputs cuts the words into stretches, which are found by halving. Where
    other values are cut is looked at first: which level of a tree a device answers does not depend on its value.
    """
    encoded, taken = _by_word(metric, value)
    first = encoded(0)
    if isinstance(metric.kind, Set) and len(value) <= metric.kind.most:
        return [(0, first)]  # words are drawn, but there is nothing to choose
    if taken > 1:
        return None
    if not taken:
        return [(0, first)]
    places = [*sorted({place for cut in cuts for place in (cut - 1, cut)} - {0}), WORD - 1]
    points = [(0, first), *((place, encoded(place)) for place in places)]
    return [(0, first), *(step for low, high in itertools.pairwise(points) for step in _steps(encoded, low, high))]


def _by_word(metric: Metric, value: Any) -> tuple[Callable[[int], _Input], int]:
    """What a checked value is encoded as where every word that is drawn is this one; and how many are."""
    mechanisms = [column.mechanism for column in metric.columns]
    taken = itertools.count()

    def encoded(word: int) -> _Input:
        def draw() -> int:
            next(taken)
            return word

        return metric.kind.encode(value, mechanisms, draw)

    encoded(0)
    return encoded, next(taken)


def encodings(metric: Metric, value: Any) -> dict[_Input, float] | None:
    """How often a checked value is encoded as what: None where several words decide."""
    found = outcomes(metric, value)
    if found is None:
        return None
    shares: defaultdict[_Input, float] = defaultdict(float)
    for (first, outcome), (end, _) in itertools.pairwise([*found, (WORD, (0, 0))]):
        shares[outcome] += (end - first) / WORD
    return dict(shares)


def symbols(metric: Metric, values: Sequence[tuple[Any, float]]) -> Symbols | None:
    """How often every symbol of every column is sent, by checked values and how often each occurs. None where reports
    are no symbols, where these are many, or where several words decide what a value is encoded as."""
    sizes = [column.shape.counters for column in metric.columns]
    if not all(isinstance(column.shape, Symbol) for column in metric.columns) or sum(sizes) > _SYMBOLS:
        return None
    chances, begins = np.zeros(sum(sizes)), np.cumsum([0, *sizes])
    for value, often in values:
        encoded = encodings(metric, value)
        if encoded is None:
            return None
        for (place, chosen), share in encoded.items():
            mechanism = metric.columns[place].mechanism
            chances[begins[place] : begins[place + 1]] += often * share * np.array(_row(mechanism, chosen))
    return Symbols(chances / chances.sum(), tuple(begins[1:-1].tolist()))


@lru_cache(maxsize=1024)
def _row(mechanism: Mechanism, chosen: int) -> tuple[float, ...]:
    """The chance of every symbol, for one input."""
    return tuple(float(mechanism.probability(payload, chosen)) for payload in mechanism.payloads())


def _steps(
    encoded: Callable[[int], _Input], low: tuple[int, _Input], high: tuple[int, _Input]
) -> Iterator[tuple[int, _Input]]:
    """The words between two at which another stretch begins."""
    if low[1] == high[1]:
        return
    if high[0] - low[0] == 1:
        yield high
        return
    word = low[0] + high[0] >> 1
    middle = word, encoded(word)
    yield from _steps(encoded, low, middle)
    yield from _steps(encoded, middle, high)


class _Words:
    """Words of a generator, one at a time."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._words: list[int] = []

    def __call__(self) -> int:
        if not self._words:
            self._words = twins.words(self._generator, _DRAWN).tolist()
        return self._words.pop()

    def many(self, count: int) -> NDArray[np.uint64]:
        """The words of so many calls, where none is left; what is left of the last draw is not used."""
        draws = -(-count // _DRAWN)
        drawn = twins.words(self._generator, draws * _DRAWN).reshape(draws, _DRAWN)
        return drawn[:, ::-1].ravel()[:count]
