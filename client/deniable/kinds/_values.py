"""Values as applications hand them over: exact numbers and texts out of them, and words for what is refused.

A subclass of a number or a text (of numpy, of an enum) can compare, convert and print itself as it likes. What is
kept is what it holds, as the plain type; nothing of it is asked after that. A class that only says that it is another
one is not believed.
"""

from __future__ import annotations

from typing import Any

__all__ = ["real", "shown", "text", "whole"]

_SHOWN = 200


def whole(value: Any) -> int | None:
    """The value as a whole number; None for what is none, truth values included."""
    given = type(value)
    return int.__int__(value) if issubclass(given, int) and given is not bool else None


def real(value: Any) -> int | float | None:
    """The value as a number; None for what is none."""
    return float.__float__(value) if issubclass(type(value), float) else whole(value)


def text(value: Any) -> str | None:
    """The value as a text; None for what is none."""
    return str.__str__(value) if issubclass(type(value), str) else None


def shown(value: Any) -> str:
    """The value as Python writes it, if it can and not at any length."""
    try:
        written = repr(value)
    except Exception:  # noqa: BLE001 - whatever it does, and a whole number of thousands of digits
        return f"a {type(value).__name__}"
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}..."
