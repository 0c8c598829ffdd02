"""What one report reveals about its sender, in sentences that a person who is asked can weigh.

Someone who sees a report and held an answer to have the chance c holds it, afterwards, to have at most
e^eps c / (e^eps c + 1 - c): Bayes' rule at the worst ratio that the mechanism allows.

Where a metric has a delta, no ratio holds for every report. What holds: the chance of a report whose ratio is more
than 2 e^eps is at most 2 delta, because P(R | a) - e^eps P(R | b) <= delta for the set R of those reports, and
e^eps P(R | b) < P(R | a) / 2. So the sentences are those of twice the ratio, and name the chance.

Answers of several metrics can be about the same values: of one that is fed, and of its sources. Then epsilons and
deltas add up, by composition.

No sentence has more than twenty words, but for names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from deniable import Epsilon, Metric, linkage
from deniable.kinds import Boolean
from deniable.odds import believed
from deniable_aggregator.answers import Measure
from deniable_aggregator.telling.digits import text

__all__ = ["RARE", "WEEK", "named", "once", "reveals", "surest"]

RARE = 0.02
"""The chance that sentences begin with, beside an even bet, where nobody says another one."""
WEEK = 7
"""So many reports are told of, of what is answered afresh."""


def reveals(metric: Metric, about: Sequence[Metric] = (), prior: float = RARE) -> list[str]:
    """The sentences for a metric; `about` are the others whose answers are about the same values."""
    return [*_how(metric), *_odds(metric, prior), *_together(metric, about), *_repeated(metric)]


def _how(metric: Metric) -> Iterator[str]:
    """How the device answers, where that can be said in a sentence or two."""
    how = named(metric)
    if how is None:
        return
    answers, own, other = how[0], _percent(how[1]), _percent(how[2])
    if isinstance(metric.kind, Boolean):
        yield f"A device whose answer is yes says yes {own} of the time; one whose answer is no, {other} of it."
    elif answers > 1:
        yield f"A device names {answers} of the {metric.columns[0].mechanism.inputs} answers."
        yield f"Its own is among them {own} of the time, any other {other} of it."
    else:
        yield f"A device names its own answer {own} of the time, and each of the others {other} of it."


def _odds(metric: Metric, prior: float) -> Iterator[str]:
    if metric.kind.delta:
        yield from _odds_but_for(metric, prior)
        return
    told, sure = once(metric), _believed(0.5, float(once(metric)))
    times = f"{math.exp(float(told)):,.2f} times"
    if all(mechanism.hides_all for mechanism in metric.mechanisms):
        what = "an answer"
        yield f"Whatever a device sends, no answer makes it more than {times} as likely as another (epsilon {told})."
    else:
        what = "one event"
        yield "What is hidden is one event more or less; how large the count is can be seen."
        yield f"Whatever a device sends, one event makes it at most {times} as likely (epsilon {told})."
    yield f"Who held {what} to be an even bet is at most {sure} sure of it after one report."
    yield f"Who gave it {_percent(prior)} gives it at most {_believed(prior, float(told))} then."
    if metric.instantaneous:
        sure = _believed(0.5, float(metric.epsilon))
        yield (
            f"All reports of one answer together, however many, make an even bet at most {sure} sure "
            f"(epsilon {metric.epsilon})."
        )


def _odds_but_for(metric: Metric, prior: float) -> Iterator[str]:
    """The odds of an answer that has a delta."""
    epsilon, delta = float(metric.epsilon), float(metric.kind.delta)
    sure, but = surest(epsilon, delta)
    times = f"{2 * math.exp(epsilon):,.2f} times"
    yield f"But for a chance of {but:g}, its own answer makes a report at most {times} as likely as another."
    yield f"That is what epsilon {metric.epsilon} and delta {delta:g} promise."
    yield f"Who held an answer to be an even bet is, but for that chance, at most {_percent(sure)} sure of it."
    most = _percent(surest(epsilon, delta, prior)[0])
    yield f"Who gave it {_percent(prior)} gives it, but for that chance, at most {most}."


def _together(metric: Metric, about: Sequence[Metric]) -> Iterator[str]:
    """What someone knows who sees all answers that are about the same values."""
    if not about:
        return
    every = (metric, *about)
    epsilon, delta = sum(float(each.epsilon) for each in every), sum(float(each.kind.delta) for each in every)
    names = ", ".join(each.name for each in about)
    sure, exceeded = surest(epsilon, delta)
    but = f"But for a chance of {exceeded:g}, who" if delta else "Who"
    yield f"What is sent for {names} is about the same values (epsilon {epsilon:.4g})."
    yield f"{but} sees it all is at most {_percent(sure)} sure of an even bet."


def _repeated(metric: Metric) -> Iterator[str]:
    bits = linkage.bits(metric)
    if linkage.repeats(metric):
        yield "A device says the same in every epoch."
        yield "Watching it for longer tells no more of this answer while it stays."
        yield f"What it repeats, {bits:.1f} bits, tells it from {linkage.others(bits)} others with the same answer."
        yield "So its reports of different epochs can be put together."
    elif metric.memoize:
        yield "What a device remembers is randomised afresh for every report."
        yield f"A report tells at most {bits:.2g} bits of which device it is from."
        yield "That holds even for someone who knows what the device remembers."
    else:
        delta = float(metric.kind.delta)
        week, exceeded = surest(WEEK * float(metric.epsilon), WEEK * delta)
        but = f"But for a chance of {exceeded:g}, who" if delta else "Who"
        yield "Every epoch is answered afresh, and reports carry no name."
        yield f"{but} could tell that {WEEK} are from one device is up to {_percent(week)} sure."
        yield f"While an answer stays the same, a report tells at most {bits:.2g} bits of which device it is from."


def once(metric: Metric) -> Epsilon:
    """The epsilon of one report: of what is remembered, or of the answer, whichever tells less."""
    return min(metric.instantaneous or metric.epsilon, metric.epsilon, key=float)


def surest(epsilon: float, delta: float = 0.0, chance: float = 0.5) -> tuple[float, float]:
    """The most that what had this chance is believed afterwards, and the chance that it is believed more."""
    return believed(chance, epsilon + (math.log(2) if delta else 0.0)), 2 * delta


def named(metric: Metric) -> tuple[int, float, float] | None:
    """How many answers a report names, and how often the own one and another one, where a sentence can say it."""
    column, *others = metric.columns
    how = column.mechanism.naming
    return None if others or how is None else (how.answers, float(how.own), float(how.other))


def _believed(chance: float, epsilon: float) -> str:
    return _percent(believed(chance, epsilon))


def _percent(chance: float) -> str:
    return text(chance, Measure.SHARE, 2)
