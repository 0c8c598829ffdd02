"""The exponential function between two rationals, proven: an arithmetic of its own, so that no proof leans on the
code that it is about.

Taylor's series of a positive argument has positive terms only. Every term is carried twice, rounded down and
rounded up; what is cut off is less than a geometric series of the last term.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

__all__ = ["exp_between"]

_SCALE = 1 << 512


@lru_cache(maxsize=4096)
def exp_between(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Two rationals with e^exponent between them, less than one part in 2^400 apart, for 0 <= exponent <= 100."""
    if not 0 <= exponent <= 100:
        raise ValueError(f"the bounds hold from 0 to 100, not at {exponent}")
    low = high = low_sum = high_sum = _SCALE
    order = 0
    while high > 1 or order < 2 * exponent:  # from here on every term is at most half of the one before
        order += 1
        low = low * exponent.numerator // (exponent.denominator * order)
        high = -(-high * exponent.numerator // (exponent.denominator * order))
        low_sum += low
        high_sum += high
    return Fraction(low_sum, _SCALE), Fraction(high_sum + 2 * high, _SCALE)
