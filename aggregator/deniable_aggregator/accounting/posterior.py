"""Posterior: what somebody believes of a device's answer who has seen a report, from the mechanism's own channel.

words:
  prior     what was believed before: the chance of one answer; where the channel has to know of the others, they
            share the rest evenly
  after     the same chance afterwards, by Bayes' rule
  belief    both, with the bounds that hold for every mechanism of this epsilon
  loose     the classical bounds e^-eps c and e^eps c, which are true and say less; above 1 they say nothing

Under epsilon no report is more than e^eps times likelier under one answer than under another: so a chance c becomes
at least c / (c + e^eps (1 - c)) and at most e^eps c / (e^eps c + 1 - c) (`deniable.odds`). At ln 3 and a prior of 2%
that is 0.68% and 5.77%, which the survey with two coins reaches: after a no, and after a yes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism
from deniable.odds import believed

__all__ = ["Belief", "after", "belief", "beliefs", "rows"]

_WRITTEN = 1 << 12
"""A channel of so many chances, at most, is written out."""
_MOST = 700.0
"""Beyond this, e^epsilon is beyond floating point."""


class Belief(NamedTuple):
    """What a chance can become by one report."""

    prior: float
    """Before."""
    least: float
    """Afterwards, at least."""
    most: float
    """Afterwards, at most."""
    loose_least: float
    """At least, as the classical bound has it."""
    loose_most: float
    """At most, as the classical bound has it: above 1 it says nothing."""


def belief(prior: float, epsilon: float) -> Belief:
    """What this epsilon lets a chance become."""
    if not 0 < prior < 1:
        raise ValueError(f"a prior lies between 0 and 1, and is neither, not {prior:g}")
    kept = min(epsilon, _MOST)
    return Belief(
        prior,
        believed(prior, -kept),
        believed(prior, kept),
        prior * math.exp(-kept),
        prior * math.exp(kept),
    )


def after(prior: float, own: float, other: float) -> float:
    """What a chance becomes by an event that has the chance `own` under the answer, and `other` without it."""
    return prior * own / (prior * own + (1 - prior) * other)


def beliefs(mechanism: Mechanism, prior: float) -> tuple[tuple[tuple[float, float], ...], ...] | None:
    """For every input and every payload its chance, and what the prior of the input becomes by it.

    None of a channel that is too large.
    """
    channel = rows(mechanism)
    if channel is None:
        return None
    others = (channel.sum(axis=0) - channel) / (len(channel) - 1)
    chances = prior * channel + (1 - prior) * others
    later = prior * channel / chances
    return tuple(tuple(zip(*pair, strict=True)) for pair in zip(chances.tolist(), later.tolist(), strict=True))


@lru_cache(maxsize=32)
def rows(mechanism: Mechanism) -> NDArray[np.float64] | None:
    """The channel as an array, a row an input; None where it has too many chances to be written out."""
    most = _WRITTEN // mechanism.inputs
    if sum(1 for _ in islice(mechanism.payloads(), most + 1)) > most:
        return None
    return np.array([[float(chance) for chance in row.values()] for row in mechanism.channel()])
