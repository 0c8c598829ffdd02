"""Values as applications hand them over: exact numbers and texts out of them, and words for what is refused.

A subclass of a number or a text (of numpy, of an enum) can compare, convert and print itself as it likes. What is
kept is what it holds, as the plain type; nothing of it is asked after that. A class that only says that it is another
one is not believed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

__all__ = ["check_range", "finite", "real", "shown", "text", "whole"]

_SHOWN = 200
_LARGEST = 1e300
"""No larger number is taken: the sum of a whole epoch's values stays finite."""
_DISTINCT = 1 << 20
"""The size of a range is told by its ends to one part in this, or the range is refused."""


def whole(value: Any) -> int | None:
    """The value as a whole number; None for what is none, truth values included."""
    if type(value) is int:
        return value
    return int.__int__(value) if issubclass(type(value), int) and type(value) is not bool else None


def real(value: Any) -> int | float | None:
    """The value as a number; None for what is none."""
    return float.__float__(value) if issubclass(type(value), float) else whole(value)


def finite(value: Any) -> float | None:
    """The value as a number of a quantity, up to 1e300 in size; None for what is none."""
    number = real(value)
    return None if number is None or not abs(number) <= _LARGEST else float(number)


def check_range(low: Fraction, high: Fraction) -> None:
    """A ValueError says what is wrong with the ends of a range."""
    if not low < high:
        raise ValueError(f"must go up: {float(low):g} is not below {float(high):g}")
    size, told = high - low, Fraction(float(high)) - Fraction(float(low))
    if abs(told - size) * _DISTINCT > size:
        raise ValueError(f"is too narrow for numbers near {float(low):g}: they have 53 bits")


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
