"""How answers look in a terminal: tables, bars with their interval, progress."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

__all__ = ["Progress", "bar", "number", "table"]

_BAR = 24


def number(value: float | None) -> str:
    """A number as people read it: four significant digits, thousands separated; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1 else f"{value:.4f}"


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
        cells = zip(line, widths, right, strict=True)
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
