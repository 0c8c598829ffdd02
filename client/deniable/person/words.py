"""Plain words: texts, days and tables as they can be shown to anybody, whoever wrote what they are made of."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

__all__ = ["command", "counted", "day", "laid_out", "plain", "spent", "when"]

_MOST = 2000
_DAY = 86400
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def plain(text: object, most: int = _MOST) -> str:
    """A text in which nothing but signs that are printed is left as it is: the others are spelt out, in one line.

    A terminal does what control signs say, and others turn the order of reading; of a long text the rest is left out.
    """
    whole = str(text)
    shown = "".join(sign if sign.isprintable() else _spelt(sign) for sign in whole[:most])
    return shown if len(whole) <= most else f"{shown}... ({len(whole):,} signs)"


def _spelt(sign: str) -> str:
    return sign.encode("unicode_escape", "backslashreplace").decode("ascii")


def command(path: Path) -> str:
    """What is to be typed to have a file looked at, before the command's own word."""
    return plain(f"python -m deniable {shlex.quote(str(path))}")


def counted(number: int, one: str, many: str = "") -> str:
    """So many of something."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def spent(epsilon: float, delta: float = 0.0) -> str:
    """What something cost."""
    return f"epsilon {epsilon:.6g}" + (f" and delta {delta:.3g}" if delta else "")


def day(seconds: float) -> str:
    """A day, in the time of Greenwich, by which epochs are counted."""
    return f"{_BEGINNING + timedelta(seconds=seconds):%Y-%m-%d}"


def when(start: int, seconds: int) -> str:
    """A span of time: an hour, a day, a week, or everything before a day."""
    if start == 0:
        return f"before {day(seconds)}"
    if seconds < _DAY:
        return f"{_BEGINNING + timedelta(seconds=start):%Y-%m-%d %H:%M} UTC"
    return day(start) if seconds == _DAY else f"{day(start)} to {day(start + seconds - _DAY)}"


def laid_out(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """A table's lines; columns marked `right` are aligned to the right."""
    lines = [header, ["-" * len(word) for word in header], *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def laid(line: Sequence[str]) -> str:
        cells = zip(line, widths, right, strict=True)
        return "  ".join(cell.rjust(width) if end else cell.ljust(width) for cell, width, end in cells).rstrip()

    return [laid(line) for line in lines]
