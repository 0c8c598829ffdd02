"""Gaussian: discrete Gaussian noise on every entry of a vector of bounded l2 norm, (epsilon, delta)-private.

words:
  entry        a grid point; a vector's entries have the l2 norm `bound` at most
  sensitivity  how far two vectors lie apart at most: 2 bound
  delta        the most by which P(out in R | a) exceeds e^eps P(out in R | b), for any reports R: a report that is
               more than 2 e^eps times likelier comes with a chance of 2 delta at most
  D(s)         the discrete Gaussian: P(x) proportional to e^(-x^2 / (2 s^2)) over the integers
  step         a draw X_i of D(s) from a table of whole thresholds over 2^128
  ladder       the noise: X_0 + 4 X_1 + 16 X_2 + ..., `levels` steps
  end          entries are clamped here: noise goes farther less than once in 2^24 times
  norm         how long a report is at most, but for a chance of 2^-40: the aggregator refuses longer ones

Noise of any size comes from one small table, by a constant number of draws. (Sums of discrete Gaussians: Micciancio
and Walter, 2017. The sampler of Canonne, Kamath and Steinke, arXiv 2004.00010, takes a time that tells the noise.)

**One lemma**, Poisson's: for real c the sum of e^(-(j-c)^2 / (2 t^2)) over the integers j is sqrt(2 pi) t within a
factor of 1 +- k, where k = 2.01 e^(-2 pi^2 t^2) < 2^-112 for t >= 2.

**The ladder is D(sigma)**, sigma^2 = s^2 (1 + 16 + ... + 16^(levels-1)). For Y from D(u) and X from D(s),
P(Y + mX = x) adds up e^(-(x-mj)^2 / (2u^2) - j^2 / (2s^2)) over j; completing the square makes of it
e^(-x^2 / (2 (u^2 + m^2 s^2))) times a sum of the lemma with t = u s / sqrt(u^2 + m^2 s^2). On the ladder t^2 is
s^2 / 17 at least, and s^2 >= 68.

**D(sigma) is as private as the continuous Gaussian of variance sigma^2 - 4.** Let y be x + N(0, sigma^2 - 4), and
round it to the integer k with a chance proportional to e^(-(k-y)^2 / 8), which only processes the output: completing
the square once more, by the lemma with t = 2, k has the chances of x + D(sigma) within the same factor. This holds
for all entries at once, so that N(0, sigma^2 - 4) may be calibrated analytically.

**What all of it costs.** Together the factors are less than 1 + 2^-94 for up to 4096 entries: the calibration is for
e^eps (1 - 2^-80). A step's table is off from D(s) by at most its length / 2^128 in total variation (cut off below
e^-92, thresholds rounded down); (1 + e^eps) times that, for every step and entry, is taken off delta.

**What a fake can send.** The ladder goes 17 deviations far. Clamping only processes the output, and moves the mean of
an entry by less than 2^-24 of it: P(|N| > t) < e^(-t^2 / 2) is 2^-24 at t = sqrt(48 ln 2), and the two sides cancel
but for their difference. Noise of all entries together is as long as chi-square makes it: by Chernoff's bound,
P(chi^2_d > d r) <= e^(-d (r - 1 - ln r) / 2), which is 2^-40 for the r that `longest` finds. The vector itself adds
its bound. A device does not shorten what is longer: that a batch in 10^12 is refused says nothing that it would not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise, product
from math import isqrt, log, log2, pi, prod
from typing import ClassVar

from deniable.epsilon import Epsilon, exp_lower
from deniable.mechanisms._calibration import deviation, longest
from deniable.mechanisms._entries import pack, unpack
from deniable.mechanisms._mechanism import Mechanism
from deniable.payload import Integers
from deniable.randomness import word

__all__ = ["Gaussian"]

MOST_DIMENSIONS = 4096
_BITS = 128
_CUT = 92
_LEAST = 68
"""The least s^2 of a ladder."""
_SPREAD = 4
"""The variance that the rounding in the proof takes."""
_SLACK = 1 - Fraction(1, 1 << 80)
_CLAMPED = Fraction(3327107, 100000)
"""At least 48 ln 2."""
_SHARE = 1 << 20
"""The tables may take one part in this of delta."""


@dataclass(frozen=True, slots=True)
class Gaussian(Mechanism):
    """Adds discrete Gaussian noise to every entry."""

    name: ClassVar[str] = "gaussian"
    tight: ClassVar[bool] = False

    epsilon: Epsilon
    delta: Fraction
    dimensions: int
    """How many entries a vector has."""
    bound: int
    """The largest l2 norm."""
    spread: int = field(init=False)
    """sigma^2, the variance of the noise."""
    levels: int = field(init=False)
    cumulative: tuple[int, ...] = field(init=False, repr=False)
    """A step's thresholds: it is at most i - reach where a word of 128 bits is below number i."""
    searched: tuple[int, ...] = field(init=False, repr=False)
    """The thresholds, padded with the last: every search by halving takes the same number of steps."""
    norm: int = field(init=False)
    """How long a report is at most."""

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ValueError(f"a delta lies between 0 and 1, not at {float(self.delta):g}")
        if not 1 <= self.dimensions <= MOST_DIMENSIONS:
            raise ValueError(f"a vector has 1 to {MOST_DIMENSIONS} dimensions, not {self.dimensions}")
        if self.bound < 1:
            raise ValueError(f"a bound is at least 1, not {self.bound}")
        needed = deviation(self.epsilon.exp * _SLACK, self.delta * (1 - Fraction(2, _SHARE))) * 2 * self.bound
        spread = -int(-needed * needed // 1) + _SPREAD
        levels = 1
        while 15 * spread >= _LEAST * (16 ** (levels + 1) - 1):
            levels += 1
        object.__setattr__(self, "spread", spread)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "cumulative", _table(Fraction(16**levels - 1, 30 * spread)))
        sums = self.cumulative
        padding = (1 << len(sums).bit_length()) - 1 - len(sums)
        object.__setattr__(self, "searched", (*sums, *[sums[-1]] * padding))
        object.__setattr__(self, "norm", self.bound + _root(spread * longest(self.dimensions)))
        self._check()

    def _check(self) -> None:
        draws = self.dimensions * self.levels
        spilt = Fraction(draws * len(self.cumulative), 1 << _BITS) * (1 + self.epsilon.exp)
        if spilt > self.delta / _SHARE:
            raise ValueError(f"a delta of {float(self.delta):g} is too small for {draws} draws at this epsilon")
        try:
            _ = self.shape
        except ValueError as error:
            raise ValueError("the noise does not fit 32 bits: take a larger epsilon, or fewer dimensions") from error

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """Packed entries are below this; those of a larger norm are refused."""
        return 1 << 32 * self.dimensions

    @property
    def reach(self) -> int:
        """The farthest step."""
        return len(self.cumulative) // 2

    @property
    def end(self) -> int:
        """Where entries are clamped."""
        farthest = self.reach * (4**self.levels - 1) // 3
        return self.bound + min(_root(self.spread * _CLAMPED), int(farthest))

    @property
    def shape(self) -> Integers:
        """Entries within the ends; all together no longer than the norm."""
        return Integers(self.dimensions, self.end, norm=self.norm)

    @property
    def variance(self) -> float:
        """The variance of an entry's noise, in steps of the grid, squared."""
        return float(self.spread)

    @property
    def most_bits(self) -> float:
        """The divergence of the two farthest vectors."""
        return 4 * self.bound**2 / self.spread / log(2)

    @property
    def collision(self) -> float:
        """That of the noise of an entry, as often as there are entries."""
        return self.dimensions * log2(4 * pi * self.spread) / 2

    def randomize(self, value: int) -> int:
        """Every entry with noise."""
        sums, reach, levels, end = self.searched, self.reach, self.levels, self.end
        sent = []
        for entry in self._entries(value):
            noise = 0
            for _ in range(levels):
                noise = 4 * noise + bisect_right(sums, word() << 64 | word()) - reach
            sent.append(min(max(entry + noise, -end), end))
        return pack(sent)

    def noise(self, size: int) -> Fraction:
        """P(noise = size), exactly: the last step makes it a multiple of 4, and so on for a quarter of the rest."""
        chances, reach, weights = {size: 1}, self.reach, self._weights()
        for _ in range(self.levels):
            rest: dict[int, int] = {}
            for left, chance in chances.items():
                for place in range((left + reach) % 4, len(weights), 4):
                    quarter = (left + reach - place) // 4
                    rest[quarter] = rest.get(quarter, 0) + chance * weights[place]
            chances = rest
        return Fraction(chances.get(0, 0), 1 << _BITS * self.levels)

    def tail(self, size: int) -> Fraction:
        """P(noise >= size), exactly."""
        chances, reach, weights = {size: 1}, self.reach, self._weights()
        for _ in range(self.levels):
            rest: dict[int, int] = {}
            for left, chance in chances.items():
                for place, weight in enumerate(weights):
                    quarter = -((place - reach - left) // 4)
                    rest[quarter] = rest.get(quarter, 0) + chance * weight
            chances = rest
        return Fraction(sum(chance for left, chance in chances.items() if left <= 0), 1 << _BITS * self.levels)

    def probability(self, payload: int, value: int) -> Fraction:
        """The product over the entries; at the ends, of all noise that leads there or beyond."""
        pairs = zip(unpack(payload, self.dimensions), self._entries(value), strict=True)
        return prod((self._chance(sent, entry) for sent, entry in pairs), start=Fraction(1))

    def payloads(self) -> Iterator[int]:
        """All vectors within the ends, with those that are longer than the norm."""
        most = self.shape.bound
        return map(pack, product(range(-most, most + 1), repeat=self.dimensions))

    def parameters(self) -> dict[str, int]:
        """What the table and the ladder are made of."""
        return {"dimensions": self.dimensions, "bound": self.bound, "spread": self.spread, "levels": self.levels}

    def _chance(self, sent: int, entry: int) -> Fraction:
        """P(an entry is sent so)."""
        if sent == self.end:
            return self.tail(sent - entry)
        if sent == -self.end:
            return 1 - self.tail(sent - entry + 1)
        return self.noise(sent - entry) if abs(sent) < self.end else Fraction(0)

    def _weights(self) -> list[int]:
        """The words that make a step of each size, from -reach on."""
        return [upto - before for before, upto in pairwise((0, *self.cumulative))]

    def _entries(self, value: int) -> tuple[int, ...]:
        entries = unpack(value, self.dimensions)
        if sum(entry * entry for entry in entries) > self.bound * self.bound:
            raise ValueError(f"a vector's l2 norm is at most {self.bound}")
        return entries


def _root(square: Fraction) -> int:
    """The root of a number, rounded up."""
    return isqrt(int(square)) + 1


def _table(rate: Fraction) -> tuple[int, ...]:
    """The thresholds of P(k) proportional to e^(-rate k^2), as far as the exponent is at most _CUT."""
    reach = isqrt(int(_CUT / rate))
    side = [int((1 << 2 * _BITS) / exp_lower(rate * k * k)) for k in range(reach + 1)]
    sums = list(accumulate([*side[:0:-1], *side]))
    return tuple((upto << _BITS) // sums[-1] for upto in sums)
