"""What somebody learns of a device by its answers: in one epoch and in years, alone and in a household.

words:
  prior        what somebody held the chance of an answer to be, before they saw anything of it
  step         one row of the picture: what is seen, what it costs, from where to where it can move the prior
  part         some sentences that anybody can read, and the steps that draw them
  margin       how much farther than epsilon a report may go before it counts as one that exceeds it, where there is
               a delta: the chance of a ratio above e^(epsilon + margin) is at most delta / (1 - e^-margin)

What one report reveals is said by `reveals`, what answers cost by the device's ledger, what they tell together by the
room `accounting`: here it is put in order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from deniable import Collection, Metric
from deniable.device.ledger import Cost
from deniable.kinds import Boolean
from deniable_aggregator.accounting import (
    Spent,
    advanced,
    after,
    belief,
    beliefs,
    dummied,
    exposed,
    group,
    sampled,
    shuffled,
    variation,
)
from deniable_aggregator.telling.reveals import RARE, WEEK, once, reveals

__all__ = ["FORMULAS", "Explanation", "Part", "Step", "explained", "together"]

FORMULAS = (
    "A chance c becomes at most c E / (c E + 1 - c) and at least c / (c + E (1 - c)), where E = e^epsilon.",
    "That is Bayes' rule at the worst ratio. The classical bounds are c E and c / E.",
    "With a delta a ratio above e^(epsilon + r) has at most the chance delta / (1 - e^-r): r = ln 2; mixed, epsilon.",
    "k answers cost k epsilon and k delta (Dwork, Roth, 2014, section 3.5).",
    "But for a small chance they cost less: the exact curve of Kairouz, Oh, Viswanath, ICML 2015, theorem 3.3.",
    "k devices with one answer tell k epsilon (Dwork, Roth, 2014, theorem 2.2).",
    "Mixed: the variation-ratio bound, of epsilon, the mechanism's variation and n (Wang and others, VLDB 2024).",
    "Taking part in secret with the chance p: ln(1 + p (E - 1)) (Balle, Barthe, Gaboardi, NeurIPS 2018).",
    "With dummies: the worst ratio of p P(y | x) + (1 - p) D(y), where D is what a dummy is drawn from.",
)
"""Where the numbers come from."""
FLEETS = (10_000, 100_000, 1_000_000)
SHARE = 0.1
"""The chance with which a device would take part, where that is secret."""
_HOUSEHOLDS = (2, 4, 10)
_SLACK = 1e-6
"""The delta of what is promised but for a chance."""
_TWICE = math.log(2)
_VACUOUS = 10
"""From this on a bound on a chance is not worth a row."""


class Step(NamedTuple):
    """A row of the picture."""

    what: str
    """What is seen."""
    epsilon: float | None
    """What it tells at most; None where it tells all."""
    exceeded: float
    """The chance that it tells more."""
    least: float
    """What the prior becomes at least."""
    most: float
    """What it becomes at most."""


class Part(NamedTuple):
    """Sentences, and the steps that draw them."""

    title: str
    """What it is about."""
    sentences: tuple[str, ...]
    """In plain words."""
    steps: tuple[Step, ...]
    """As a picture."""


class Explanation(NamedTuple):
    """All that is said of a metric, or of a whole collection."""

    name: str
    """Of what."""
    question: str
    """What people are asked, in the collection's words."""
    prior: float
    """What the pictures begin with."""
    parts: tuple[Part, ...]
    """What there is to say, the nearest first."""


def explained(
    collection: Collection, metric: Metric, year: int, prior: float = RARE, devices: int | None = None
) -> Explanation:
    """A metric explained; `year` is how many epochs one has, `devices` how many there are."""
    parts = [
        _report(collection, metric, prior),
        _time(collection, metric, year, prior),
        _households(metric, prior),
        _whoever(collection, metric, year, prior),
    ]
    fleets = FLEETS if devices is None else (devices,)
    if metric.kind.delta:
        parts.append(_exposed(float(metric.kind.delta), fleets))
    else:
        parts += [_mixed(metric, prior, fleets), _secret(collection, metric, prior)]
    return Explanation(metric.name, metric.description, prior, tuple(parts))


def together(collection: Collection, year: int, prior: float = RARE) -> Explanation:
    """A whole collection explained: what one report of each metric reveals, and what all of them do."""
    metrics = collection.metrics.values()
    parts = [_report(collection, metric, prior) for metric in metrics]
    epoch = [Cost.of(metric.epsilon.value, metric.kind.delta) for metric in metrics]
    answers = [metric.recalled if metric.memoize else year for metric in metrics]
    all_year = [cost.times(number) for cost, number in zip(epoch, answers, strict=True)]
    steps = (
        _step("every answer of an epoch", _limited(collection, epoch), prior),
        _step("every answer of a year", _limited(collection, all_year), prior),
    )
    sentences = (
        "Answers to several questions about one person add up.",
        "These rows are for whoever knows which reports are from one device.",
        *_budget(collection),
    )
    parts.append(Part("All of it together", sentences, steps))
    return Explanation(collection.name, f"{len(metrics)} questions", prior, tuple(parts))


def _report(collection: Collection, metric: Metric, prior: float) -> Part:
    bounds = belief(prior, float(once(metric)))
    steps = [Step("before", 0.0, 0.0, prior, prior), *_exactly(metric, prior)]
    steps.append(_step("after any report at all", _one(metric), prior))
    if not metric.kind.delta and bounds.loose_most < _VACUOUS:
        steps.append(Step("by the classical bounds", float(once(metric)), 0.0, bounds.loose_least, bounds.loose_most))
    told = reveals(metric, collection.about(metric), prior)
    if not all(mechanism.hides_all for mechanism in metric.mechanisms):
        told.append("All that is drawn here is about one event in each report, and not about the whole count.")
    return Part(f"{metric.name}: what one report reveals", tuple(told), tuple(steps))


def _exactly(metric: Metric, prior: float) -> Iterator[Step]:
    """What a report does to the prior by the mechanism's own channel, where there is one that is small enough."""
    column, *others = metric.columns
    if others or metric.kind.delta:
        return
    named, told = column.mechanism.naming, float(once(metric))
    if named is not None:
        own, other = float(named.own), float(named.other)
        says, not_so = (
            ("yes", "a no") if isinstance(metric.kind, Boolean) else ("report that names it", "another one")
        )
        for what, mine, theirs in ((f"after a {says}", own, other), (f"after {not_so}", 1 - own, 1 - other)):
            chance = after(prior, mine, theirs)
            yield Step(what, told, 0.0, chance, chance)
        return
    if found := [later for each in beliefs(column.mechanism, prior) or () for _, later in each]:
        yield Step("after what speaks most for it", told, 0.0, max(found), max(found))
        yield Step("after what speaks most against it", told, 0.0, min(found), min(found))


def _time(collection: Collection, metric: Metric, year: int, prior: float) -> Part:
    one = Cost.of(metric.epsilon.value, metric.kind.delta)
    steps = [_step("one report", _one(metric), prior)]
    sentences: tuple[str, ...]
    if metric.memoize:
        changed = _limited(collection, [one.times(metric.recalled)])
        steps.append(_step("all reports, while the answer stays", _spent(one), prior))
        steps.append(_step(f"all reports of {metric.recalled} different answers", changed, prior))
        steps.append(_step(f"a year of {year:,}, if nothing were remembered", _spent(one.times(year)), prior))
        sentences = (
            "The device remembers a randomised answer, and tells of that alone.",
            "Reports without end tell no more of the answer than what is remembered.",
            "Another answer is remembered apart, and costs epsilon again.",
            f"It remembers {metric.recalled} different answers at most; a further one is told as the latest.",
        )
    else:
        whole = _limited(collection, [one.times(year)])
        steps.append(_step(f"{WEEK} reports", _limited(collection, [one.times(WEEK)]), prior))
        steps.append(_step(f"a year of {year:,}", whole, prior))
        answers = max(int(whole.epsilon / float(metric.epsilon) + 1e-9), 1)
        if not metric.kind.delta:
            mostly = advanced(Spent(float(metric.epsilon)), answers, _SLACK)
            steps.append(_step("the same year, but for a chance", mostly, prior))
        steps.append(_step("all reports, if it were remembered", _spent(one), prior))
        sentences = (
            "Every report costs epsilon again, and fresh answers add up.",
            "That helps whoever knows which reports are from one device; they carry no name.",
            "Were the answer remembered, all reports together would tell no more than one.",
        )
    if collection.sample < 1:
        steps.append(_step("the same year, as often as it is drawn", _drawn(collection, one, year), prior))
        sentences += ("Its coin draws a device for some epochs: these rows are for one that is drawn for all.",)
    return Part("Day after day", (*sentences, *_budget(collection)), tuple(steps))


def _drawn(collection: Collection, one: Cost, year: int) -> Spent:
    """What the answers of a year cost a device, on average, that is drawn by its coins."""
    return _limited(collection, [one.times(math.ceil(year * collection.sample))])


def _households(metric: Metric, prior: float) -> Part:
    one = _one(metric)
    steps = [_step("one device", one, prior)]
    steps += [_step(f"{devices} devices", group(one, devices), prior) for devices in _HOUSEHOLDS]
    sentences = (
        "Epsilon is about one device.",
        "What a household has in common is told by each of its devices, and the more surely.",
        "These rows are for one report of each device.",
    )
    return Part("Households and other groups", sentences, tuple(steps))


def _whoever(collection: Collection, metric: Metric, year: int, prior: float) -> Part:
    one = Cost.of(metric.epsilon.value, metric.kind.delta)
    answers = metric.recalled if metric.memoize else year
    kept = [
        "On the line it can be seen that a device reports; what it reports is encrypted.",
        "Who breaks the encryption sees one randomised report.",
        "A curious operator sees each batch as it comes, and the network address behind it.",
        "Who keeps addresses can put a device's batches together, year after year.",
        "A subpoenaed store has sums of reports, without names or addresses.",
        "In a quiet hour such a sum can be of one report alone.",
        "A stolen phone has the plain answer of the epoch that is not over.",
        "It also has what was sent, in words, and what that cost.",
    ]
    if metric.memoize:
        kept.append("What it remembers says which answers were given.")
    steps = (
        _step("on the line, behind the encryption", _one(metric), prior),
        _step("an operator who keeps addresses for a year", _limited(collection, [one.times(answers)]), prior),
        _step("a subpoenaed store", _one(metric), prior),
        Step("a stolen phone", None, 0.0, 0.0, 1.0),
    )
    return Part("Who gets what", tuple(kept), steps)


def _mixed(metric: Metric, prior: float, fleets: tuple[int, ...]) -> Part:
    told = float(once(metric))
    spread = max(variation(mechanism, told) for mechanism in metric.mechanisms)
    steps = [_step("one report, as it is", _one(metric), prior)]
    for devices in fleets:
        kept = shuffled(told, spread, devices, _SLACK)
        steps.append(_step(f"mixed with those of {devices:,} devices", Spent(kept, _SLACK), prior, min(kept, _TWICE)))
    sentences = (
        "There is no shuffler in Deniable; this is what one would be worth.",
        "Somebody trusted would take batches apart, and mix the reports of many honest devices.",
        "Only reports of one column, epoch and segment hide each other.",
        "This is for one epoch, and adds up over more of them.",
    )
    return Part("If a trusted shuffler stood between", sentences, tuple(steps))


def _exposed(delta: float, fleets: tuple[int, ...]) -> Part:
    """What a delta is in people."""
    sentences = [
        "At its worst a delta gives away a device's whole answer, with that chance.",
        "Noise does not use it so badly, but the promise would let it.",
    ]
    for devices in fleets:
        found = exposed(delta, devices)
        sentences.append(
            f"Of {devices:,} devices it would be {found.expected:.2g} an epoch; anybody at all with a chance of "
            f"{found.chance:.2g}."
        )
    return Part("What the delta could be in people", tuple(sentences), ())


def _secret(collection: Collection, metric: Metric, prior: float) -> Part:
    one, asked = _one(metric), float(collection.sample)
    share = asked if asked < 1 else SHARE
    who = "one device in ten" if share == SHARE else f"a part of {share:.4g} of all devices"
    silent = sampled(one, share)
    with_dummies = min(max(dummied(mechanism, share) for mechanism in metric.mechanisms), silent.epsilon)
    steps = (
        _step("one report, as it is", one, prior),
        _step(f"{who}, if silence did not show", silent, prior),
        _step(f"{who}, the others send dummies", Spent(with_dummies), prior),
    )
    coin = (
        ("A device could take part by a coin of its own, one time in ten.",)
        if asked == 1
        else (
            f"A device takes part in {asked:.4g} of all epochs, by a coin of its own.",
            "That is no privacy: a report tells as much as if all devices sent one.",
        )
    )
    sentences = (
        *coin,
        "Whoever sees reports sees who is silent, which undoes it.",
        "So the others would send dummies: reports that are drawn without their answer.",
        "Deniable sends none; this is what they would be worth.",
    )
    return Part("If nobody could tell who takes part", sentences, steps)


def _budget(collection: Collection) -> Iterator[str]:
    """What ends it."""
    lifetime = collection.budget.lifetime
    if lifetime is None:
        yield "The collection sets no budget for a lifetime: nothing ends it."
    else:
        yield f"A device stops at its lifetime's budget of {float(lifetime):g}, over all questions."


def _one(metric: Metric) -> Spent:
    """What one report tells."""
    return Spent(float(once(metric)), float(metric.kind.delta))


def _spent(cost: Cost) -> Spent:
    return Spent(*cost.told())


def _limited(collection: Collection, costs: list[Cost]) -> Spent:
    """What answers cost together, as the ledger adds it up, and lets it be spent in a lifetime."""
    epsilon, delta = Cost(sum(cost.epsilon for cost in costs), sum(cost.delta for cost in costs)).told()
    budget = collection.budget
    if budget.lifetime is not None:
        epsilon = min(epsilon, float(budget.lifetime))
    return Spent(epsilon, min(delta, float(budget.lifetime_delta)))


def _step(what: str, told: Spent, prior: float, margin: float = _TWICE) -> Step:
    """A row, with the margin where there is a delta."""
    extra = margin if told.delta else 0.0
    exceeded = min(told.delta / -math.expm1(-extra), 1.0) if extra else 0.0
    bounds = belief(prior, told.epsilon + extra)
    return Step(what, told.epsilon, exceeded, bounds.least, bounds.most)
