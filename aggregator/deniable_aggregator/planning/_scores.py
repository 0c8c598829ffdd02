"""What a payload says about which of two answers its device has: learned from what devices with either have sent.

words:
  score   of a payload: the higher, the more it speaks for the first answer
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Column, Metric
from deniable.payload import Bitmap, Codeword, Integer, Integers, Symbol
from deniable.randomness import word
from deniable_aggregator.codebook import directions

__all__ = ["Score", "score_of"]

_Floats = NDArray[np.float64]
Score = Callable[[Sequence[int]], _Floats]
"""Of every payload."""

_CERTAIN = 4.5
"""Standard deviations that a bit's weight must lie from 0 to count: chance alone gives fewer than one in 10^5."""
_HELD = 1 << 16
"""So many payloads are taken apart at a time."""
_LEARNT = 64
"""With more symbols than this, each is too rare for its weight to be learned well from reports."""


def score_of(metric: Metric, column: Column, a: Sequence[int], b: Sequence[int]) -> Score:
    """How much a payload of a column speaks for the first answer, learned from payloads of both."""
    match column.shape:
        case Symbol(size) if size <= _LEARNT:
            return _of_symbols(a, b, size)
        case Symbol():
            return _as_claimed(metric, column, a, b)
        case Integer():
            sign = 1.0 if np.mean(a) >= np.mean(b) else -1.0
            return lambda payloads: sign * np.array(payloads, dtype=np.float64)
        case Bitmap(size):
            return _weighted(a, b, lambda payloads: _bits(payloads, size), _bit_weights)
        case Integers(size):
            return _weighted(a, b, lambda payloads: _entries(payloads, size), _entry_weights)
        case Codeword() as shape:
            return _weighted(a, b, lambda payloads: directions(shape, np.array(payloads, np.uint64)), _entry_weights)


def _of_symbols(a: Sequence[int], b: Sequence[int], size: int) -> Score:
    seen_a, seen_b = (np.bincount(np.array(side), minlength=size) + 0.5 for side in (a, b))
    weights = np.log(seen_a / seen_b)
    return lambda payloads: weights[np.array(payloads, dtype=np.int64)]


def _as_claimed(metric: Metric, column: Column, a: Sequence[int], b: Sequence[int]) -> Score:
    """For symbols too many to learn: the log-odds that the mechanism's own probabilities have; where answers are
    remembered and randomised afresh, under what could be remembered of the two. Which is the first shows."""
    mechanism = column.mechanism
    chance = mechanism.renewed if metric.instantaneous else mechanism.probability
    inputs = [_encoded(metric, column, value) for value in metric.kind.apart()]
    given = [mechanism.likeness(value) for value in inputs] if metric.instantaneous else inputs

    @cache
    def odds(payload: int) -> float:
        one, other = (chance(payload, value) for value in given)
        return math.log(one / other)

    def score(payloads: Sequence[int]) -> _Floats:
        return np.array([odds(payload) for payload in payloads])

    sign = 1.0 if score(a).mean() >= score(b).mean() else -1.0
    return lambda payloads: sign * score(payloads)


def _encoded(metric: Metric, column: Column, value: Any) -> int:
    """What a value is encoded as by a device that draws this column: another one has another input of it."""
    checked = metric.kind.check(value)
    drawn = (metric.encode(checked, word) for _ in count())
    return next(chosen for own, chosen in drawn if own.number == column.number)


def _weighted(
    a: Sequence[int],
    b: Sequence[int],
    features: Score,
    weigh: Callable[[_Floats, _Floats], _Floats],
) -> Score:
    weights = weigh(features(a), features(b))

    def score(payloads: Sequence[int]) -> _Floats:
        starts = range(0, len(payloads), _HELD)
        return np.concatenate([features(payloads[start : start + _HELD]) @ weights for start in starts])

    return score


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
