"""How answers look in a terminal: tables, bars with their interval, progress."""

from __future__ import annotations

import math
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from textwrap import fill
from typing import TYPE_CHECKING, Any, TextIO

from deniable_aggregator.answers import Measure
from deniable_aggregator.telling import digits
from deniable_aggregator.telling.change_tables import Changes
from deniable_aggregator.telling.counters import CounterTable
from deniable_aggregator.telling.tables import Table, with_unit

if TYPE_CHECKING:
    from deniable_aggregator.telling.explaining import Explanation, Step

__all__ = [
    "DRAWN", "Progress", "bar", "changes", "counters", "drawn_over", "ends_of", "estimates", "explanation",
    "histogram", "redrawn", "table", "windows",
]  # fmt: skip

_BAR = 24
DRAWN = {("curve", "share"), ("histogram", "share")}
"""The series of distributions that are not told row by row."""
_WORDS = 100
_STEPS = ("", "epsilon", "but for a chance of", "at least", "at most", f"{'0%':<{_BAR - 4}}100%")
_DRAWING, _LINES, _EIGHTHS = 64, 6, " ▁▂▃▄▅▆▇█"


def estimates(found: Table, *, raw: bool = False) -> str:
    """Answers as a table, each interval as a line with the value on it; below it what is to be said of them. Numbers
    are cut to what is possible, and those that are too few to tell are not told; or all as they came out, `raw`."""
    share = next((row["fakes"] for row in found if row["fakes"]), None)
    besides = (f"without {100 * share:.4g}% fakes",) if share else ()
    header = ("answer", "estimate", "interval", "", "reports", *besides)
    as_is = ({**row, "text": row["raw_text"], "cut": None, "too_few": False} for row in found)
    every = as_is if raw else found
    told = [row for row in every if (row["series"], row["measure"]) not in DRAWN]
    named = {(row["metric"], row["key"], row["series"]) for row in told if row["measure"] == "quantity"}
    often = Counter((metric, key) for metric, key, _ in named)
    drawn: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in found:
        if row["series"] == "histogram" and row["measure"] == "share":
            drawn.setdefault((row["metric"], row["segment"], row["start"]), []).append(row)
    histograms = [histogram(rows) for rows in drawn.values()]
    notes = dict.fromkeys(f"{row['metric']}: {row['note']}" for row in found if row["note"])
    return "\n".join(
        [
            table(header, [_estimate(row, often) for row in told], (False, True, True, False, True, True)),
            *notes,
            *histograms,
            *(f"from {own}" for own in windows(found)),
        ]
    )


def counters(found: CounterTable) -> str:
    """Raw counters as a table; below it the window."""
    rows = [(row["metric"], str(row["column"]), row["meaning"], f"{row['count']:,}") for row in found]
    told = table(("metric", "column", "what is counted", "count"), rows, (False, True, False, True))
    notes = dict.fromkeys(row["note"] for row in found if row["note"])
    return "\n".join([told, *notes, *(f"from {own}" for own in windows(found))])


def windows(found: Table, which: str = "") -> list[str]:
    """The windows that rows are about, each as it could be asked for."""
    both = dict.fromkeys((row[f"{which}start"], row[f"{which}end"]) for row in found)
    return [f"{first} to {last}, UTC" for first, last in (ends_of(*own) for own in both)]


def ends_of(start: datetime, end: datetime) -> tuple[str, str]:
    """The first and the last day of a window; of one of hours, its first and last hour."""
    if start.hour or end.hour or end - start < timedelta(days=1):
        return f"{start:%Y-%m-%dT%H:00}", f"{end - timedelta(hours=1):%Y-%m-%dT%H:00}"
    return f"{start:%Y-%m-%d}", f"{end - timedelta(days=1):%Y-%m-%d}"


def histogram(rows: Sequence[dict[str, Any]]) -> str:
    """Shares of parts of a range as bars, each in eighths of a line; below them where the range begins and ends."""
    values = [max(row["value"] or 0.0, 0.0) for row in rows]
    most = max(values)
    wide = max(_DRAWING // len(rows), 1)
    eighths = [round(8 * _LINES * value / most) if most else 0 for value in values]
    lines = []
    for line in range(_LINES - 1, -1, -1):
        cells = "".join(wide * _EIGHTHS[min(max(each - 8 * line, 0), 8)] for each in eighths)
        lines.append(f"  {cells}".rstrip())
    start, end = rows[0]["key"].split(" to ")[0], rows[-1]["key"].split(" to ")[-1]
    unit = f" {rows[0]['unit']}" if rows[0]["unit"] else ""
    axis = f"{start}{unit}".ljust(wide * len(rows) - len(end)) + end
    return "\n".join([f"\n{rows[0]['metric']}: {len(rows)} parts, the largest {most:.1%}", *lines, f"  {axis}"])


def _estimate(row: dict[str, Any], often: Mapping[tuple[str, str], int]) -> tuple[str, ...]:
    """A line; a key that several series of quantities have is told with that of the row."""
    share = row["measure"] == "share"
    least, most = drawn_over(row)
    known = bool(row["low_text"])  # a p-value has no interval
    value = row["value"] if row["cut"] is None else row["cut"]
    of = f"{row['series']} of " if often.get((row["metric"], row["key"]), 0) > 1 and not share else ""
    return (
        f"{row['metric']}: {of}{row['key']}",
        with_unit(row),
        f"{row['low_text']} to {row['high_text']}" if known else "–",
        bar(None if row["too_few"] else value, row["low"], row["high"], least, most) if known else "",
        f"{row['reports']:,}",
        *((f"{row['fakes_low_text']} to {row['fakes_high_text']}",) if row["fakes"] else ()),
    )


def drawn_over(row: dict[str, Any]) -> tuple[float, float]:
    """From where to where a line goes that a row's interval is drawn on."""
    if row["measure"] == "share":
        return 0.0, 1.0
    # An interval without an upper end runs out of the line.
    seen = row["high"] if math.isfinite(row["high"]) else max(row["value"] or 0.0, row["low"])
    around = seen - row["low"]
    return row["low"] - around, seen + around


def changes(found: Changes) -> str:
    """Comparisons as a table; below it what is to be said of them."""
    header = ("answer", "before", "after", "difference", "interval", "ratio", "p-value", "found")
    notes = dict.fromkeys(f"{row['metric']}: {row['note']}" for row in found if row["note"])
    right = (False, True, True, True, True, True, True, False)
    spans = [f"from {own}" for own in windows(found)] + [f"compared with {own}" for own in windows(found, "before_")]
    return "\n".join([table(header, [_changed(row) for row in found], right), *notes, *spans])


def _changed(row: dict[str, Any]) -> tuple[str, ...]:
    ratio = "–"
    if row["ratio"] is not None:
        ratio = f"{row['ratio']:.3g} ({row['ratio_low']:.3g} to {row['ratio_high']:.3g})"
    name = row["key"] if row["key"] == row["series"] or row["measure"] == "share" else f"{row['series']} {row['key']}"
    return (
        f"{row['metric']}: {name}",
        row["before_text"],
        row["after_text"],
        with_unit(row),
        f"{row['low_text']} to {row['high_text']}".replace(" points", ""),
        ratio,
        "–" if row["p_value"] is None else f"{row['p_value']:.2g}",
        "new" if row["new"] else "yes" if row["found"] else "no",
    )


def explanation(found: Explanation, formulas: Sequence[str]) -> str:
    """An explanation: of each part the words and then the picture, the formulas last."""
    lines = [f"{found.name}: {found.question}"]
    for part in found.parts:
        lines += [f"\n{part.title}\n", fill(" ".join(part.sentences), _WORDS)]
        if rows := [_step(step, found.prior) for step in part.steps]:
            lines += ["", table(_STEPS, rows, (False, True, True, True, True, False))]
    told = (fill(formula, _WORDS, initial_indent="- ", subsequent_indent="  ") for formula in formulas)
    return "\n".join([*lines, "\nFormulas\n", *told])


def _step(step: Step, prior: float) -> tuple[str, ...]:
    """A line; where the prior is not left possible, the dot is what it becomes."""
    return (
        step.what,
        "no limit"
        if step.epsilon is None
        else f"{step.epsilon:,.0f}"
        if step.epsilon >= 1000
        else f"{step.epsilon:.4g}",
        f"{step.exceeded:.1g}" if step.exceeded else "",
        digits.text(step.least, Measure.SHARE, 2),
        digits.text(step.most, Measure.SHARE, 2),
        bar(prior if step.least <= prior <= step.most else step.most, step.least, step.most, 0.0, 1.0),
    )


def redrawn(text: str) -> str:
    """In place of what a terminal shows; below it, in a log."""
    return f"\x1b[H\x1b[2J{text}" if sys.stdout.isatty() else f"{text}\n"


def bar(value: float | None, low: float, high: float, least: float, most: float) -> str:
    """The interval as a line, the value as a dot on it, between the least and the most that is possible."""
    if value is None or math.isnan(value) or most <= least:
        return "·" * _BAR

    def place(number: float) -> int:
        return round(min(max((number - least) / (most - least), 0), 1) * (_BAR - 1))

    cells = [" "] * _BAR
    for cell in range(place(low), place(high) + 1):
        cells[cell] = "─"
    cells[place(value)] = "●"
    return "".join(cells)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Columns as wide as what is in them; those marked `right` are aligned to the right."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def laid(line: Sequence[str]) -> str:
        cells = zip(line, widths, right, strict=False)
        return "  ".join(cell.rjust(width) if end else cell.ljust(width) for cell, width, end in cells).rstrip()

    rule = "─" * min(sum(widths) + 2 * (len(widths) - 1), shutil.get_terminal_size((120, 24)).columns)
    return "\n".join([laid(header), rule, *map(laid, rows)])


class Progress:
    """Says on standard error how far a long piece of work is: a line that moves, or a line every tenth in a log."""

    def __init__(self, what: str, total: int, stream: TextIO | None = None) -> None:
        self._what = what
        self._total = max(total, 1)
        self._stream = stream or sys.stderr
        self._shown = -1

    def __call__(self, done: int) -> None:
        """So much is done."""
        live = self._stream.isatty()
        step = done * (100 if live else 10) // self._total
        if step == self._shown:
            return
        self._shown = step
        text = f"{self._what}: {done:,} of {self._total:,}"
        self._stream.write(f"\r{text}" if live else f"{text}\n")
        if live and done >= self._total:
            self._stream.write("\n")
        self._stream.flush()
