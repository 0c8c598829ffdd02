"""Turned round: how many devices a width takes, and which epsilon. By bisection over what `widths.py` expects.

words:
  part      half of an interval, as a part of all that its row can be: of a share a hundredth is one point
  needed    the fewest devices, or the least epsilon, at which the widest row of a metric has the part that is wanted
  ordered   whether more devices, or a larger epsilon, were never found to tell less on the way, but for chance

All this is on a logarithmic scale, where widths are nearly lines: each step goes to where the line between both ends
meets what is wanted, and to the middle where that gets nowhere. What is found is what has been looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from deniable import Collection, Metric
from deniable.epsilon import LIMIT, Epsilon
from deniable_aggregator.planning.otherwise import otherwise
from deniable_aggregator.planning.population import Fleet
from deniable_aggregator.planning.widths import part_of, widths

__all__ = ["MOST_DEVICES", "Needed", "devices_for", "epsilon_for", "part_at"]

MOST_DEVICES = 10**12
"""More devices are nobody's."""
_LEAST_EPSILON = 0.001
_DIGITS = 3
"""What is found is rounded up to so many."""
_DRAWN = 32
"""So many answers are drawn at the most, where they are."""
_SIMULATED = 0.03
"""By such a part what is simulated may go the wrong way."""
_STEPS = 24
_BEYOND = 1e-5
"""What is so much larger than what was rounded is rounded to the next one: it is more than `_rounded` passes over."""


class Needed(NamedTuple):
    """What a width takes."""

    least: float | None
    """The fewest devices, or the least epsilon; None where none is enough."""
    ordered: bool
    """Whether all that was looked at was in its order."""


def part_at(metric: Metric, devices: int, fleet: Fleet | None = None) -> float | None:
    """The part that the widest row has; None where none of its rows has ends."""
    return part_of(widths(metric, devices, fleet, answers=_DRAWN))


def devices_for(metric: Metric, wanted: float, fleet: Fleet | None = None) -> Needed:
    """How many devices tell the widest row to a part of what is possible."""

    def part(devices: float) -> float | None:
        return part_at(metric, round(devices), fleet)

    return _least(part, wanted, 1.0, float(MOST_DEVICES))


def epsilon_for(
    collection: Collection, metric: Metric, wanted: float, devices: int, fleet: Fleet | None = None
) -> Needed:
    """Which epsilon lets so many devices tell the widest row to a part of what is possible."""
    if metric.kind.cost is not None:
        return Needed(None, ordered=True)

    def part(epsilon: float) -> float | None:
        return part_at(at_epsilon(collection, metric, epsilon), devices, fleet)

    return _least(part, wanted, _LEAST_EPSILON, float(LIMIT))


def at_epsilon(collection: Collection, metric: Metric, epsilon: float) -> Metric:
    """The metric at an epsilon, as decimals say it."""
    return otherwise(collection, metric, Epsilon.of(Fraction(f"{epsilon:.6g}")))


def _least(measure: Callable[[float], float | None], wanted: float, low: float, high: float) -> Needed:
    """The least number at which what is measured is small enough, if that never grows."""
    measured: dict[float, float] = {}

    def at(number: float) -> float:
        if number not in measured:
            found = measure(number)
            measured[number] = math.inf if found is None else found
        return math.log(max(measured[number], 1e-300) / wanted)

    up = partial(_rounded, whole=high == MOST_DEVICES)
    if at(high) > 0:
        return Needed(None, _ordered(measured))
    if at(low) <= 0:
        return Needed(low, _ordered(measured))
    halved = False
    for _ in range(_STEPS):
        if up(low * (1 + _BEYOND)) >= high:
            break
        ends, logs = (at(low), at(high)), (math.log(low), math.log(high))
        place = 0.5 if halved or math.isinf(ends[0]) else ends[0] / (ends[0] - ends[1])
        middle = up(math.exp(logs[0] + min(max(place, 0.02), 0.98) * (logs[1] - logs[0])))
        if not low < middle < high:  # rounded to an end, of which all is known
            halved = True
            continue
        before = logs[1] - logs[0]
        low, high = (middle, high) if at(middle) > 0 else (low, middle)
        halved = math.log(high / low) > before / 2
    return Needed(high, _ordered(measured))


def _rounded(number: float, *, whole: bool) -> float:
    """Up, to a few digits."""
    step = 10.0 ** (math.floor(math.log10(number)) - _DIGITS + 1)
    step = max(step, 1.0) if whole else step
    return float(f"{math.ceil(number / step - 1e-6) * step:.12g}")


def _ordered(measured: dict[float, float]) -> bool:
    parts = [measured[number] for number in sorted(measured)]
    return all(after <= before * (1 + _SIMULATED) for before, after in pairwise(parts))
