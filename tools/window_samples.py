"""Windows, drawn: every kind by every mechanism that fits it, answered by devices that report in several epochs.

words:
  mode       what a device keeps: its value ("fresh"), its randomised answer ("remembered"), or a randomised answer
             that it randomises anew in every epoch ("renewed")
  state      what a device keeps, as one of all that it could be
  presence   how a device comes and goes: the chance that it reports in an epoch; devices differ in it
  sample     devices of a population, which keep their states over all epochs of the window

A device's reports are independent given its state. So what all devices of a state say in all epochs is one
multinomial draw. Laplace noise on a fine grid, and vectors, have too many payloads for that: their sums over
thousands of reports are drawn as normal ones, with the exact moments. Those of words are drawn one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tools.directions import moments, named
from tools.fleets import Case, Fleet
from tools.samples import adds_of, cells_of, payloads_of, row_of
from tools.word_samples import Words

from deniable import Collection, CollectionError
from deniable.kinds import KINDS, Text
from deniable.mechanisms import Codewords, Gaussian, Laplace, Mechanism, VectorLaplace
from deniable.payload import Integers, Symbol
from deniable_aggregator.planning import twins

__all__ = ["EVERY_DAY", "ON_AND_OFF", "Presence", "Sampler", "asked"]

_LIMB = (1 << 32) - 1
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]

_HEAD = """
[collection]
name = "windows"
epoch = "1d"
owner = "a"
[budget]
epoch = 1000
[metrics.few]
kind = "category"
values = ["a", "b"]
description = "d"
epsilon = 1
[metrics.more]
kind = "category"
values = ["x", "y", "z"]
description = "d"
epsilon = 1
[metrics.m]
description = "d"
epsilon = {epsilon}
"""
_L2, _L1 = (
    'dimensions = 2\nclip = 1\nnorm = "l2"\ndelta = 1e-9\nfleet = 1000000',
    'dimensions = 2\nclip = 1\nnorm = "l1"',
)
_TABLES: dict[str, tuple[str, ...]] = {
    "boolean": ("",),
    "category": ('values = ["a", "b", "c", "d", "e"]',),
    "ordinal": ('values = ["a", "b", "c", "d", "e", "f", "g"]',),
    "number": ("range = [0, 60]",),
    "count": ("max = 20", 'max = 100\nprivacy_unit = "event"'),
    "distribution": ("range = [0, 4]\nbuckets = 4",),
    "flags": ('flags = ["a", "b", "c", "d"]',),
    "set": ('values = ["a", "b", "c", "d", "e", "f", "g", "h"]\nmax_items = 2',),
    "tree": ('paths = ["a/x", "a/y", "b", "c/x", "c/y"]',),
    "vector": (_L2, _L1),
    "joint": ('of = ["few", "more"]',),
    "text": ("max_bytes = 16",),
}
"""What else there is in a metric's table, by its kind."""
_MODES = {
    "fresh": "",
    "remembered": 'memoize = true\ninstantaneous_epsilon = "linkable"\n',
    "renewed": "memoize = true\ninstantaneous_epsilon = {epsilon}\n",
}
_LEAVES = ["a/x", "a/y", "b", "c/x", "c/y"]
_TOGETHER = [{"few": few, "more": more} for few in "ab" for more in "xyz"]
_FLEETS: dict[str, tuple[Fleet, ...]] = {
    "boolean": (Fleet("half", [True, False], [1, 1]), Fleet("few", [True, False], [1, 49])),
    "category": (Fleet("equal", "abcde", [1] * 5), Fleet("unequal", "abc", [6, 3, 2])),
    "ordinal": (Fleet("equal", "abcdefg", [1] * 7), Fleet("unequal", "abcd", [12, 6, 4, 3])),
    "number": (Fleet("ends", [0, 60], [1, 1]), Fleet("unequal", [0, 6, 60], [14, 5, 1])),
    "count": (Fleet("ends", [0, 20], [1, 1]), Fleet("small", [0, 1], [1, 1]),
              Fleet("unequal", [0, 3, 20], [14, 5, 1])),
    "distribution": (Fleet("equal", [0.5, 1.5, 2.5, 3.5], [1] * 4), Fleet("unequal", [0.5, 1.5, 3.5], [14, 5, 1])),
    "flags": (Fleet("equal", [[], ["a"], ["b"], ["a", "b", "c", "d"]], [1, 1, 1, 1]),
              Fleet("unequal", [[], ["a"], ["a", "b"]], [6, 3, 1])),
    "set": (Fleet("equal", [["a", "d"], ["b", "e"], ["c", "f"], ["g", "h"]], [1] * 4),
            Fleet("unequal", [[], ["a"], ["a", "b"]], [5, 3, 2])),
    "tree": (Fleet("equal", _LEAVES, [1] * 5), Fleet("unequal", _LEAVES[:3], [6, 3, 1])),
    "vector": (Fleet("equal", [[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, -0.5]], [1] * 4),
               Fleet("unequal", [[0, 0], [1, 0], [0, -1]], [16, 3, 1])),
    "joint": (Fleet("equal", _TOGETHER, [1] * 6), Fleet("unequal", _TOGETHER[::2], [9, 4, 2])),
    "text": (Fleet("equal", ["ada", "grace", "edsger", "barbara"], [1] * 4),
             Fleet("unequal", ["ada", "grace", "a word that is far too long"], [14, 5, 1])),
}  # fmt: skip


class Presence(NamedTuple):
    """How devices come and go."""

    name: str
    shares: tuple[float, ...]
    """How many of the devices are of each sort."""
    chances: tuple[float, ...]
    """The chance of a device of that sort to report in an epoch."""


EVERY_DAY = Presence("every day", (1.0,), (1.0,))
ON_AND_OFF = Presence("on and off", (0.3, 0.4, 0.3), (1.0, 0.6, 0.1))


@cache
def asked(epsilon: str) -> list[Case]:
    """Every kind by every mechanism that fits it, in every mode that it takes, with every fleet."""
    found = []
    for kind, tables in _TABLES.items():
        for table in tables:
            for mechanism in KINDS[kind].mechanisms:
                for mode, keys in _MODES.items():
                    text = _HEAD + f'kind = "{kind}"\nmechanism = "{mechanism}"\n{table}\n{keys}'
                    try:
                        metric = Collection.loads(text.format(epsilon=epsilon)).metrics["m"]
                    except CollectionError:
                        continue  # not every mechanism fits every table and mode
                    unit = ", events" if "event" in table else ""
                    name = f"{kind}{unit} by {mechanism}, {mode}"
                    found += [Case(name, metric, fleet) for fleet in _FLEETS[kind]]
    return found


@dataclass(frozen=True)
class _Fleet:
    """What the devices of a population can keep, and what is sent of it."""

    shares: _Floats
    """How many of them keep each state."""
    chances: _Floats
    """For each state the chances of what one report is: of the payloads of all columns, or of all inputs."""


class Sampler:
    """Draws devices, and what they report."""

    def __init__(self, case: Case, presence: Presence = EVERY_DAY) -> None:
        self._metric, self._presence = case.metric, presence
        self._mechanisms = [column.mechanism for column in case.metric.columns]
        self._words = Words(case) if isinstance(case.metric.kind, Text) else None
        if self._words:
            self._fleet = _Fleet(self._words.shares, np.eye(len(self._words.shares)))
            return
        self._noisy = isinstance(self._mechanisms[0], Laplace | Gaussian | VectorLaplace | Codewords)
        if self._noisy:
            cells = cells_of(case)
            self._inputs = twins.inputs(self._mechanisms[0], [chosen for _, chosen in cells])
        self._fleet = _noisy(case, list(cells)) if self._noisy else _listed(case, self._mechanisms)

    def kept(self, devices: int, generator: np.random.Generator) -> _Ints:
        """How many of so many devices keep each state, and are of each sort."""
        often = np.outer(self._fleet.shares / self._fleet.shares.sum(), self._presence.shares).ravel()
        return generator.multinomial(devices, often).reshape(-1, len(self._presence.shares))

    def epochs(self, kept: _Ints, epochs: int, generator: np.random.Generator) -> list[list[_Ints]]:
        """The counters of every epoch."""
        mechanisms, chances = self._mechanisms, self._fleet.chances
        if self._words and self._metric.memoize:
            return self._words.remembered(kept, epochs, self._presence.chances, generator)
        if not self._words and self._noisy and self._metric.memoize:
            return _remembered_noise(mechanisms[0], self._inputs, kept, epochs, self._presence, generator)
        here = generator.binomial(kept, self._presence.chances, size=(epochs, *kept.shape)).sum(axis=2)
        sizes = here.sum(axis=1)
        if self._words:
            sent = self._words.fresh(here.sum(axis=0).tolist(), generator)
            own = [generator.multinomial(each.sum(), sizes / sizes.sum()) for each in sent]
            return _epochs(sent, own, mechanisms)
        drawn = generator.multinomial(here.sum(axis=0), chances).sum(axis=0)
        if self._noisy:
            return _epochs([_fresh_noise(mechanisms[0], self._inputs, drawn, generator)], [sizes], mechanisms)
        ends = np.cumsum([len(payloads_of(each)) for each in mechanisms])[:-1]
        sent = np.split(drawn, ends)
        own = [sizes] if len(sent) == 1 else [generator.multinomial(each.sum(), sizes / sizes.sum()) for each in sent]
        counters = [
            each @ adds_of(mechanism, payloads_of(mechanism))
            for each, mechanism in zip(sent, mechanisms, strict=True)
        ]
        return _epochs(counters, own, mechanisms)


def _listed(case: Case, mechanisms: Sequence[Mechanism]) -> _Fleet:
    """Of mechanisms whose payloads can be listed: states are values, or what is remembered in a column."""
    starts = np.cumsum([0, *(len(payloads_of(each)) for each in mechanisms)])
    total = sum(case.fleet.devices)

    def sent(place: int, row: _Floats) -> _Floats:
        chances = np.zeros(starts[-1])
        chances[starts[place] : starts[place + 1]] = row
        return chances

    if not case.metric.memoize:
        rows = [
            sum(chance * sent(place, row_of(mechanisms[place], chosen)) for (place, chosen), chance in own.items())
            for own in (cells_of(each) for each in _one_by_one(case))
        ]
        return _Fleet(np.array(case.fleet.devices) / total, _normal(np.array(rows)))
    shares: dict[tuple[int, int], float] = {}
    for (place, chosen), share in cells_of(case).items():
        for number, chance in enumerate(row_of(mechanisms[place].first, chosen).tolist()):
            shares[place, number] = shares.get((place, number), 0.0) + share * chance
    rows = [sent(place, _again(mechanisms[place], number)) for place, number in shares]
    return _Fleet(np.array(list(shares.values())), _normal(np.array(rows)))


def _one_by_one(case: Case) -> Iterator[Case]:
    """The case with a fleet for each value."""
    return (replace(case, fleet=Fleet("one", [value], [1])) for value in case.fleet.values)


def _again(mechanism: Mechanism, number: int) -> _Floats:
    """The chances of the payloads when what is remembered is sent."""
    kept = payloads_of(mechanism.first)[number]
    return np.array([float(mechanism.renewed(payload, kept)) for payload in payloads_of(mechanism)])


def _normal(rows: _Floats) -> _Floats:
    normal: _Floats = rows / rows.sum(axis=1, keepdims=True)
    return normal


def _noisy(case: Case, inputs: Sequence[tuple[int, int]]) -> _Fleet:
    """Of mechanisms that add noise: states are values; where their noise is remembered, inputs."""
    if case.metric.memoize:
        return _Fleet(np.array(list(cells_of(case).values())), np.eye(len(inputs)))
    rows = [[cells_of(each).get(one, 0.0) for one in inputs] for each in _one_by_one(case)]
    return _Fleet(np.array(case.fleet.devices, dtype=np.float64), _normal(np.array(rows)))


def _fresh_noise(mechanism: Any, inputs: _Ints, sent: _Ints, generator: np.random.Generator) -> _Ints:
    """The counters of so many reports of each input."""
    entries: Any = inputs.reshape(len(sent), -1) - (mechanism.lowest if isinstance(mechanism, Laplace) else 0)
    v = mechanism.variance
    if isinstance(mechanism, Codewords):
        entries, v = moments(mechanism, entries)
    often = sent[:, np.newaxis]
    in_squares = v + 5 * v * v if isinstance(mechanism, Laplace | VectorLaplace) else 2 * v * v
    noise = np.rint(generator.normal(0, np.sqrt(v * often), entries.shape)).astype(np.int64)
    squared = generator.normal(often * v, np.sqrt(in_squares * often), entries.shape).astype(np.int64)
    totals = (often * entries + noise).sum(axis=0).astype(np.int64)
    squares = (often * entries**2 + 2 * entries * noise + squared).sum(axis=0).astype(np.int64)
    return _counters(mechanism, sent.sum(), totals, squares)


def _counters(mechanism: Mechanism, reports: int, totals: _Ints, squares: _Ints) -> _Ints:
    limbs = [squares] if isinstance(mechanism, Codewords) else [squares & _LIMB, squares >> 32]
    return np.concatenate([[reports], totals, *limbs])


def _remembered_noise(
    mechanism: Mechanism, inputs: Any, kept: _Ints, epochs: int, presence: Presence, generator: np.random.Generator
) -> list[list[_Ints]]:
    """Device by device: what each says in all of its epochs."""
    which = np.repeat(np.arange(len(kept)), kept.sum(axis=1))
    chances = np.concatenate([np.repeat(presence.chances, own) for own in kept])
    here = generator.random((epochs, len(which))) < chances
    if isinstance(mechanism, Codewords):
        sent = named(mechanism, inputs[which], generator)
    else:
        sent = twins.draw(mechanism, inputs[which], generator)
    if isinstance(mechanism, Laplace):  # what ingest counts for a payload
        sent = np.array([mechanism.level(payload) - mechanism.lowest for payload in mechanism.payloads()])[sent]
    entries = sent.view("<i4").astype(np.int64) if sent.dtype == np.uint8 else sent.reshape(len(sent), -1)
    if isinstance(mechanism.shape, Integers) and mechanism.shape.gap:  # and for an entry
        inner = mechanism.shape.bound - 2
        entries += mechanism.shape.gap * ((entries > inner).astype(np.int64) - (entries < -inner))
    often = here.sum(axis=0)
    totals, squares = often @ entries, often @ entries**2
    return _epochs([_counters(mechanism, often.sum(), totals, squares)], [here.sum(axis=1)], [mechanism])


def _epochs(counters: Sequence[_Ints], sizes: Sequence[_Ints], mechanisms: Sequence[Mechanism]) -> list[list[_Ints]]:
    """Epochs of these sizes that add up to these counters: which report is in which makes no difference."""
    columns = [
        _in_turn(own, size) if isinstance(mechanism.shape, Symbol) else _all_in_one(own, size)
        for own, size, mechanism in zip(counters, sizes, mechanisms, strict=True)
    ]
    return [list(epoch) for epoch in zip(*columns, strict=True)]


def _in_turn(counts: _Ints, sizes: _Ints) -> _Ints:
    ends, starts = np.cumsum(sizes)[:, np.newaxis], (np.cumsum(sizes) - sizes)[:, np.newaxis]
    upto = np.concatenate([[0], np.cumsum(counts)])
    parts: _Ints = np.diff(np.clip(upto, starts, ends), axis=1)
    return parts


def _all_in_one(counters: _Ints, sizes: _Ints) -> _Ints:
    epochs = np.zeros((len(sizes), len(counters)), dtype=np.int64)
    epochs[0] = counters
    epochs[:, 0] = sizes
    return epochs
