"""Discrete Laplace noise on a public grid, with one support for all inputs, from a constant number of coins.

words:
  steps        inputs are the grid points 0 to `steps`
  sensitivity  how far two answers that are to be confused can lie apart; all of the grid, unless each event is hidden
  alpha        e^(-eps / sensitivity): the noise D has P(d) = (1 - alpha) / (1 + alpha) alpha^|d|
  digit        a binary digit of |D| - 1, a geometric variable; its digits are independent coins
  reach        outputs are clamped to [-reach, steps + reach]

**Sampling.** D is 0 with probability (1 - alpha) / (1 + alpha), otherwise a fair sign times 1 + G with
P(G = g) proportional to alpha^g. Digit k of G is 1 with probability 1 / (1 + alpha^(-2^k)), independently of the
others: L coins, and for what is beyond 2^L one more that shows heads with probability alpha^(2^L) < e^-40, and is
thrown again after heads. A coin for zero, a sign and L + 1 coins, whatever comes out. (The rejection sampler of
Canonne, Kamath and Steinke, arXiv 2004.00010, draws the same noise, but takes a time that tells its size.)

**Privacy.** Every integer can be the noise, so that clamping, which only processes the output, leaves one support.
A threshold t of 256 bits is off by a factor of at most 1 + 1/t; the rarest coin has t >= 2^140, and the ratio of two
outputs' probabilities meets each coin twice at most. `_SLACK` pays for all of it: the channel is built for
eps (1 - 2^-64). The tests prove the ratio in rationals, over whole channels.

**Bias.** Clamping moves the mean by less than e^-40 / (1 - alpha) steps: nothing that any number of reports shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.epsilon import Epsilon, exp_lower
from deniable.mechanisms._mechanism import Mechanism
from deniable.payload import Integer
from deniable.randomness import FINE, FineCoin, word

__all__ = ["Laplace"]

_SLACK = 1 - Fraction(1, 1 << 64)
_DEEP = 40
"""What happens with probability e^-_DEEP is left to the last coin, and to the clamps."""


@dataclass(frozen=True, slots=True)
class Laplace(Mechanism):
    """Adds discrete Laplace noise of scale sensitivity / epsilon."""

    name: ClassVar[str] = "laplace"

    epsilon: Epsilon
    steps: int
    """The highest grid point."""
    sensitivity: int = 0
    """The largest difference between two answers that are to be confused; 0 stands for `steps`."""
    inputs: int = field(init=False)
    rate: Fraction = field(init=False)
    """-ln alpha: the epsilon that one step of the grid is built for."""
    zero: FineCoin = field(init=False)
    """Heads: no noise."""
    digits: tuple[FineCoin, ...] = field(init=False)
    """The digits, least significant first."""
    beyond: FineCoin = field(init=False)
    """Heads: 2^L more, and once again."""
    reach: int = field(init=False)
    """How far outputs can lie outside of the grid."""

    def __post_init__(self) -> None:
        sensitivity = self.sensitivity or self.steps
        if not 1 <= sensitivity <= self.steps:
            raise ValueError(f"a sensitivity lies between 1 and the {self.steps} steps, not at {sensitivity}")
        rate = self.epsilon.floor * _SLACK / sensitivity
        digits: list[FineCoin] = []
        while rate * (1 << len(digits)) < _DEEP:
            digits.append(FineCoin.of(1 / (1 + exp_lower(rate * (1 << len(digits))))))
        grown = exp_lower(rate)
        for name, value in (
            ("sensitivity", sensitivity),
            ("inputs", self.steps + 1),
            ("rate", rate),
            ("zero", FineCoin.of((grown - 1) / (grown + 1))),
            ("digits", tuple(digits)),
            ("beyond", FineCoin.of(1 / exp_lower(rate * (1 << len(digits))))),
            ("reach", int(-(-_DEEP // rate))),
        ):
            object.__setattr__(self, name, value)
        try:
            _ = self.shape
        except ValueError as error:
            raise ValueError(
                f"noise over {self.steps} steps at epsilon {self.epsilon} does not fit 32 bits: take a larger step"
            ) from error

    @property
    def shape(self) -> Integer:
        """An integer: the output, counted from the lowest."""
        return Integer(self.steps + 2 * self.reach + 1)

    @property
    def lowest(self) -> int:
        """The grid point that payload 0 stands for."""
        return -self.reach

    @property
    def alpha(self) -> float:
        """The ratio of the noise's probabilities one step apart."""
        return float(1 / exp_lower(self.rate))

    @property
    def variance(self) -> float:
        """Of the noise, in steps squared: 2 alpha / (1 - alpha)^2, written so that no difference cancels."""
        return 0.5 / math.sinh(float(self.rate) / 2) ** 2

    def randomize(self, value: int) -> int:
        """The value with noise, clamped, counted from the lowest."""
        size = weight = 1
        for digit in self.digits:
            size += weight * digit.toss()
            weight += weight
        while self.beyond.toss():
            size += weight
        sign = 1 - 2 * (word() & 1)
        noise = sign * size * (not self.zero.toss())
        reach = self.reach
        return min(max(value + noise, -reach), self.steps + reach) + reach

    def noise(self, size: int) -> Fraction:
        """P(D = size), exactly."""
        zero = Fraction(self.zero.threshold, FINE)
        if size == 0:
            return zero
        rest = abs(size) - 1
        often, beyond = rest >> len(self.digits), Fraction(self.beyond.threshold, FINE)
        product = 1
        for place, digit in enumerate(self.digits):
            product *= digit.threshold if rest >> place & 1 else FINE - digit.threshold
        return (1 - zero) / 2 * beyond**often * (1 - beyond) * Fraction(product, FINE ** len(self.digits))

    def tail(self, size: int) -> Fraction:
        """P(D >= size) for a size above 0, exactly: the rest of its block of 2^L, and all blocks after it."""
        block = 1 << len(self.digits)
        often = (size - 1) // block
        own = sum((self.noise(d) for d in range(size, (often + 1) * block + 1)), Fraction(0))
        zero, beyond = (Fraction(coin.threshold, FINE) for coin in (self.zero, self.beyond))
        return own + (1 - zero) / 2 * beyond ** (often + 1)

    def probability(self, payload: int, value: int) -> Fraction:
        """The noise that leads there; at the two ends, all that leads there or beyond."""
        size = payload + self.lowest - value
        if payload in {0, self.shape.size - 1}:
            return self.tail(abs(size))
        return self.noise(size)

    def payloads(self) -> Iterator[int]:
        """All of the clamped range."""
        return iter(range(self.shape.size))

    def parameters(self) -> dict[str, int]:
        """The range, and all thresholds."""
        digits = {f"digit_{place}": digit.threshold for place, digit in enumerate(self.digits)}
        ends = {"steps": self.steps, "reach": self.reach}
        return ends | {"zero": self.zero.threshold, "beyond": self.beyond.threshold} | digits
