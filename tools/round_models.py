"""Logistic regression learned in rounds from local reports, beside the same without privacy: docs/learning.md.

words:
  split    rows that devices have, and rows that the model is tried on (examples/learning/central/data.py)
  manner   how many rounds there are, and how far a step goes
  turn     the one question that a device answers: how long its update is, or a round

Each device has one of the training rows, drawn with replacement. It answers one question, once, and spends one
epsilon in all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from examples.learning.central.data import Split, split
from examples.learning.central.regression import Fleet, accuracy, fitted, residuals
from examples.learning.questions import asked
from numpy.typing import NDArray
from tools.directions import named

from deniable import Collection, Metric
from deniable.kinds import Vector
from deniable.mechanisms import Codewords
from deniable_aggregator.analysis.offline import added
from deniable_aggregator.answers import QUANTILES, Estimate, RowId, answer, quantile_key
from deniable_aggregator.learning import Course, Settings, clipping_norm
from deniable_aggregator.planning import twins
from deniable_aggregator.planning.simulate import Sent, simulate

__all__ = ["MANNERS", "Learned", "learned", "plainly", "split", "told", "updates"]

_Floats = NDArray[np.float64]
_HELD = 1 << 22
"""So many entries of vectors are looked at together."""
_LEAST = 2.0**-6
_PENALTY = 1e-4
_ASKED_LENGTH = 0.05
"""The part of the fleet that says how long updates are."""
_SHORTER = 0.8
"""The part of the updates that are not shortened, at first."""


class Manner(NamedTuple):
    """How a model of a data set is learned."""

    rounds: int
    """As many are there."""
    rate: float
    """How far a step goes, as many times the mean update."""


MANNERS: Mapping[str, Manner] = {"breast cancer": Manner(16, 80.0), "digits": Manner(16, 80.0)}


class Learned(NamedTuple):
    """What came of a fleet."""

    course: Course
    """Its rounds."""
    shape: tuple[int, int]
    """The model's outputs, and the entries of a vector."""

    @property
    def model(self) -> _Floats:
        """The weights, a row an output."""
        return self.course.model.reshape(self.shape)

    @property
    def ended(self) -> Learned:
        """The same rounds, as far as they go where the course ends by itself."""
        how, last = self.course.settings, Settings()
        settings = Settings(rate=how.rate, rounds=how.rounds, window=last.window)
        course = Course(self.course.history[0], settings, norm=self.course.norm)
        for step in self.course.steps:
            if not course.ended:
                course.take(step)
        return Learned(course, self.shape)


def learned(rows: Split, manner: Manner, epsilon: str, devices: int, seed: int, by_law: bool = False) -> Learned:
    """The model of so many devices, each of which answers once. Codewords are those of the twin's codebooks, or drawn
    from their law, which is many times as fast."""
    generator = np.random.default_rng(seed)
    shape = (rows.train.outputs, rows.train.vectors.shape[1])
    metrics = Collection.loads(asked(shape[0] * shape[1], manner.rounds, epsilon)).metrics
    first = round(devices * _ASKED_LENGTH)
    start = np.zeros(shape)
    norm = _norm(metrics["length"], updates(start, rows.train)[_drawn(rows, first, generator)], generator)
    course = Course(start.ravel(), Settings(rate=manner.rate, rounds=manner.rounds, window=manner.rounds), norm=norm)
    each = (devices - first) // manner.rounds
    while not course.ended:
        metric = metrics[f"round_{len(course.steps) + 1}"]
        every = updates(course.weights.reshape(shape), rows.train) / norm
        course.take(_answer(metric, every, _drawn(rows, each, generator), generator, by_law))
    return Learned(course, shape)


def updates(weights: _Floats, fleet: Fleet) -> _Floats:
    """By how much a device of each row would change the weights, a row each."""
    own = residuals(weights, fleet)
    found: _Floats = -(own[:, :, np.newaxis] * fleet.vectors[:, np.newaxis, :]).reshape(len(own), -1)
    return found


def plainly(rows: Split) -> _Floats:
    """The weights of the training rows themselves, without privacy."""
    return fitted(rows.train, _PENALTY, 1e-6)


def told(rows: Split, weights: _Floats) -> float:
    """The part of the rows that no device has whose class is told."""
    return accuracy(weights, rows.vectors, rows.classes)


def _drawn(rows: Split, devices: int, generator: np.random.Generator) -> NDArray[np.int64]:
    return generator.integers(len(rows.train.classes), size=devices)


def _norm(metric: Metric, own: _Floats, generator: np.random.Generator) -> float:
    lengths = np.log2(np.maximum(np.linalg.norm(own, axis=1), _LEAST))
    counters = simulate(metric, lengths.tolist(), generator)
    asked_for = [RowId(QUANTILES, quantile_key(_SHORTER))]
    return clipping_norm(answer(metric, counters, more=asked_for), _SHORTER)


def _answer(
    metric: Metric, every: _Floats, which: NDArray[np.int64], generator: np.random.Generator, by_law: bool
) -> Estimate:
    """What devices say, each with one of the values: rounded to the grid at random, as the kind does, but many at
    once, and randomised by the twin."""
    kind, (column,) = metric.kind, metric.columns
    assert isinstance(kind, Vector)
    places = every / np.maximum(np.linalg.norm(every, axis=1, keepdims=True), float(kind.clip)) * kind.grid
    counters = np.zeros(column.shape.counters, dtype=np.int64)
    for own in np.array_split(which, 1 + len(which) * kind.dimensions // _HELD):
        entries = np.floor(places[own] + generator.random((len(own), kind.dimensions))).astype(np.int64)
        if by_law:
            assert isinstance(column.mechanism, Codewords)
            said = named(column.mechanism, entries, generator)
            counters += np.concatenate([[len(own)], said.sum(axis=0), (said * said).sum(axis=0)])
        else:
            sent = Sent(column, 0, own, twins.draw(column.mechanism, entries, generator))
            (added_up,) = added(metric, sent.rows(0).astype("<u8").tobytes(), [])
            counters += added_up
    return answer(metric, [counters])
