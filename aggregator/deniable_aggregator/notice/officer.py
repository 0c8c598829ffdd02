"""The record of processing: what a collection can say for it, with its numbers, and what is left to fill in."""

from __future__ import annotations

from deniable import Collection, Settings, linkage
from deniable_aggregator.notice._document import Document
from deniable_aggregator.notice._language import Language
from deniable_aggregator.notice._metrics import part, sure, weekly
from deniable_aggregator.telling.reveals import WEEK

__all__ = ["record"]


def record(collection: Collection, language: Language) -> Document:
    """The record of a collection."""
    say, span = _Saying(language), language(f"spans.{collection.epoch_seconds}")
    kept, blank = Settings(), language("form.blank")
    found = Document(language.code, say("title", collection=collection.name))
    found.say(say("intro"))
    found.heading(2, say("who"))
    found.items([say("who_asks", owner=collection.owner), say("who_fill", blank=blank)])
    found.heading(2, say("purposes"))
    metrics = collection.metrics.values()
    found.table((say("question"), say("reason")), [(own.description, own.reason or blank) for own in metrics])
    found.heading(2, say("whose"))
    found.say(say("whose_text"))
    found.heading(2, say("what"))
    found.say(say("what_text", span=span))
    found.table((say("question"), say("kind")), [(own.description, own.kind.name) for own in metrics])
    if collection.segments:
        found.say(say("segments", names=language.listed(list(collection.segments))))
    for key in ("basis", "recipients"):
        found.heading(2, say(key))
        found.items([say(f"{key}_fill", blank=blank)])
    found.heading(2, say("retention"))
    found.items([
        say("retention_raw", span=span),
        say("retention_queue", span=span, accept_late=kept.accept_late),
        say("retention_list", transcript_days=language.short(kept.transcript_days)),
        say("retention_sums", blank=blank),
    ])  # fmt: skip
    _measures(found, language, collection, span)
    found.heading(2, say("rights"))
    found.say(say("rights_text"))
    return found


class _Saying:
    """The record's own sentences."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def __call__(self, key: str, **values: object) -> str:
        return self._language(f"officer.{key}", **values)


def _measures(found: Document, language: Language, collection: Collection, span: str) -> None:
    say, budget = _Saying(language), collection.budget
    found.heading(2, say("measures"))
    found.say(say("measures_text"))
    head = (say("question"), say("mechanism"), say("epsilon"), say("delta"), say("odds"), say("week", reports=WEEK))
    found.table(head, [
        (
            own.description,
            own.mechanism,
            str(own.epsilon),
            language.short(float(own.kind.delta)),
            language.odds(sure(own)),
            language.odds(weekly(own)),
        )
        for own in collection.metrics.values()
    ])  # fmt: skip
    ever = budget.lifetime
    delta = sum(float(own.kind.delta) for own in collection.metrics.values())
    remembered, staying = linkage.batch(collection)
    found.items([
        say("spent", epoch=language.short(float(budget.epoch)), span=span),
        say("spent_endless") if ever is None else say("spent_ever", lifetime=language.short(float(ever))),
        *([say("drawn", part=part(language, collection))] if collection.sample < 1 else []),
        *([say("spent_delta", delta=language.short(delta), span=span)] if delta else []),
        say("bits", remembered=language.number(remembered, 2), staying=language.number(staying, 2)),
        say("ledger"),
        say("transport"),
    ])  # fmt: skip
