"""One metric's rows on a page: a table a series, each row with its interval as a line, and no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from deniable_aggregator.notice import Language, escaped
from deniable_aggregator.telling.tables import with_unit
from deniable_aggregator.telling.terminal import DRAWN, drawn_over, ends_of

__all__ = ["answers"]

_MOST = 12
"""So many rows of a series are shown."""
_Row = dict[str, Any]


def answers(language: Language, rows: Sequence[_Row]) -> Iterator[str]:
    """The parts of a page about one metric's answer."""
    if not rows or not rows[0]["reports"]:
        yield f"<p>{escaped(language('site.empty'))}</p>"
        return
    start, end = ends_of(rows[0]["start"], rows[0]["end"])
    reports = language.number(rows[0]["reports"])
    yield f"<p>{escaped(language('site.devices', reports=reports, start=start, end=end))}</p>"
    shown = [row for row in rows if (row["series"], row["measure"]) not in DRAWN]
    series = [(name, list(found)) for name, found in groupby(shown, lambda row: row["series"])]
    for name, found in series:
        yield from _table(language, name if len(series) > 1 else "", found)
    for note in dict.fromkeys(row["note"] for row in rows if row["note"]):
        yield f"<p>{escaped(note)}</p>"


def _table(language: Language, series: str, rows: list[_Row]) -> Iterator[str]:
    largest = sorted(rows, key=lambda row: -(row["value"] or 0.0))[:_MOST]
    kept = rows if len(rows) <= _MOST else largest
    heads = (("answer", ""), ("estimate", ' class="number"'), ("interval", ' class="number"'))
    top = "".join(f'<th scope="col"{sort}>{escaped(language(f"site.{name}"))}</th>' for name, sort in heads)
    yield "<table>"
    if series:
        yield f"<caption>{escaped(series)}</caption>"
    yield f"<tr>{top}</tr>"
    yield from (_line(language, row) for row in kept)
    yield "</table>"
    if len(kept) < len(rows):
        left = language("site.rows_left", count=len(kept), all=language.number(len(rows)))
        yield f"<p>{escaped(left)}</p>"


def _line(language: Language, row: _Row) -> str:
    estimate = language("site.few") if row["too_few"] else language.digits(with_unit(row))
    low, high = (language.digits(row[name]) for name in ("low_text", "high_text"))
    interval = language("form.span", low=low, high=high) if row["low_text"] else "–"
    bar = _bar(row) if row["low_text"] else ""
    return (
        f'<tr><th scope="row">{escaped(row["key"])}{bar}</th><td class="number">{escaped(estimate)}</td>'
        f'<td class="number">{escaped(interval)}</td></tr>'
    )


def _bar(row: _Row) -> str:
    """The interval as a line on all that is drawn, with the estimate on it; the numbers stand beside it."""
    least, most = drawn_over(row)
    if most <= least:
        return ""

    def place(value: float) -> float:
        return round(100 * (min(max(value, least), most) - least) / (most - least), 2)

    low, high = place(row["low"]), place(row["high"])
    mark = ""
    if row["value"] is not None:
        at = row["value"] if row["cut"] is None else row["cut"]
        mark = f'<rect class="truth" x="{min(place(at), 99.0)}%" y="0" width="1%" height="100%"/>'
    line = f'<rect class="all" x="{low}%" y="25%" width="{round(max(high - low, 0.5), 2)}%" height="50%"/>'
    return f'<svg aria-hidden="true" focusable="false">{line}{mark}</svg>'
