"""What one report reveals about its sender, in sentences that a person who is asked can weigh.

Someone who sees a report and held an answer to have the chance c holds it, afterwards, to have at most
e^eps c / (e^eps c + 1 - c): Bayes' rule at the worst ratio that the mechanism allows.

Where a metric has a delta, no ratio holds for every report. What holds: the chance of a report whose ratio is more
than 2 e^eps is at most 2 delta, because P(R | a) - e^eps P(R | b) <= delta for the set R of those reports, and
e^eps P(R | b) < P(R | a) / 2. So the sentences are those of twice the ratio, and name the chance.

Answers of several metrics can be about the same values: of one that is fed, and of its sources. Then epsilons and
deltas add up, by composition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from deniable import Metric, linkage
from deniable.kinds import Boolean
from deniable.odds import believed
from deniable_aggregator.answers import Measure
from deniable_aggregator.digits import text

__all__ = ["reveals"]

_RARE = 0.02
_WEEK = 7


def reveals(metric: Metric, about: Sequence[Metric] = ()) -> list[str]:
    """The sentences for a metric; `about` are the others whose answers are about the same values."""
    return [*_how(metric), *_odds(metric), *_together(metric, about), *_repeated(metric)]


def _how(metric: Metric) -> Iterator[str]:
    """How the device answers, where that takes one sentence."""
    column, *others = metric.columns
    named = column.mechanism.naming
    if others or named is None:
        return
    own, other = _percent(float(named.own)), _percent(float(named.other))
    if isinstance(metric.kind, Boolean):
        yield f"A device whose answer is yes says yes {own} of the time; one whose answer is no, {other} of it."
    elif named.answers > 1:
        yield (
            f"A device names {named.answers} of the {column.mechanism.inputs} answers: its own is among them {own} "
            f"of the time, any other {other} of it."
        )
    else:
        yield f"A device names its own answer {own} of the time, and each of the others {other} of it."


def _odds(metric: Metric) -> Iterator[str]:
    if metric.kind.delta:
        yield from _odds_but_for(metric)
        return
    whole = float(metric.epsilon)
    told = min(metric.instantaneous or metric.epsilon, metric.epsilon, key=float)
    once = float(told)
    yield (
        f"Whatever a device sends, no answer makes it more than {math.exp(once):,.2f} times as likely as any other "
        f"answer does (epsilon {told})."
    )
    yield (
        "Someone who sees one report and held an answer to be an even bet is at most "
        f"{_percent(believed(0.5, once))} sure of it afterwards; one who gave it {_percent(_RARE)} gives it at most "
        f"{_percent(believed(_RARE, once))}."
    )
    if metric.instantaneous:
        yield (
            f"All reports of one answer together, however many, make an even bet at most "
            f"{_percent(believed(0.5, whole))} sure (epsilon {metric.epsilon})."
        )


def _odds_but_for(metric: Metric) -> Iterator[str]:
    """The odds of an answer that has a delta."""
    epsilon, delta = float(metric.epsilon), float(metric.kind.delta)
    yield (
        f"But for a chance of {2 * delta:g}, what a device sends is not more than {2 * math.exp(epsilon):,.2f} times "
        f"as likely with its own answer as with any other (epsilon {metric.epsilon}, delta {delta:g})."
    )
    twice = epsilon + math.log(2)
    yield (
        f"But for that chance, someone who sees one report and held an answer to be an even bet is at most "
        f"{_percent(believed(0.5, twice))} sure of it afterwards; one who gave it {_percent(_RARE)} gives it at most "
        f"{_percent(believed(_RARE, twice))}."
    )


def _together(metric: Metric, about: Sequence[Metric]) -> Iterator[str]:
    """What someone knows who sees all answers that are about the same values."""
    if not about:
        return
    every = (metric, *about)
    epsilon, delta = sum(float(each.epsilon) for each in every), sum(float(each.kind.delta) for each in every)
    sure = believed(0.5, epsilon + (math.log(2) if delta else 0.0))
    but = f", but for a chance of {2 * delta:g}" if delta else ""
    names = ", ".join(each.name for each in about)
    yield (
        f"What is sent for {names} is about the same values: someone who sees it all and held an "
        f"answer to be an even bet is at most {_percent(sure)} sure of it{but} (epsilon {epsilon:.4g})."
    )


def _repeated(metric: Metric) -> Iterator[str]:
    bits = linkage.bits(metric)
    if linkage.repeats(metric):
        yield (
            "A device says the same in every epoch: watching it for longer tells no more of this answer while it "
            f"stays. But what it repeats, {bits:.1f} bits, tells it from {linkage.others(bits)} others with the same "
            "answer: its reports of different epochs can be put together."
        )
    elif metric.memoize:
        yield (
            "What a device remembers is randomised afresh for every report, which tells at most "
            f"{bits:.2g} bits of which device it is from, even to someone who knows what the device remembers."
        )
    else:
        delta = float(metric.kind.delta)
        week = believed(0.5, _WEEK * float(metric.epsilon) + (math.log(2) if delta else 0.0))
        but = f", but for a chance of {2 * _WEEK * delta:g}" if delta else ""
        yield (
            "Every epoch is answered afresh: someone who could tell that reports come from one device would be up to "
            f"{_percent(week)} sure after {_WEEK} of them{but}. Reports carry no name; while an answer stays the "
            f"same, one tells at most {bits:.2g} bits of which device it is from."
        )


def _percent(chance: float) -> str:
    return text(chance, Measure.SHARE, 2)
