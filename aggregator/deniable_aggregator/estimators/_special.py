"""The special functions that intervals need, of SciPy's: it is loaded with the first that is computed.

To load it takes longer than to load all the rest of an aggregator, and one that is not asked anything needs none.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

__all__ = ["bdtr", "bdtrc", "betaincinv", "chdtrc", "chndtr", "log_ndtr", "ndtri", "stdtrit"]


def bdtr(hits: Any, trials: Any, rate: Any) -> Any:
    """The chance of at most so many hits."""
    from scipy import special

    return special.bdtr(hits, trials, rate)


def bdtrc(hits: Any, trials: Any, rate: Any) -> Any:
    """The chance of more hits."""
    from scipy import special

    return special.bdtrc(hits, trials, rate)


def betaincinv(a: Any, b: Any, level: Any) -> Any:
    """The quantile of a beta distribution."""
    from scipy import special

    return special.betaincinv(a, b, level)


def chdtrc(freedom: Any, value: Any) -> Any:
    """The chance that a sum of so many squares of standard normal numbers is larger."""
    from scipy import special

    return special.chdtrc(freedom, value)


def chndtr(value: Any, freedom: Any, off: Any) -> Any:
    """The chance that one whose numbers are off zero, by so much in squares, is not."""
    from scipy import special

    return special.chndtr(value, freedom, off)


def log_ndtr(number: Any) -> Any:
    """The logarithm of the normal distribution's chance of at most so much."""
    from scipy import special

    return special.log_ndtr(number)


def ndtri(level: Any) -> Any:
    """The quantile of the normal distribution."""
    from scipy import special

    return special.ndtri(level)


@lru_cache(maxsize=256)
def stdtrit(freedom: int, level: float) -> float:
    """The quantile of Student's distribution: asked again for both ends, and for every mean of as many reports."""
    from scipy import special

    return float(special.stdtrit(freedom, level))
