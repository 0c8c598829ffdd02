"""The notice: what people are told who are asked, in plain words."""

from __future__ import annotations

from deniable import Collection, Metric
from deniable_aggregator.notice._document import Document
from deniable_aggregator.notice._language import Language
from deniable_aggregator.notice._metrics import changed, names, noted, odds, part, reduced, together
from deniable_aggregator.telling.reveals import surest

__all__ = ["notice"]

_REFUSING = ("python -m deniable consent withheld", "DO_NOT_TRACK=1")
_SEEING = ("python -m deniable transcript", "python -m deniable view")
_FORGETTING = ("python -m deniable forget",)


def notice(collection: Collection, language: Language) -> Document:
    """What a collection asks, and what can be done about it."""
    often = language(f"epochs.{collection.epoch_seconds}")
    span = language(f"spans.{collection.epoch_seconds}")
    asked = Document(language.code, language("people.title", collection=collection.name))
    count = len(collection.metrics)
    questions = language(f"form.questions{'' if count > 1 else '_one'}", count=count)
    asked.say(language("people.intro", questions=questions, often=often))
    asked.say(language("people.who", owner=collection.owner))
    asked.heading(2, language("people.asked"))
    for metric in collection.metrics.values():
        _question(asked, language, collection, metric, span)
    asked.heading(2, language("people.beside"))
    asked.say(language("people.beside_text", span=span))
    if collection.segments:
        asked.say(language("people.segments"))
        asked.items(f"{name}: {language.listed(list(values))}" for name, values in collection.segments.items())
    asked.heading(2, language("people.often"))
    drawn = language("people.often_part", part=part(language, collection)) if collection.sample < 1 else ""
    asked.say(language("people.often_text", often=often), drawn)
    asked.heading(2, language("people.cost"))
    ends = "cost_endless" if collection.budget.lifetime is None else "cost_ends"
    asked.say(
        language("people.cost_text", span=span, odds=_all_of_it(language, collection)), language(f"people.{ends}")
    )
    for key, commands in (("refuse", _REFUSING), ("see", _SEEING), ("forget", _FORGETTING)):
        asked.heading(2, language(f"people.{key}"))
        asked.say(language(f"people.{key}_text"))
        asked.items(commands, commands=True)
    return asked


def _question(asked: Document, language: Language, collection: Collection, metric: Metric, span: str) -> None:
    asked.heading(3, metric.description)
    if metric.reason:
        asked.say(language("people.why", reason=metric.reason.rstrip(" .")))
    counts = reduced(language, metric, span)
    if found := names(language, metric):
        asked.say(noted(language, metric))
        asked.items(found)
        asked.say(counts, *changed(language, metric))
    else:
        asked.say(noted(language, metric), counts)
        asked.say(*changed(language, metric))
    asked.say(*odds(language, metric))
    if about := together(language, collection, metric):
        asked.say(about[0])
        asked.items(about[1])
    if metric.expires:
        asked.say(language("people.ends", expires=metric.expires.isoformat()))


def _all_of_it(language: Language, collection: Collection) -> str:
    """How sure all answers of an epoch make somebody, of what was an even bet."""
    metrics = collection.metrics.values()
    epsilon, delta = sum(float(own.epsilon) for own in metrics), sum(float(own.kind.delta) for own in metrics)
    return language.odds(surest(epsilon, delta)[0])
