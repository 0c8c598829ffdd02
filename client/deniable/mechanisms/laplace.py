"""Discrete Laplace noise on a public grid, with one support for all inputs, from a constant number of coins.

words:
  steps    inputs are the grid points 0 to `steps`; two answers differ by at most `steps`
  alpha    e^(-eps / steps): the noise D has P(d) = (1 - alpha) / (1 + alpha) alpha^|d|
  digit    a binary digit of |D| - 1, a geometric variable; its digits are independent coins
  margin   outputs are clamped to [steps - margin, margin], a range that every input can reach

**Sampling.** D is 0 with probability (1 - alpha) / (1 + alpha), otherwise a fair sign times 1 + G with
P(G = g) proportional to alpha^g below 2^L. Digit k of G is 1 with probability 1 / (1 + alpha^(-2^k)),
independently of the others: L coins, a sign and a coin for zero, whatever comes out. (The rejection sampler of
Canonne, Kamath and Steinke, arXiv 2004.00010, draws the same noise but takes a time that tells its size.)

**Privacy.** Thresholds have 128 bits, and a coin of probability t / 2^128 is off by a factor of at most
1 + 1/t. Digits are taken while alpha^(2^k) >= e^-60, so that t >= 2^41 and all of them together are off by less
than 2^-40; cutting G off at 2^L and clamping `spare` steps before changes a ratio by less than
1 / (1 - alpha^spare) with alpha^spare <= 2^-40. `_SLACK` pays for all of it: the channel is built for
eps (1 - 2^-36). The tests prove the ratio in rationals, over whole channels.

**Bias.** Clamping moves the mean by less than steps / eps * e^-(32 - eps): nothing that a report could show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.epsilon import Epsilon, exp_lower
from deniable.mechanisms._mechanism import Mechanism
from deniable.payload import Integer
from deniable.randomness import fine_coin, word

__all__ = ["Laplace"]

_FINE = 1 << 128
_SLACK = 1 - Fraction(1, 1 << 36)
_DEEPEST = 60
"""Digits go on while alpha^(2^k) >= e^-_DEEPEST."""
_SPARE = Fraction(28)
"""e^-28 < 2^-40."""


@dataclass(frozen=True, slots=True)
class Laplace(Mechanism):
    """Adds discrete Laplace noise of scale steps / epsilon."""

    name: ClassVar[str] = "laplace"

    epsilon: Epsilon
    steps: int
    """The largest difference between two answers, in grid steps."""
    inputs: int = field(init=False)
    rate: Fraction = field(init=False)
    """-ln alpha: the epsilon that one step of the grid is built for."""
    zero: int = field(init=False)
    """The threshold of 'no noise'."""
    digits: tuple[int, ...] = field(init=False)
    """The thresholds of the digits, least significant first."""
    margin: int = field(init=False)
    """Outputs lie in [steps - margin, margin]."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"Laplace noise needs at least 1 step, not {self.steps}")
        rate = self.epsilon.value * _SLACK / self.steps
        digits: list[int] = []
        while not digits or rate * (1 << len(digits)) <= _DEEPEST:
            digits.append(_threshold(1 + exp_lower(rate * (1 << len(digits)))))
        reach = 1 << len(digits)
        grown = exp_lower(rate)
        spare = -(-_SPARE // rate)
        for name, value in (
            ("inputs", self.steps + 1),
            ("rate", rate),
            ("zero", _threshold((grown + 1) / (grown - 1))),
            ("digits", tuple(digits)),
            ("margin", reach - int(spare)),
        ):
            object.__setattr__(self, name, value)
        _ = self.shape  # checks that the payload fits

    @property
    def shape(self) -> Integer:
        """An integer: the output, counted from the lowest."""
        return Integer(2 * self.margin - self.steps + 1)

    @property
    def lowest(self) -> int:
        """The grid point that payload 0 stands for."""
        return self.steps - self.margin

    @property
    def alpha(self) -> float:
        """The ratio of the noise's probabilities one step apart."""
        return float(1 / exp_lower(self.rate))

    @property
    def variance(self) -> float:
        """Of the noise, in steps squared: 2 alpha / (1 - alpha)^2."""
        return 2 * self.alpha / (1 - self.alpha) ** 2

    def randomize(self, value: int) -> int:
        """The value with noise, clamped, counted from the lowest."""
        size = 1
        weight = 1
        for threshold in self.digits:
            size += weight * fine_coin(threshold)
            weight += weight
        sign = 1 - 2 * (word() & 1)
        noise = sign * size * (not fine_coin(self.zero))
        margin = self.margin
        return min(max(value + noise, self.steps - margin), margin) - self.steps + margin

    def noise(self, size: int) -> Fraction:
        """P(D = size), exactly."""
        if size == 0:
            return Fraction(self.zero, _FINE)
        rest = abs(size) - 1
        if rest >> len(self.digits):
            return Fraction(0)
        product = _FINE - self.zero
        for place, threshold in enumerate(self.digits):
            product *= threshold if rest >> place & 1 else _FINE - threshold
        return Fraction(product, 2 * _FINE ** (1 + len(self.digits)))

    def probability(self, payload: int, value: int) -> Fraction:
        """The noise that leads there; at the two ends, all that leads there or beyond."""
        size = payload + self.lowest - value
        farthest = 1 << len(self.digits)
        if payload == 0:
            return sum((self.noise(d) for d in range(-farthest, size + 1)), Fraction(0))
        if payload == self.shape.size - 1:
            return sum((self.noise(d) for d in range(size, farthest + 1)), Fraction(0))
        return self.noise(size)

    def payloads(self) -> Iterator[int]:
        """All of the clamped range."""
        return iter(range(self.shape.size))

    def parameters(self) -> dict[str, int]:
        """The range, and all thresholds."""
        digits = {f"digit_{place}": threshold for place, threshold in enumerate(self.digits)}
        return {"steps": self.steps, "margin": self.margin, "zero": self.zero} | digits


def _threshold(denominator: Fraction) -> int:
    """The 128-bit threshold nearest to probability 1 / denominator."""
    return round(_FINE / denominator)
