"""The audit: measures a metric's epsilon from the outside, by looking at nothing but what is sent.

words:
  game     a device has one of two answers, the farthest apart that the kind takes; a snooper sees one report and
           says which; no snooper may be right more often than epsilon allows
  score    a number for every report: the higher, the more it speaks for the first answer
  event    "the score is at least so much"; learned from one half of the reports, measured on the other
  measured the lower end for epsilon, with the stated confidence: ln((P(event | a) - delta) / P(event | b)), with
           Clopper and Pearson's (1934) ends for both probabilities

A measured epsilon above the claim is a proof, up to the confidence, that the claim is broken. A measured epsilon
below it proves nothing: there may be better events. (Jagielski, Ullman, Oprea, arXiv 2006.07709; for local
mechanisms Arcolezi and Gambs, arXiv 2309.01597.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from deniable import Column, Metric, Report
from deniable.mechanisms import Memoized
from deniable.payload import Bitmap, Integer, Symbol, Vector
from deniable.randomness import word

__all__ = ["Finding", "audit"]

_Floats = NDArray[np.float64]
_CUTS = 200
_FEW = 100
"""Of fewer reports of a column nothing is learned but that they are few."""
_CERTAIN = 4.5
"""Standard deviations that a bit's weight must lie from 0 to count: chance alone gives fewer than one in 10^5."""
_LEARNT = 64
"""With more symbols than this, each is too rare for its weight to be learned well from reports."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the audit of one metric found."""

    metric: str
    """Its name."""
    claimed: float
    """The epsilon of the collection file."""
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


def audit(metric: Metric, reports: int = 200_000, confidence: float = 1 - 1e-6) -> Finding:
    """Play the game with so many reports of each answer."""
    first, second = metric.kind.apart()
    a = [metric.randomize(first) for _ in range(reports)]
    b = [metric.randomize(second) for _ in range(reports)]
    delta = float(getattr(metric.kind, "delta", 0))
    measured = max(_measured(metric, a, b, delta, confidence), _measured(metric, b, a, delta, confidence))
    return Finding(metric.name, float(metric.epsilon), max(measured, 0.0), 2 * reports, confidence)


def _measured(metric: Metric, a: Sequence[Report], b: Sequence[Report], delta: float, confidence: float) -> float:
    """The best event of the first halves, on the second halves.

    An event says which columns, and for each of them which scores: rates are of all reports, so that a device whose
    choice of a column gives its answer away is found out too.
    """
    half = len(a) // 2
    found = (_event(metric, column, a[:half], b[:half], delta) for column in metric.columns)
    events = [event for event in found if event is not None]
    seen_a, seen_b = ([_hits(event, side[:half]) for event in events] for side in (a, b))
    chosen = [events[place] for place in _worst(seen_a, seen_b, half, delta)]
    hits_a, hits_b = (sum(_hits(event, side[half:]) for event in chosen) for side in (a, b))
    level, trials = (1 - confidence) / 4, len(a) - half
    low, high = _low(hits_a, trials, level), _high(hits_b, trials, level)
    return math.log((low - delta) / high) if low > delta else 0.0


class _Event(NamedTuple):
    """Reports of one column whose score is at least the cut."""

    column: int
    score: Callable[[Sequence[int]], _Floats]
    cut: float


def _hits(event: _Event, reports: Sequence[Report]) -> int:
    own = [report.payload for report in reports if report.column == event.column]
    return int((event.score(own) >= event.cut).sum()) if own else 0


def _event(metric: Metric, column: Column, a: Sequence[Report], b: Sequence[Report], delta: float) -> _Event | None:
    own_a, own_b = ([report.payload for report in side if report.column == column.number] for side in (a, b))
    if min(len(own_a), len(own_b)) < _FEW:
        return _Event(column.number, lambda payloads: np.zeros(len(payloads)), 0.0) if own_a else None
    score = _score(metric, column, own_a, own_b)
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


def _score(metric: Metric, column: Column, a: Sequence[int], b: Sequence[int]) -> Callable[[Sequence[int]], _Floats]:
    """How much a payload speaks for the first answer, learned from payloads of both."""
    match column.shape:
        case Symbol(size) if size <= _LEARNT:
            return _of_symbols(a, b, size)
        case Symbol():
            return _as_claimed(metric, column)
        case Integer():
            sign = 1.0 if np.mean(a) >= np.mean(b) else -1.0
            return lambda payloads: sign * np.array(payloads, dtype=np.float64)
        case Bitmap(size):
            return _weighted(a, b, lambda payloads: _bits(payloads, size), _bit_weights)
        case Vector(size):
            return _weighted(a, b, lambda payloads: _entries(payloads, size), _entry_weights)


def _of_symbols(a: Sequence[int], b: Sequence[int], size: int) -> Callable[[Sequence[int]], _Floats]:
    seen_a, seen_b = (np.bincount(np.array(side), minlength=size) + 0.5 for side in (a, b))
    weights = np.log(seen_a / seen_b)
    return lambda payloads: weights[np.array(payloads, dtype=np.int64)]


def _as_claimed(metric: Metric, column: Column) -> Callable[[Sequence[int]], _Floats]:
    """For symbols too many to learn: the ratio that the mechanism's own probabilities have."""
    inputs = [metric.encode(metric.kind.check(value), word)[1] for value in metric.kind.apart()]
    mechanism = column.mechanism.fresh if isinstance(column.mechanism, Memoized) else column.mechanism

    @cache
    def ratio(payload: int) -> float:
        one, other = (mechanism.probability(payload, value) for value in inputs)
        return float(one / other)

    return lambda payloads: np.array([ratio(payload) for payload in payloads])


def _weighted(
    a: Sequence[int],
    b: Sequence[int],
    features: Callable[[Sequence[int]], _Floats],
    weigh: Callable[[_Floats, _Floats], _Floats],
) -> Callable[[Sequence[int]], _Floats]:
    weights = weigh(features(a), features(b))
    return lambda payloads: np.round(features(payloads) @ weights, 9)


def _bit_weights(a: _Floats, b: _Floats) -> _Floats:
    """The log-odds of each bit that certainly differs; 0 for the others."""
    rate_a, rate_b = ((side.sum(axis=0) + 0.5) / (len(side) + 1) for side in (a, b))
    spread = np.sqrt(rate_a * (1 - rate_a) / len(a) + rate_b * (1 - rate_b) / len(b))
    weights = np.log(rate_a / (1 - rate_a)) - np.log(rate_b / (1 - rate_b))
    return np.where(abs(rate_a - rate_b) > _CERTAIN * spread, weights, 0.0)


def _entry_weights(a: _Floats, b: _Floats) -> _Floats:
    """The difference of the means of each entry that certainly differs."""
    spread = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    gap = a.mean(axis=0) - b.mean(axis=0)
    return np.where(abs(gap) > _CERTAIN * spread, gap, 0.0)


def _bits(payloads: Sequence[int], size: int) -> _Floats:
    packed = b"".join(payload.to_bytes(-(-size // 8), "little") for payload in payloads)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(payloads), -1)
    return np.unpackbits(rows, axis=1, count=size, bitorder="little").astype(np.float64)


def _entries(payloads: Sequence[int], size: int) -> _Floats:
    packed = b"".join(payload.to_bytes(4 * size, "little") for payload in payloads)
    return np.frombuffer(packed, dtype="<i4").reshape(len(payloads), size).astype(np.float64)
