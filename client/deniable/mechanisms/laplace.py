"""Discrete Laplace noise on a public grid, with one support for all inputs, from a constant number of coins.

words:
  steps        inputs are the grid points 0 to `steps`
  sensitivity  how far two answers that are to be confused can lie apart; all of the grid, unless each event is hidden
  alpha        e^(-eps / sensitivity): the noise D has P(d) = (1 - alpha) / (1 + alpha) alpha^|d|
  digit        a binary digit of |D| - 1, a geometric variable; its digits are independent coins
  overshoot    how far the value with noise lies beyond an end of the grid
  far          M: an overshoot is sent as 0, M or M + 1
  level        what a payload stands for: -M-1, -M, 0, 1, ... `steps`, `steps` + M, `steps` + M + 1
  reach        M + 1: how far levels can lie outside of the grid

**Sampling.** D is 0 with probability (1 - alpha) / (1 + alpha), otherwise a fair sign times 1 + G with
P(G = g) proportional to alpha^g. Digit k of G is 1 with probability 1 / (1 + alpha^(-2^k)), independently of the
others: L coins, and for what is beyond 2^L one more that shows heads with probability alpha^(2^L) < e^-40, and is
thrown again after heads. A coin for zero, a sign, L + 1 coins and a word for the overshoot, whatever comes out. (The
rejection sampler of Canonne, Kamath and Steinke, arXiv 2004.00010, draws the same noise, but takes a time that tells
its size.)

**The overshoot.** Whatever the input, an overshoot O has P(O = k) = (1 - alpha) alpha^k: geometric variables have no
memory. So it says nothing about the input that its side does not, and what is sent in its place need only be right on
average. With c = alpha / (1 - alpha), its mean is c and its mean square c (2c + 1). Of all that have these two, 0 and
2c + 1 (with the chance c / (2c + 1)) reach least far; the latter is no whole number, so it is M = floor(2c + 1), or
M + 1 with the chance phi = M (2c + 1 - M) / (2M - 2c), and all together has the chance c / (M + phi). Thus a report
has exactly the mean and the variance of unbounded noise, and the level that lies farthest out, which a fake device
can send at will, is about 2 / epsilon ranges beyond an end.

**Privacy.** All that is done after the noise is to process the output, and every integer can be the noise: one
support for all inputs. A threshold t of 256 bits is off by a factor of at most 1 + 1/t; the rarest coin has
t >= 2^140, and the ratio of two outputs' probabilities meets each coin twice at most. `_SLACK` pays for all of it:
the channel is built for eps (1 - 2^-64). The tests prove the ratio in rationals, over whole channels. The thresholds
of the overshoot have 64 bits and meet no ratio: they are the same for every input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from deniable.epsilon import Epsilon, exp_lower
from deniable.mechanisms._mechanism import Mechanism
from deniable.payload import Integer
from deniable.randomness import FINE, WORD, FineCoin, word

__all__ = ["Laplace"]

_SLACK = 1 - Fraction(1, 1 << 64)
_DEEP = 40
"""What happens with probability e^-_DEEP is left to the last coin."""


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
    far: int = field(init=False)
    """An overshoot is sent as 0, as this, or as one more."""
    farther: int = field(init=False)
    """The threshold of one more: P = farther / 2^64."""
    away: int = field(init=False)
    """The threshold of either: P = away / 2^64."""

    def __post_init__(self) -> None:
        sensitivity = self.sensitivity or self.steps
        if not 1 <= sensitivity <= self.steps:
            raise ValueError(f"a sensitivity lies between 1 and the {self.steps} steps, not at {sensitivity}")
        rate = self.epsilon.floor * _SLACK / sensitivity
        digits: list[FineCoin] = []
        while rate * (1 << len(digits)) < _DEEP:
            digits.append(FineCoin.of(1 / (1 + exp_lower(rate * (1 << len(digits))))))
        grown = exp_lower(rate)
        far, farther, away = _overshoot(1 / (grown - 1))
        for name, value in (
            ("sensitivity", sensitivity),
            ("inputs", self.steps + 1),
            ("rate", rate),
            ("zero", FineCoin.of((grown - 1) / (grown + 1))),
            ("digits", tuple(digits)),
            ("beyond", FineCoin.of(1 / exp_lower(rate * (1 << len(digits))))),
            ("far", far),
            ("farther", farther),
            ("away", away),
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
        """An integer for each level: three for the overshoots at either end, of which one is the end itself."""
        return Integer(self.steps + 5, self.far - 1)

    @property
    def reach(self) -> int:
        """How far levels can lie outside of the grid."""
        return self.far + 1

    @property
    def lowest(self) -> int:
        """The level of payload 0: what levels are counted from."""
        return -self.reach

    def level(self, payload: int) -> int:
        """The grid point that a payload stands for; at either end, one beyond the grid."""
        return payload - 2 + (self.far - 1) * ((payload > self.steps + 2) - (payload < 2))

    @property
    def alpha(self) -> float:
        """The ratio of the noise's probabilities one step apart."""
        return float(1 / exp_lower(self.rate))

    @property
    def variance(self) -> float:
        """Of the noise, in steps squared: 2 alpha / (1 - alpha)^2, written so that no difference cancels."""
        return 0.5 / math.sinh(float(self.rate) / 2) ** 2

    @property
    def hides_all(self) -> bool:
        """Unless the noise is on the scale of single events."""
        return self.rate * self.steps <= self.epsilon.value

    @property
    def quantity_variance(self) -> Fraction:
        """That of the noise, and a quarter of a step's square for a value halfway between two steps."""
        grown = exp_lower(self.rate)
        return (2 * grown / (grown - 1) ** 2 + Fraction(1, 4)) / self.steps**2

    def place_of(self, payload: int) -> float:
        """Where the level lies."""
        return self.level(payload) / self.steps

    @property
    def collision(self) -> float:
        """That of the noise: ((1 - a) / (1 + a))^2 (1 + a^2) / (1 - a^2), a = e^-rate."""
        half = float(self.rate) / 2
        return -math.log2(math.tanh(half) ** 2 / math.tanh(2 * half))

    def randomize(self, value: int) -> int:
        """The number of the level that the value is with noise."""
        size = weight = 1
        for digit in self.digits:
            size += weight * digit.toss()
            weight += weight
        while self.beyond.toss():
            size += weight
        sign = 1 - 2 * (word() & 1)
        noisy = value + sign * size * (not self.zero.toss())
        drawn, steps = word(), self.steps
        out = (drawn < self.away) + (drawn < self.farther)
        return 2 + min(max(noisy, 0), steps) + out * ((noisy >= steps) - (noisy <= 0))

    def noise(self, size: int) -> Fraction:
        """P(D = size), exactly."""
        return _noise(self._coins, abs(size)) if size else Fraction(self.zero.threshold, FINE)

    def tail(self, size: int) -> Fraction:
        """P(D >= size) for a size above 0, exactly."""
        return _tail(self._coins, size)

    @property
    def _coins(self) -> tuple[int, ...]:
        """The thresholds of all coins: for zero, for what is beyond, and the digits."""
        return self.zero.threshold, self.beyond.threshold, *(digit.threshold for digit in self.digits)

    def probability(self, payload: int, value: int) -> Fraction:
        """The noise that leads there; beyond either end all that leads to the end or beyond, divided in three."""
        inner = min(max(payload - 2, 0), self.steps)
        size = inner - value
        if 0 < inner < self.steps:
            return self.noise(size)
        chance = self.tail(abs(size)) if size else self.tail(1) + self.noise(0)
        out = abs(payload - 2 - inner)
        words = (WORD - self.away, self.away - self.farther, self.farther)[out]
        return chance * Fraction(words, WORD)

    def payloads(self) -> Iterator[int]:
        """A number for each level."""
        return iter(range(self.shape.size))

    def parameters(self) -> dict[str, int]:
        """The range, and all thresholds."""
        digits = {f"digit_{place}": digit.threshold for place, digit in enumerate(self.digits)}
        ends = {"steps": self.steps, "far": self.far, "farther": self.farther, "away": self.away}
        return ends | {"zero": self.zero.threshold, "beyond": self.beyond.threshold} | digits


@lru_cache(maxsize=1024)
def _noise(coins: tuple[int, ...], size: int) -> Fraction:
    """P(D = size) for a size above 0. A channel asks for each size as often as it has inputs, and a fraction of
    thousands of bits takes long."""
    zero, beyond, *digits = coins
    rest = size - 1
    often = rest >> len(digits)
    ways = (FINE - zero) * beyond**often * (FINE - beyond)
    for place, digit in enumerate(digits):
        ways *= digit if rest >> place & 1 else FINE - digit
    return Fraction(ways, 2 * FINE ** (2 + often + len(digits)))


@lru_cache(maxsize=1024)
def _tail(coins: tuple[int, ...], size: int) -> Fraction:
    """P(D >= size) for a size above 0: the rest of its block of 2^L, and all blocks after it.

    Within the block, numbers with the digits of the first down to some place, and there 1 for 0, are greater.
    """
    zero, beyond, *digits = coins
    often, first = divmod(size - 1, 1 << len(digits))
    same, greater = 1, 0
    for place in reversed(range(len(digits))):
        heads, tails = digits[place], FINE - digits[place]
        greater *= FINE
        if first >> place & 1:
            same *= heads
        else:
            greater += same * heads
            same *= tails
    rest = (FINE - beyond) * (same + greater) + beyond * FINE ** len(digits)
    return Fraction((FINE - zero) * beyond**often * rest, 2 * FINE ** (2 + often + len(digits)))


def _overshoot(mean: Fraction) -> tuple[int, int, int]:
    """How far an overshoot of this mean is sent, and the thresholds of one more, and of either."""
    point = 2 * mean + 1
    far = point.numerator // point.denominator
    more = far * (point - far) / (2 * far + 1 - point)
    away = mean / (far + more)
    farther = max(round(more * away * WORD), 1)
    return far, farther, max(round(away * WORD), farther + 1)
