"""Answers as a static site: pages without scripts, and files of all numbers, that a project can put on the web.

words:
  site       files by their names: of each collection a page of answers, its notice, and its numbers as CSV and JSON
  few        of a row: too few to tell, and without a number
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from deniable import Collection
from deniable_aggregator.notice import WRITERS, Language, escaped, page
from deniable_aggregator.publishing._answers import answers
from deniable_aggregator.publishing._directory import FIRST, listed, write
from deniable_aggregator.publishing._left_out import kept
from deniable_aggregator.telling.tables import Table

__all__ = ["FIRST", "Published", "kept", "site", "told", "write"]

_FIRST = FIRST.partition(".")[0]
_UNTOLD = ("value", "std_error", "consistent", "cut")
"""What is not published of a row that is too few to tell."""
_WORDS = ("series", "key", "parent", "unit", "note")
"""Of a row, what somebody has written."""
_RECKONED = re.compile(r"[=@\t\r]|[-+](?!\d[\d.,]*( to -?\d[\d.,]*)?$)")
"""How words begin that a spreadsheet takes for something to reckon; a number is none, nor is a range."""


@dataclass(frozen=True, slots=True)
class Published:
    """What is published of one collection."""

    collection: Collection
    """As its file has it."""
    whole: Table
    """Answers about all devices."""
    segments: Mapping[str, Table]
    """Answers about those of a segment, by what it is called."""
    simulated: bool
    """Whether the devices are."""

    @property
    def table(self) -> Table:
        """All of its rows."""
        return Table(row for part in (self.whole, *self.segments.values()) for row in part)


def told(found: Table) -> Table:
    """What can be published of answers: none of the numbers that are too few to tell."""
    return Table(map(_told, found))


def _told(row: dict[str, Any]) -> dict[str, Any]:
    if not row["too_few"]:
        return row
    return row | dict.fromkeys(_UNTOLD) | {"raw_text": row["text"]}


def site(published: Sequence[Published], language: Language, day: date) -> dict[str, str]:
    """The files, by their names; of one collection alone the first page is its own, and of several none is called
    as the first page is: a ValueError."""
    files = {}
    if len(published) > 1 and any(own.collection.name == _FIRST for own in published):
        raise ValueError(
            f"{_FIRST} is what the first page is called: publish that collection in a directory of its own"
        )
    for own in published:
        name = own.collection.name
        first = f"{name}.html" if len(published) > 1 else FIRST
        files[first] = _page(own, language, day)
        files[f"{name}-notice.html"] = WRITERS["people"](own.collection, language).html(
            (language("site.back"), first)
        )
        files[f"{name}.csv"] = Table(map(_inert, own.table)).to_csv()
        files[f"{name}.json"] = own.table.to_json() + "\n"
    if len(published) > 1:
        title = language("site.several")
        links = [_link(own.collection.name, f"{own.collection.name}.html") for own in published]
        body = [f"<h1>{escaped(title)}</h1>", "<ul>", *(f"<li>{link}</li>" for link in links), "</ul>"]
        files[FIRST] = page(language.code, title, "\n".join(body))
    return files | {FIRST: listed(files[FIRST], files)}


def _inert(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose words a spreadsheet shows, and does not reckon."""
    return row | {name: f"'{row[name]}" for name in _WORDS if _RECKONED.match(row[name])}


def _page(own: Published, language: Language, day: date) -> str:
    collection = own.collection
    title = language("site.title", collection=collection.name)
    confidence = next((row["confidence"] for row in own.whole), 0.95)
    said = [
        language("site.intro", confidence=language("form.percent", number=language.short(100 * confidence))),
        *([language("site.simulated")] if own.simulated else []),
        language("site.made", day=day.isoformat()),
    ]
    links = [
        _link(language("site.notice"), f"{collection.name}-notice.html"),
        *(_link(language(f"site.{form}"), f"{collection.name}.{form}") for form in ("csv", "json")),
    ]
    body = [f"<h1>{escaped(title)}</h1>", f"<p>{escaped(' '.join(said))}</p>", "<ul>"]
    body += [*(f"<li>{link}</li>" for link in links), "</ul>"]
    for metric in collection.metrics.values():
        body.append(f"<h2>{escaped(metric.description)}</h2>")
        body += answers(language, [row for row in own.whole if row["metric"] == metric.name])
        for name, table in own.segments.items():
            if rows := [row for row in table if row["metric"] == metric.name]:
                body.append(f"<h3>{escaped(language('site.segment', segment=name))}</h3>")
                body += answers(language, rows)
    return page(language.code, title, "\n".join(body))


def _link(words: str, target: str) -> str:
    return f'<a href="{escaped(target)}">{escaped(words)}</a>'
