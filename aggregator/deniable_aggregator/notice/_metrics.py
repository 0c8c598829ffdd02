"""What is said of one metric, whoever it is for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deniable import Collection, Metric, linkage
from deniable.kinds import Boolean, Quantity
from deniable.mechanisms import Mechanism
from deniable_aggregator.notice._language import Language
from deniable_aggregator.telling.reveals import WEEK, named, once, surest

__all__ = ["changed", "names", "noted", "odds", "part", "reduced", "sure", "together", "weekly"]

_LISTED = 12
"""So many answers are listed; of more it is said how many there are."""


def noted(language: Language, metric: Metric) -> str:
    """What the device notes, before anything is changed."""
    kind, name = metric.kind, metric.kind.name
    told = kind.parameters()
    if isinstance(kind, Quantity) and not kind.limited:
        name = f"{name}_open"
    elif told.get("pairs"):
        name = f"{name}_pairs"
    low, high = kind.ends if isinstance(kind, Quantity) else map(float, told.get("range", (0, 0)))
    parts = told.get("buckets", told.get("dimensions", 0))
    return language(
        f"kinds.{name}",
        low=language.short(low),
        high=f"{language.short(high)} {kind.unit}".strip(),
        parts=language.number(parts),
        most=told.get("max_items", 0),
    )


def part(language: Language, collection: Collection) -> str:
    """In which part of all epochs a device takes part."""
    return language("form.percent", number=language.short(100 * float(collection.sample)))


def reduced(language: Language, metric: Metric, span: str) -> str:
    """Which of several values of one epoch counts; nothing where none is noted for it."""
    return "" if metric.sources else language(f"reducers.{metric.reducer.name}", span=span)


def names(language: Language, metric: Metric) -> list[str]:
    """The answers that there are, or of a joint the questions that it puts together; where they are many, some."""
    told = metric.kind.parameters()
    every = [source.description for source in metric.sources]
    every = every or list(told.get("values") or told.get("flags") or told.get("paths") or ())
    more = len(every) - _LISTED
    return every if more <= 0 else [*every[:_LISTED], language("form.more", count=language.number(more))]


def changed(language: Language, metric: Metric) -> Iterator[str]:
    """How chance changes the answer, a sentence or two for each step."""
    if len(metric.columns) > 1:
        yield language("mechanisms.part")
    if isinstance(metric.kind, Quantity) and all(mechanism.inputs == 2 for mechanism in metric.mechanisms):
        yield language("mechanisms.ends")
    steps: dict[str, None] = {}
    for mechanism in metric.mechanisms:
        step: Mechanism | None = mechanism
        while step is not None:
            steps[step.name] = None
            # What is remembered is changed in two steps, of which its own sentences tell both.
            step = None if step.first is not step else step.wrapped
    yield from (language(f"mechanisms.{name}") for name in steps)
    how = named(metric)
    if how is not None:
        answers, own, other = how[0], language.percent(how[1]), language.percent(how[2])
        which = "yes_no" if isinstance(metric.kind, Boolean) else "many" if answers > 1 else "one"
        inputs = metric.columns[0].mechanism.inputs
        yield language(f"odds.{which}", own=own, other=other, named=answers, inputs=inputs)


def sure(metric: Metric) -> float:
    """How sure one report makes somebody, at most, of what was an even bet."""
    return surest(float(once(metric)), float(metric.kind.delta))[0]


def weekly(metric: Metric) -> float:
    """How sure a week of reports does, of somebody who knows that they are one device's."""
    epsilon, delta = float(metric.epsilon), float(metric.kind.delta)
    return surest(epsilon if metric.memoize else WEEK * epsilon, delta)[0]


def odds(language: Language, metric: Metric) -> Iterator[str]:
    """What somebody can conclude, from one report and from many."""
    most = language.odds(sure(metric))
    if all(mechanism.hides_all for mechanism in metric.mechanisms):
        yield language("odds.sure", odds=most)
    else:
        yield language("odds.event")
        yield language("odds.event_sure", odds=most)
    if linkage.repeats(metric):
        yield language("odds.repeats")
    elif metric.memoize:
        yield language("odds.kept", odds=language.odds(weekly(metric)))
    else:
        yield language("odds.fresh", reports=WEEK, odds=language.odds(weekly(metric)))
    if metric.kind.delta:
        _, exceeded = surest(float(metric.epsilon), float(metric.kind.delta) * (1 if metric.memoize else WEEK))
        yield language("odds.but", chance=language.chance(exceeded))


def together(language: Language, collection: Collection, metric: Metric) -> tuple[str, list[str]] | None:
    """What answers about the same values tell together, and which those are."""
    about: list[Any] = collection.about(metric)
    if not about:
        return None
    every = (metric, *about)
    spent = sum(float(each.epsilon) for each in every), sum(float(each.kind.delta) for each in every)
    return language("odds.together", odds=language.odds(surest(*spent)[0])), [each.description for each in about]
