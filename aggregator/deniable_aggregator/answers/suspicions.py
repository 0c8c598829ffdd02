"""Suspicions: what of an epoch's counters honest devices would hardly add up to, whatever their answers are.

words:
  suspicion   something that is so unlikely that one epoch in ten thousand has any, of all tests of a metric together,
              looked at once when it has ended; and a jump, which devices can make if there are suddenly more of them

Nobody can tell a made-up answer from a randomised one. But a fleet of fakes that all send what moves an answer
farthest leaves marks in the sums: shares below nothing, codes that stand for no answer, levels that contradict each
other, a column that more devices answer than draw it. Fakes that randomise an untrue answer as devices do leave none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Distribution, Ordinal, Quantity, Tree, Vector
from deniable.kinds._levelled import Levelled
from deniable.mechanisms import Mechanism
from deniable.payload import Symbol
from deniable_aggregator.answers._room import Counters
from deniable_aggregator.answers.distribution import tree_of
from deniable_aggregator.answers.tree import hierarchy_of
from deniable_aggregator.estimators import (
    Contributions,
    Means,
    added_up,
    entries,
    fit,
    frequencies,
    idle,
    idle_chances,
    level_chances,
    mean_chances,
    means,
    places,
    ranks,
    share_chances,
    tells_spread,
    vector_chances,
)

__all__ = ["RATE", "Suspicion", "jump", "suspicions"]

_Floats = NDArray[np.float64]

_SHARES = "shares beyond all that are possible"
RATE = 1e-4
"""An honest epoch has a suspicion at most so often, however often it is looked at."""
_LOOKS = 10
"""One that is open is looked at as it grows: any of 96 looks has a mark some twenty times as often as the last. As a
look at counters has it less than half as often as it might, a tenth for each is enough (docs/poisoning.md)."""
_BEFORE = 7
"""So many epochs say how many reports there usually are,"""
_TIMES = 2
"""of which a fleet has no more than so many times as many."""


class Suspicion(NamedTuple):
    """One mark of fakes."""

    what: str
    chance: float
    """How often an honest epoch has a mark like this one or a stronger one, of all that is looked at: at most."""


def suspicions(metric: Metric, counters: Counters, rate: float = RATE / _LOOKS) -> tuple[Suspicion, ...]:
    """Those of one epoch's counters, in which each device has reported once; an honest epoch has any at that rate,
    each time that it is looked at."""
    tests = [(what, chances) for what, chances in _tests(metric, counters) if len(chances)]
    count = sum(len(chances) for _, chances in tests)
    least: dict[str, float] = {}
    for what, chances in tests:
        least[what] = min(least.get(what, 1.0), float(chances.min()) * count)
    return tuple(Suspicion(what, chance) for what, chance in least.items() if chance < rate)


def jump(reports: Sequence[int]) -> tuple[Suspicion, ...]:
    """Whether the last of some epochs has more than twice as many reports as any of those before: how often it would
    come to so many, if a fleet at most doubles, once there are seven epochs to tell by."""
    *before, last = reports
    known = [own for own in before if own]
    if len(known) < _BEFORE:
        return ()
    most = max(known)
    (chance,) = idle_chances(np.array([last]), last + most, _TIMES / (_TIMES + 1)).tolist()
    if last <= _TIMES * most or chance >= RATE:
        return ()
    return (Suspicion(f"more than {_TIMES} times as many reports as in any epoch before", chance),)


def _tests(metric: Metric, counters: Counters) -> Iterator[tuple[str, _Floats]]:
    """All that is looked at, each with its chances."""
    mechanisms = [column.mechanism for column in metric.columns]
    pairs = list(zip(mechanisms, counters, strict=True))
    if not all(added_up(mechanism.shape, own) for mechanism, own in pairs):
        yield "counters that no reports can add up to", np.zeros(1)
        return
    if len(pairs) > 1:
        counts = np.array([own.sum() if isinstance(mechanism.shape, Symbol) else own[0] for mechanism, own in pairs])
        drawn = (
            metric.kind.allotment(mechanisms) if isinstance(metric.kind, Levelled) else [1 / len(pairs)] * len(pairs)
        )
        yield (
            "columns that more or fewer answer than draw them",
            idle_chances(counts, int(counts.sum()), np.array(drawn)),
        )
    for mechanism, own in pairs:
        yield from _column(metric, mechanism, own)
    if isinstance(metric.kind, Distribution | Tree):
        tree = tree_of(metric.kind) if isinstance(metric.kind, Distribution) else hierarchy_of(metric.kind)
        yield "levels that contradict each other", level_chances(fit(mechanisms, tree, counters), mechanisms)


def _column(metric: Metric, mechanism: Mechanism, counters: NDArray[np.int64]) -> Iterator[tuple[str, _Floats]]:
    """Of one column by itself."""
    kind = metric.kind
    if isinstance(kind, Vector):
        found = entries(mechanism, counters)
        yield "vectors that are longer than any", vector_chances(found, mechanism.shape, kind.bound)
    elif isinstance(kind, Quantity) and tells_spread(mechanism):
        sums, ends = means(mechanism, counters), Contributions.between(*places(mechanism))
        assert isinstance(sums, Means)
        yield "quantities beyond all that are possible", mean_chances(sums, ends, kind.limited)
    elif isinstance(kind, Ordinal):
        yield _SHARES, share_chances(counters, int(counters.sum()), *ranks(mechanism, counters).named_by())
    else:
        own = frequencies(mechanism, counters)
        yield _SHARES, share_chances(own.supports, own.reports, *sorted((own.p, own.q)))
        if (unasked := idle(mechanism, counters)) is not None:
            yield (
                "codes of no answer that chance would not name so",
                idle_chances(unasked[0], own.reports, unasked[1]),
            )
