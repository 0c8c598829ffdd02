"""Shuffling: what a report tells where somebody trusted mixes it with those of many devices before anybody sees it.

words:
  variation  the greatest chance by which a report tells two answers apart: the total variation of their rows of the
             channel; at most (e^eps - 1) / (e^eps + 1)
  clone      another device's report that could as well be from one of the two answers: each is one by chance
  pair       two laws of numbers (a, b), of clones of either answer, that are told apart no worse than what is
             shuffled

There is no shuffler in this system: nothing here is claimed of it. The bound is for who thinks of having one, and
holds for the reports of one column in one epoch and segment, taken out of their batches, n of them from honest
devices.

**The pair.** With E = e^eps and the variation v, let r = v / (E - 1). A device's own report is like the first
answer's with the chance E r, like the second's with r, and else like neither. Each other report is a clone of either
with the chance r, whatever its device answers. So with C clones, binomial of n - 1 and 2 r, and A of them of the
first answer, binomial of C and 1/2, one sees (A + 1, C - A), (A, C - A + 1) or (A, C - A) with the chances E r, r and
1 - r - E r; under the second answer with both numbers exchanged. For a given sum the first number decides, so that
the least delta at an epsilon is a sum over C of tails of binomials. It is the smaller the larger epsilon is, and
halving finds the epsilon of a delta. (Wang and others, "Privacy amplification via shuffling: unified, simplified, and
tightened", VLDB 2024; with the greatest variation it is the bound of Feldman, McMillan, Talwar, SODA
2023.)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from deniable.mechanisms import Mechanism
from deniable_aggregator.accounting.posterior import rows

__all__ = ["shuffled", "shuffled_delta", "variation"]

_STEPS = 30
"""Halvings of an interval: nine digits."""
_REST = 1e-6
"""The part of delta that is left for numbers of clones that are not looked at."""


def variation(mechanism: Mechanism, epsilon: float | None = None) -> float:
    """The mechanism's, exactly or from above; `epsilon` is that of one report, where an answer costs more."""
    most = math.tanh((float(mechanism.epsilon) if epsilon is None else epsilon) / 2)
    sorts = mechanism.sorts  # of a mechanism of two steps, those of the second: no two answers are farther apart
    if sorts is not None:
        high, low = sorts.inside / sorts.supporting, (1 - sorts.inside) / (sorts.payloads - sorts.supporting)
        return min(most, float((sorts.supporting - sorts.shared) * (high - low)))
    channel = rows(mechanism)
    if channel is None:
        return most
    return min(most, max(float(np.abs(channel - own).sum(axis=1).max()) / 2 for own in channel))


def shuffled(epsilon: float, spread: float, devices: int, delta: float) -> float:
    """The epsilon that one of so many shuffled reports keeps, but for delta: from above, never more than its own.

    `spread` is the mechanism's variation.
    """
    if devices < 1 or not 0 < delta < 1:
        raise ValueError(f"{devices} reports at a delta of {delta:g} are not shuffled")
    low, high = 0.0, epsilon
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = shuffled_delta(middle, epsilon, spread, devices, delta * _REST) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high


def shuffled_delta(kept: float, epsilon: float, spread: float, devices: int, rest: float = 1e-18) -> float:
    """The least delta at which shuffled reports keep an epsilon, from above: with at most `rest` added to it."""
    worst, e = math.exp(epsilon), math.exp(kept)
    r = spread / (worst - 1)
    neither = max(1 - r - worst * r, 0.0)
    others = devices - 1
    first, last = int(binom.ppf(rest / 2, others, 2 * r)), int(binom.isf(rest / 2, others, 2 * r))
    clones = np.arange(max(first, 0), min(last, others) + 1)
    chances = binom.pmf(clones, others, 2 * r)

    def least(seen: NDArray[np.int64]) -> NDArray[np.float64]:
        """From which first number on the first answer is more than e times as likely, where so many are seen."""
        none = neither * r / (1 - 2 * r) * np.maximum(devices - seen, 0).astype(np.float64)
        told: NDArray[np.float64] = ((e * worst - 1) * r * seen + (e - 1) * none) / (r * (worst - 1) * (e + 1))
        return told

    def tail(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """How often so many of the clones, or more, are of the first answer."""
        return np.asarray(binom.sf(np.ceil(numbers) - 1, clones, 0.5))

    own, other, hidden = least(clones + 1) - 1, least(clones + 1), least(clones)
    parts = (worst - e) * r * tail(own) + (1 - worst * e) * r * tail(other) + (1 - e) * neither * tail(hidden)
    return float(np.sum(chances * parts)) + rest
