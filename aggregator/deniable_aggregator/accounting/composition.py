"""Composition: what several answers tell together, and what the answers of several devices tell of what they share.

words:
  sequential  several answers about one device: epsilons add up, and so do deltas. True as well where somebody chooses
              the next question by the answers before
  parallel    answers of which each device gives one: it spends the most that any of them takes
  group       several devices that change together: a household
  slack       the delta that one is ready to have in all, for an epsilon that is less than the sum
  curve       for every epsilon in all, the least delta that goes with it

**The curve of equal answers.** Of all mechanisms that keep epsilon and delta, none composes worse than one that gives
its input away with the chance delta, and else answers by randomized response. Of k such answers nothing is given away
with the chance (1 - delta)^k. Then j of them are true, binomially with the chance e^eps / (1 + e^eps), and make one
input e^((2 j - k) eps) times as likely as the other. So the least delta at an epsilon e in all is

    1 - (1 - delta)^k (1 - sum over j of P(j) max(0, 1 - e^(e - (2 j - k) eps)))

which is exact: no theorem that knows epsilon, delta and k alone can say less, also where questions are chosen by the
answers before. (Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015, theorem 3.3,
which has it at the epsilons (k - 2 i) eps. Sums and groups: Dwork, Roth, 2014, section 3.5 and theorem 2.2.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

__all__ = ["Spent", "advanced", "composed_delta", "group", "parallel", "sequential"]

_STEPS = 60
"""Halvings of an interval: beyond floating point."""
_MOST = 700.0
"""Beyond this, e^epsilon is beyond floating point."""


class Spent(NamedTuple):
    """What is told in all."""

    epsilon: float
    """The logarithm of the worst ratio."""
    delta: float = 0.0
    """The chance by which it may be exceeded."""


def sequential(answers: Iterable[Spent]) -> Spent:
    """What several answers about one device tell together."""
    every = list(answers)
    return Spent(math.fsum(each.epsilon for each in every), math.fsum(each.delta for each in every))


def parallel(answers: Iterable[Spent]) -> Spent:
    """What is told of any device by answers of which each device gives one."""
    every = list(answers)
    return Spent(max((each.epsilon for each in every), default=0.0), max((each.delta for each in every), default=0.0))


def group(answer: Spent, devices: int) -> Spent:
    """What is told of something that so many devices share, by one answer of each.

    One device after the other is changed: each step costs epsilon, and a delta that the steps before have scaled.
    """
    if devices < 1:
        raise ValueError(f"a group has at least one device, not {devices}")
    grown = math.fsum(math.exp(min(step * answer.epsilon, _MOST)) for step in range(devices)) if answer.delta else 0.0
    return Spent(devices * answer.epsilon, min(answer.delta * grown, 1.0))


def composed_delta(answer: Spent, answers: int, epsilon: float) -> float:
    """The least delta at which so many answers keep an epsilon in all: a point of the curve."""
    true = np.arange(answers + 1)
    chances = binom.pmf(true, answers, 1 / (1 + math.exp(-answer.epsilon)))
    beyond = float(np.sum(chances * -np.expm1(np.minimum(epsilon - (2 * true - answers) * answer.epsilon, 0.0))))
    hidden = answers * math.log1p(-answer.delta)
    return math.exp(hidden) * beyond - math.expm1(hidden)


def advanced(answer: Spent, answers: int, slack: float) -> Spent:
    """What so many equal answers tell together, but for the chance `slack`: the least epsilon of the curve there.

    ValueError where their deltas alone take more than the slack.
    """
    if answers < 1 or not 0 <= slack < 1:
        raise ValueError(f"{answers} answers at a slack of {slack:g} are not composed")
    low, high = 0.0, answers * answer.epsilon
    if not slack and not answer.delta:
        return Spent(high)
    if composed_delta(answer, answers, high) > slack:
        raise ValueError(f"the deltas of {answers} answers are more than a slack of {slack:g}")
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if composed_delta(answer, answers, middle) <= slack else (middle, high)
    return Spent(high, slack)
