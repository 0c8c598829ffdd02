"""Epsilon, exactly: what a device pays for an answer, and the ratio of probabilities that it buys.

words:
  epsilon   the privacy cost of an answer: P(out | a) <= e^epsilon P(out | b) for any two answers a and b
  value     epsilon as a rational; what the ledger charges
  exp       a rational that is at most e^value; what mechanisms are built from

`epsilon = 1.0` in a collection file is the rational 1, not the nearest double; `epsilon = "ln 3"` is the cost of
the two-coin survey, whose ratio is exactly 3. Only rationals go further, so that two machines build the same
thresholds and a test can prove the ratio.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

__all__ = ["Epsilon", "exp_lower", "rational"]

LIMIT = 32
"""No larger epsilon is accepted: e^32 to one is no deniability in any sense."""
LEAST = Fraction(1, 10**6)
"""No smaller epsilon is accepted: its answers would tell something in fleets of 10^12 devices only."""

_EXP_BITS = 256
_LN = re.compile(r"ln\s*(\()?\s*(\d+(?:\.\d+|/0*[1-9]\d*)?)\s*(?(1)\))")
_LN_STEP = Fraction(1, 10**12)
_MOST_DIGITS = 300


@lru_cache(maxsize=1024)  # a collection asks for a few exponents, each of them dozens of times
def exp_lower(exponent: Fraction) -> Fraction:
    """A rational at most e^exponent, and less than one part in 2^240 below it, for 0 <= exponent <= 100.

    Every term of the Taylor series is rounded down and the series is cut off: both only lower the sum. The
    exponent is halved until it is at most 1, and the sum squared as often, rounded down each time.
    """
    if exponent < 0:
        raise ValueError(f"exp_lower takes no negative exponent, {exponent}")
    halvings = max(0, (exponent.numerator // exponent.denominator).bit_length())
    numerator, denominator = exponent.numerator, exponent.denominator << halvings
    bits = _EXP_BITS + 4 * halvings
    term = total = 1 << bits
    order = 0
    while term:
        order += 1
        term = term * numerator // (denominator * order)
        total += term
    for _ in range(halvings):
        total = total * total >> bits
    return Fraction(total, 1 << bits)


def rational(value: float | Decimal | Fraction) -> Fraction:
    """The number as written: a decimal stays the decimal, a float becomes the shortest decimal that reads back."""
    if isinstance(value, bool):
        raise TypeError("a truth value is no number")
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"must be finite, not {value}")
    # 1e999999999 is refused before it becomes a billion digits, and whatever passes can become a float later.
    extent = value.adjusted() if isinstance(value, Decimal) and value else 0
    if abs(extent) >= _MOST_DIGITS or abs(value) >= 10**_MOST_DIGITS:
        raise ValueError(f"must lie between 1e-{_MOST_DIGITS} and 1e{_MOST_DIGITS} in size")
    return Fraction(value)


@dataclass(frozen=True, slots=True)
class Epsilon:
    """What an answer costs, with a certified lower bound on e^epsilon."""

    value: Fraction
    """The cost; for a logarithm rounded up, by less than 1e-12."""
    exp: Fraction
    """A rational at most e^value, and within one part in 2^240 of it; exact for a logarithm."""
    text: str
    """As it is written in a collection file."""

    def __post_init__(self) -> None:
        _check_cost(self.value, self.text)
        if not 1 < self.exp <= exp_lower(self.value):
            raise ValueError(f"an epsilon of {self.text} does not pay for a ratio of {float(self.exp):g}")

    @classmethod
    def of(cls, value: float | Decimal | Fraction | str | Epsilon) -> Epsilon:
        """The epsilon of a number, or of a logarithm written as "ln 3" or "ln(3/2)"."""
        if isinstance(value, Epsilon):
            return value
        if isinstance(value, str):
            return cls._of_logarithm(value)
        cost = rational(value)
        text = _text(cost)
        _check_cost(cost, text)
        return cls(cost, exp_lower(cost), text)

    @classmethod
    def _of_logarithm(cls, text: str) -> Epsilon:
        match = _LN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f'must be a number or a logarithm such as "ln 3", not {text!r}')
        odds = Fraction(match.group(2))
        if odds <= 1:
            raise ValueError(f"must be greater than 0, not {text!r}")
        low, high = 0, int((LIMIT + 1) / _LN_STEP)
        while high - low > 1:  # the least number of steps whose exponential is certainly enough
            middle = (low + high) // 2
            low, high = (low, middle) if exp_lower(middle * _LN_STEP) >= odds else (middle, high)
        return cls(high * _LN_STEP, odds, f"ln {odds}")

    @property
    def floor(self) -> Fraction:
        """The logarithm of exp, rounded down: what a mechanism divides that can not be built from exp itself."""
        return self.value - _LN_STEP if self.text.startswith("ln") else self.value

    def part(self, parts: int) -> Epsilon:
        """The epsilon of each of so many equal parts."""
        if parts == 1:
            return self
        return Epsilon.of(self.floor / parts)

    def __hash__(self) -> int:
        """Of the text: equal ones are written alike, and a rational of hundreds of bits takes long."""
        return hash(self.text)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return self.text


def _check_cost(cost: Fraction, text: str) -> None:
    if cost <= 0:
        raise ValueError(f"must be greater than 0, not {text}")
    if cost < LEAST:
        raise ValueError(f"must be at least {float(LEAST):g}, not {text}: below it nothing is learnt")
    if cost > LIMIT:
        raise ValueError(f"must be at most {LIMIT}, not {text}: beyond it nothing is deniable")


def _text(value: Fraction) -> str:
    """The shortest exact decimal where there is one, else the fraction."""
    shortest = repr(float(value))
    if Fraction(Decimal(shortest)) == value:
        return shortest.removesuffix(".0")
    return str(value)
