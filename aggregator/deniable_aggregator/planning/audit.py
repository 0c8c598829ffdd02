"""The audit: measures a metric's epsilon from the outside, by looking at nothing but what is sent.

words:
  game     a device has one of two answers, the farthest apart that the kind takes; a snooper sees what it sends and
           says which; no snooper may be right more often than epsilon allows
  claim    `epsilon`, for all that a device ever sends about one answer; where a remembered answer is randomised
           afresh every time, also `instantaneous_epsilon`, for what one report tells of what is remembered
  view     what is seen of one device: a report, or of a remembered answer so many that the fresh noise is gone
  score    a number for every view: the higher, the more it speaks for the first answer
  event    "the score is at least so much"; learned from one half of the devices, measured on the other
  measured the lower end for epsilon, with the stated confidence: ln((P(event | a) - delta) / P(event | b)), with
           Clopper and Pearson's (1934) ends for both probabilities

A measured epsilon above the claim is a proof, up to the confidence, that the claim is broken. A measured epsilon
below it proves nothing: there may be better events. (Jagielski, Ullman, Oprea, arXiv 2006.07709; for local
mechanisms Arcolezi and Gambs, arXiv 2309.01597.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from deniable import Column, Epsilon, Metric
from deniable.mechanisms import Wrapper
from deniable.randomness import word
from deniable_aggregator.planning._scores import Score, score_of

__all__ = ["Finding", "audit"]

_Floats = NDArray[np.float64]
_CUTS = 200
_FEW = 100
"""Of fewer views of a column nothing is learned but that they are few."""
_AVERAGED = 12
"""So many reports, over (p - q)^2, leave a remembered bit in doubt once in 4,000 times."""
_MOST_OFTEN = 1000
_RENEWED = 40
"""Reports of remembered answers are this many times the others at most: a device that has few sends many."""
_LEARNT = 1 << 17
"""Payloads that scores are learned from, at most."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the audit of one claim found."""

    metric: str
    """The metric's name."""
    claim: str
    """The key of the collection file that makes the claim."""
    claimed: float
    """What it says."""
    measured: float
    """Epsilon is at least this, with the confidence."""
    reports: int
    """How many reports were looked at."""
    confidence: float
    """How surely `measured` is a lower end."""

    @property
    def holds(self) -> bool:
        """Whether the claim is not disproved."""
        return self.measured <= self.claimed


class _Game(NamedTuple):
    """How one claim is tried."""

    claim: str
    epsilon: Epsilon
    devices: int
    """In each half, with each of the two answers."""
    often: int
    """How many reports of a device are seen."""
    given: bool
    """Whether the two answers are what is remembered, not what devices have."""


_Sent = dict[int, list[int]]
"""The payloads of every column, by its number; those of one device in a row."""


def audit(metric: Metric, reports: int = 200_000, confidence: float = 1 - 1e-6) -> list[Finding]:
    """Play for every claim of the metric, with about so many reports of each answer."""
    return [_played(metric, game, confidence) for game in _games(metric, max(reports // 2, 1))]


def _games(metric: Metric, half: int) -> Iterator[_Game]:
    if metric.instantaneous is None:
        yield _Game("epsilon", metric.epsilon, half, 1, False)
        return
    often = min(max(map(_averaged, metric.columns)), _MOST_OFTEN)
    yield _Game("epsilon", metric.epsilon, max(min(half // 5, half * _RENEWED // often), 1), often, False)
    yield _Game("instantaneous_epsilon", metric.instantaneous, half, 1, True)


def _averaged(column: Column) -> int:
    """The reports that leave little doubt of what is remembered."""
    assert isinstance(column.mechanism, Wrapper)
    p, q = map(float, column.mechanism.reported)
    return math.ceil(_AVERAGED * 4 * q * (1 - q) / (p - q) ** 2)


def _played(metric: Metric, game: _Game, confidence: float) -> Finding:
    first, second = (metric.kind.check(value) for value in metric.kind.apart())
    a, b, more_a, more_b = (_sent(metric, game, value) for value in (first, second, first, second))
    measured = max(_measured(metric, game, (a, b), (more_a, more_b), confidence),
                   _measured(metric, game, (b, a), (more_b, more_a), confidence))  # fmt: skip
    reports = 4 * game.devices * game.often
    return Finding(metric.name, game.claim, float(game.epsilon), max(measured, 0.0), reports, confidence)


def _sent(metric: Metric, game: _Game, value: Any) -> _Sent:
    """What half of the devices with an answer send."""
    sent: _Sent = {column.number: [] for column in metric.columns}
    for _ in range(game.devices):
        column, chosen = metric.encode(value, word)
        mechanism = column.mechanism
        remembered = mechanism.likeness(chosen) if game.given else mechanism.remember(chosen)
        sent[column.number] += [mechanism.renew(remembered) for _ in range(game.often)]
    return sent


def _measured(
    metric: Metric, game: _Game, first: tuple[_Sent, _Sent], second: tuple[_Sent, _Sent], confidence: float
) -> float:
    """The best event of the first halves, on the second halves.

    An event says which columns, and for each of them which scores: rates are of all devices, so that one whose choice
    of a column gives its answer away is found out too.
    """
    delta = float(metric.kind.delta)
    found = (_event(metric, column, game.often, *first, delta) for column in metric.columns)
    events = [event for event in found if event is not None]
    seen_a, seen_b = ([_hits(event, side) for event in events] for side in first)
    chosen = [events[place] for place in _worst(seen_a, seen_b, game.devices, delta)]
    hits_a, hits_b = (sum(_hits(event, side) for event in chosen) for side in second)
    level = (1 - confidence) / 4
    low, high = _low(hits_a, game.devices, level), _high(hits_b, game.devices, level)
    return math.log((low - delta) / high) if low > delta else 0.0


class _Event(NamedTuple):
    """Views of one column whose score is at least the cut."""

    column: int
    score: Score
    """Of every view."""
    cut: float


def _hits(event: _Event, sent: _Sent) -> int:
    own = sent[event.column]
    return int((event.score(own) >= event.cut).sum()) if own else 0


def _event(metric: Metric, column: Column, often: int, a: _Sent, b: _Sent, delta: float) -> _Event | None:
    own_a, own_b = a[column.number], b[column.number]
    if min(len(own_a), len(own_b)) < _FEW * often:
        return _Event(column.number, lambda payloads: np.zeros(len(payloads) // often), 0.0) if own_a else None
    of_one = score_of(metric, column, own_a[:_LEARNT], own_b[:_LEARNT])

    def score(payloads: Sequence[int]) -> _Floats:
        views: _Floats = of_one(payloads).reshape(-1, often).sum(axis=1)
        return np.round(views, 9)

    return _Event(column.number, score, _best_cut(score(own_a), score(own_b), delta))


def _worst(a: Sequence[int], b: Sequence[int], trials: int, delta: float) -> list[int]:
    """The columns whose events together look worst."""
    order = sorted(range(len(a)), key=lambda place: (a[place] + 1) / (b[place] + 1), reverse=True)
    hits_a, hits_b = (np.cumsum([side[place] for place in order]) for side in (a, b))
    worth = _worth(hits_a, hits_b, trials, trials, delta)
    return order[: int(np.argmax(worth)) + 1]


def _worth(hits_a: NDArray[Any], hits_b: NDArray[Any], trials_a: int, trials_b: int, delta: float) -> _Floats:
    """The log ratio of both rates, less four times what chance makes of it."""
    spread = np.sqrt(1 / np.maximum(hits_a, 1) + 1 / (hits_b + 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.maximum(hits_a / trials_a - delta, 0) / ((hits_b + 1) / (trials_b + 1))
        worth: _Floats = np.log(ratio) - 4 * spread
    return worth


def _low(hits: int, trials: int, level: float) -> float:
    return float(betaincinv(hits, trials - hits + 1, level)) if hits else 0.0


def _high(hits: int, trials: int, level: float) -> float:
    return float(betaincinv(hits + 1, trials - hits, 1 - level)) if hits < trials else 1.0


def _best_cut(a: _Floats, b: _Floats, delta: float) -> float:
    """The cut whose event looks worst on the halves that are there to learn from, counting what is uncertain."""
    every = np.unique(np.concatenate([a, b]))
    cuts = every if len(every) <= _CUTS else np.quantile(every, np.linspace(0, 1, _CUTS))
    a, b = np.sort(a), np.sort(b)
    hits_a = len(a) - np.searchsorted(a, cuts)
    hits_b = len(b) - np.searchsorted(b, cuts)
    return float(cuts[np.argmax(_worth(hits_a, hits_b, len(a), len(b), delta))])
