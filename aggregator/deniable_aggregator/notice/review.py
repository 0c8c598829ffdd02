"""The review: a sheet for each question, for those who agree to it."""

from __future__ import annotations

from collections.abc import Iterator

from deniable import Collection, Metric
from deniable_aggregator.notice._document import Document
from deniable_aggregator.notice._language import Language
from deniable_aggregator.notice._metrics import names, noted, reduced, sure

__all__ = ["sheets"]

_CHECKS = ("need", "words", "values", "cost", "end")


def sheets(collection: Collection, language: Language) -> Document:
    """The sheets of a collection."""
    span = language(f"spans.{collection.epoch_seconds}")
    found = Document(language.code, language("review.title", collection=collection.name))
    found.say(language("review.intro"))
    for metric in collection.metrics.values():
        found.heading(2, metric.name)
        found.table(("", ""), _facts(language, metric, span))
        found.heading(3, language("review.checks"))
        found.items([language(f"review.check_{check}") for check in _CHECKS], to_tick=True)
        found.say(language("review.signed", blank=language("form.blank")))
    return found


def _facts(language: Language, metric: Metric, span: str) -> Iterator[tuple[str, str]]:
    missing = language("form.not_said")
    said = {
        "question": metric.description,
        "reason": metric.reason or missing,
        "owner": metric.owner or missing,
        "kind": metric.kind.name,
        "noted": f"{noted(language, metric)} {reduced(language, metric, span)}".strip(),
        "answers": language.listed(names(language, metric)),
        "mechanism": metric.mechanism,
        "epsilon": str(metric.epsilon),
        "delta": language.short(float(metric.kind.delta)),
        "remembered": language("form.yes" if metric.memoize else "form.no"),
        "odds": language.odds(sure(metric)),
        "expires": metric.expires.isoformat() if metric.expires else language("form.never"),
    }
    return ((language(f"review.{key}"), words) for key, words in said.items() if words)
