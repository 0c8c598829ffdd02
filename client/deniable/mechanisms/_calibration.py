"""How much Gaussian noise an (epsilon, delta) needs: the analytic calibration, rounded to the safe side.

words:
  deviation   of the noise, in units of the sensitivity: how far two answers lie apart at most
  exposure    the least delta of Gaussian noise: the most by which P(out in R | a) exceeds e^eps P(out in R | b)

At deviation s the exposure is P(N > eps s - 1/(2s)) - e^eps P(N > eps s + 1/(2s)), for a standard normal N; it falls
with s. (Balle and Wang, ICML 2018, arXiv 1805.06530.) The textbook's s = sqrt(2 ln(1.25 / delta)) / eps is larger
than it has to be up to epsilon 1, and too small from some larger epsilon on.

Every step is a decimal of 120 digits, correctly rounded: two machines find the same deviation. What rounding can
do, less than 1e-80, is added to the exposure.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

__all__ = ["deviation", "exposure", "longest"]

_PRECISE = Context(prec=120)
_ROUNDING = Decimal("1e-80")
_NEGLIGIBLE = Decimal("1e-118")
_FAR = 20
"""Beyond so many deviations lies less than 1e-88: nothing is said to lie there, and the rounding covers it."""
_STEP = 1 << 24
"""A deviation is a multiple of 1 / _STEP."""


def exposure(ratio: Fraction, deviation: Fraction) -> Fraction:
    """At least the exposure for ratio = e^eps, and at most 1e-79 more."""
    with localcontext(_PRECISE):
        spread, grown = _decimal(deviation), _decimal(ratio)
        middle, half = grown.ln() * spread, 1 / (2 * spread)
        return Fraction(_tail(middle - half) - grown * _tail(middle + half) + _ROUNDING)


@lru_cache(maxsize=64)
def deviation(ratio: Fraction, delta: Fraction) -> Fraction:
    """The least deviation whose exposure is at most delta for ratio = e^eps."""
    low, high = 0, _STEP
    while exposure(ratio, Fraction(high, _STEP)) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = low + high >> 1
        low, high = (low, middle) if exposure(ratio, Fraction(middle, _STEP)) <= delta else (middle, high)
    return Fraction(high, _STEP)


def longest(dimensions: int) -> Fraction:
    """How great chi-square of so many degrees of freedom is at most, but for a chance of 2^-40.

    The least multiple of 1 / 1024 of the dimensions at which Chernoff's bound says so.
    """
    with localcontext(_PRECISE):
        wanted = 80 * Decimal(2).ln() / dimensions  # r - 1 - ln r at the ratio r, which rises from r = 1 on
        low, high = 1024, 2048
        while Decimal(high) / 1024 - 1 - (Decimal(high) / 1024).ln() < wanted:
            low, high = high, 2 * high
        while high - low > 1:
            middle = low + high >> 1
            ratio = Decimal(middle) / 1024
            low, high = (low, middle) if ratio - 1 - ratio.ln() >= wanted else (middle, high)
    return Fraction(high * dimensions, 1024)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / number.denominator


def _tail(bound: Decimal) -> Decimal:
    """P(N > bound): 1/2 - density(x) (x + x^3 / 3 + x^5 / (3 5) + x^7 / (3 5 7) + ...), positive terms only."""
    size = abs(bound)
    if size > _FAR:
        upper = Decimal(0)
    else:
        term = total = size
        odd = 1
        while term > _NEGLIGIBLE * total:
            odd += 2
            term = term * size * size / odd
            total += term
        upper = Decimal("0.5") - (-size * size / 2).exp() / _root() * total
    return upper if bound >= 0 else 1 - upper


@lru_cache(maxsize=1)
def _root() -> Decimal:
    """sqrt(2 pi): a tenth of the sum of e^(-j^2 / 200) over all integers j, which by Poisson's formula is that but
    for a part of 2 e^(-200 pi^2), and of which 250 terms leave out less than 1e-134."""
    with localcontext(_PRECISE):
        return (1 + 2 * sum(((Decimal(-j * j) / 200).exp() for j in range(1, 251)), Decimal(0))) / 10
