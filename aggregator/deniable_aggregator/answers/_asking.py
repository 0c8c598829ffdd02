"""Rows that are asked for by name: quantiles and the shares of ranges, as keys and as numbers.

p37.5          the quantile that 37.5% of the devices are below
below 200      the share of devices below 200
above 2000     the share of devices at 2000 or above
200 to 2000    the share of devices from 200 up to 2000
"""

from __future__ import annotations

import math
import re

__all__ = ["QUANTILES", "SHARES", "number", "quantile", "quantile_key", "share_key", "share_range"]

QUANTILES, SHARES = "quantiles", "shares"
"""The series that have them."""

_QUANTILE = re.compile(r"p(\d{1,3}(?:\.\d{1,6})?)")
_NUMBER = r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_SHARE = re.compile(rf"(?:below {_NUMBER}|above {_NUMBER}|{_NUMBER} to {_NUMBER})")


def number(value: float) -> str:
    """A number as keys have it."""
    return f"{value + 0.0:.10g}"  # -0.0 becomes 0.0


def quantile_key(share: float) -> str:
    """The key of a quantile, such as 0.375; a ValueError where there is none."""
    if not 0 < share < 1:
        raise ValueError(f"a quantile is that of a share between 0 and 1, not {share}")
    key = f"p{round(100 * share, 6):.10g}"
    quantile(key)
    return key


def quantile(key: str) -> float:
    """The share of devices below a quantile; a ValueError where the key is of none."""
    found = _QUANTILE.fullmatch(key)
    share = float(found[1]) / 100 if found else 0.0
    if not 0 < share < 1:
        raise ValueError(f"a quantile is p and a percentage between 0 and 100, such as p50 or p99.9, not {key!r}")
    return share


def share_key(above: float | None = None, below: float | None = None) -> str:
    """The key of the share of a range that has one end, or two; a ValueError where it is none."""
    ends = [end for end in (above, below) if end is not None]
    if not ends or not all(math.isfinite(end) for end in ends):
        raise ValueError("a share is of what is above a number, below one, or between two")
    if above is None or below is None:
        return f"above {number(ends[0])}" if below is None else f"below {number(ends[0])}"
    key = f"{number(above)} to {number(below)}"
    share_range(key)
    return key


def share_range(key: str) -> tuple[float, float]:
    """The ends of a range, infinite where it has none; a ValueError where the key is of none."""
    found = _SHARE.fullmatch(key)
    if found is None:
        raise ValueError(f'a share is "above 200", "below 200" or "200 to 2000", not {key!r}')
    below, above, start, end = (None if text is None else float(text) for text in found.groups())
    low = above if above is not None else start if start is not None else -math.inf
    high = below if below is not None else end if end is not None else math.inf
    if not low < high:
        raise ValueError(f"a range goes up, and {key!r} does not")
    return low, high
