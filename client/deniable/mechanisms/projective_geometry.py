"""Projective geometry response: as accurate as subset selection, and a report is one small number.

words:
  order       q, a prime: coefficients are the integers modulo it
  dimensions  t: answers and payloads are the monic polynomials of degree below t over that field
  points      how many of them there are, K = (q^t - 1) / (q - 1)
  support     payload v supports answer u when u(x) v(x) has no x^(t-1): sum over i of u_i v_(t-1-i) = 0 mod q
  inside      the threshold of sending a payload that supports the own answer: p = inside / 2^64

Monic polynomials stand for the points of a projective space, one for each line through the origin of F_q^t, and the
payloads that support an answer are those of a hyperplane: (q^(t-1) - 1) / (q - 1) of them, and any two hyperplanes
share (q^(t-2) - 1) / (q - 1). So the payloads are like subsets of the answers, of a share near 1 / q, that hold any
two answers equally often: what makes subset selection accurate, with far fewer subsets. (Feldman, Nelson, Nguyen,
Talwar, arXiv 2203.00194; there with <u, v> = 0, which is this with u written backwards.)

**Numbering.** number(1) = 0 and number(x a + b) = q number(a) + b + 1 for a monic, b in F_q: a tree in which the
children of a polynomial are what it becomes with one more coefficient. Polynomials of degree below j are the first
(q^j - 1) / (q - 1); one of degree j is that plus its lower coefficients read as a number in base q. Answers are the
first `inputs` numbers, payloads all of them.

**Sampling.** For an answer u of degree e, the product holds the digit m = t - 1 - e of v once, those below it not
at all, those above it by the rest of u. So (high, low) digits of v can be anything and the middle one decides: one
middle digit makes v support u, every other one does not. Payloads are ranked by (high, middle, low), the supporting
ones first. A rank of either sort and the coin between them are always drawn, the digits of t places computed, and of
everything that depends on a condition both outcomes, of which one is picked by number: no step is taken or left out
for the answer's or the coin's sake.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt
from operator import mul
from typing import ClassVar, Self

from deniable.epsilon import Epsilon
from deniable.mechanisms._hyperplanes import most_in_a_hyperplane
from deniable.mechanisms._sorts import Sorts
from deniable.mechanisms._support import Supporting, inside_threshold, support_chance, variance
from deniable.payload import Symbol
from deniable.randomness import WORD, below, coin

__all__ = ["MOST_POINTS", "ProjectiveGeometryResponse"]

MOST_POINTS = 1 << 20
"""Every column has a counter a point."""
_POINTS_PER_INPUT = 8
"""How many counters an answer may cost where the order is chosen."""


@dataclass(frozen=True, slots=True)
class ProjectiveGeometryResponse(Supporting):
    """Sends a point of the hyperplane that stands for the answer, or one outside it."""

    name: ClassVar[str] = "projective_geometry"
    most_answers: ClassVar[int] = MOST_POINTS // 2
    automatic: ClassVar[bool] = True
    even: ClassVar[bool] = False

    epsilon: Epsilon
    inputs: int
    order: int
    """The prime q."""
    dimensions: int
    """The t of F_q^t."""
    inside: int = field(init=False)
    """The threshold of sending a payload that supports the own answer."""
    counts: tuple[int, ...] = field(init=False, repr=False)
    """How many monic polynomials have a degree below 0, 1, ... t."""
    powers: tuple[int, ...] = field(init=False, repr=False)
    """The order to the power of 0, 1, ... t - 1."""

    def __post_init__(self) -> None:
        if not _is_prime(self.order):
            raise ValueError(f"the order is a prime, not {self.order}")
        if self.dimensions < 3:  # with 2, a payload would support one answer: randomized response does that
            raise ValueError(f"a projective geometry has at least 3 dimensions, not {self.dimensions}")
        counts = tuple(_points(self.order, degree) for degree in range(self.dimensions + 1))
        if counts[-1] > MOST_POINTS:
            raise ValueError(f"would need {counts[-1]} counters; at most {MOST_POINTS} are possible")
        if not 2 <= self.inputs <= counts[-1]:
            raise ValueError(
                f"order {self.order} in {self.dimensions} dimensions takes 2 to {counts[-1]} answers, "
                f"not {self.inputs}"
            )
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "powers", tuple(self.order**degree for degree in range(self.dimensions)))
        object.__setattr__(self, "inside", inside_threshold(self.epsilon, counts[-2], counts[-1]))

    @classmethod
    def best(cls, epsilon: Epsilon, inputs: int, points: int = MOST_POINTS) -> Self:
        """The geometry of the least variance within the bounds on counters, and of no more points than are wanted;
        the smallest of equally good ones."""
        most = min(_POINTS_PER_INPUT * inputs, points)
        fitting = [
            (_variance(epsilon, order, dimensions), dimensions, order)
            for order, dimensions in _geometries(most)
            if inputs <= _points(order, dimensions)
        ]
        if not fitting:
            raise ValueError(f"projective geometry response takes 2 to about {MOST_POINTS} answers, not {inputs}")
        _, dimensions, order = min(fitting)
        return cls(epsilon, inputs, order, dimensions)

    @property
    def points(self) -> int:
        """How many payloads there are."""
        return self.counts[-1]

    @property
    def supporting(self) -> int:
        """How many of them support one answer."""
        return self.counts[-2]

    @property
    def shape(self) -> Symbol:
        """A symbol a point."""
        return Symbol(self.points)

    @property
    def p(self) -> Fraction:
        """The chance of a payload that supports the own answer."""
        return Fraction(self.inside, WORD)

    @property
    def q(self) -> Fraction:
        """The chance of a payload that supports a certain other answer."""
        return _other(self.p, self.order, self.dimensions)

    @property
    def both(self) -> tuple[Fraction, Fraction]:
        """Of the hyperplanes of two others, a certain part holds the own answer: exact on average over all points."""
        own, points, supporting, shared = self.p, self.points, self.supporting, self.counts[-3]
        three = Fraction(shared * (supporting - 2), points - 2)
        others = own * three / supporting + (1 - own) * (shared - three) / (points - supporting)
        return own * shared / supporting, others

    @property
    def supported(self) -> int:
        """Of the answers that are asked for as many as lie in a hyperplane."""
        return min(self.supporting, self.inputs)

    def carried(self, answers: Sequence[int]) -> int:
        """Those of them that lie in one hyperplane."""
        if len(answers) < self.dimensions:
            return len(answers)
        return most_in_a_hyperplane([self._coefficients(answer) for answer in answers], self.order)

    @property
    def sorts(self) -> Sorts:
        """The points of a hyperplane, and the others; two hyperplanes share some."""
        return Sorts(self.p, self.supporting, self.points, (self.supporting - 1) // self.order)

    def randomize(self, value: int) -> int:
        """The number of a payload that supports the answer, or of one that does not."""
        support, other = below(self.supporting), below(self.points - self.supporting)
        return self._ranked(value, (self.supporting + other, support)[coin(self.inside)])

    def _ranked(self, value: int, rank: int) -> int:
        """The payload of a rank: ranks below `supporting` are those that support the value."""
        free = self.dimensions - 1 - self._degree(value)  # how many digits are low
        scale, fewer = self.powers[free], self.counts[free]
        other = rank >= self.supporting
        # Payloads without high digits come first, under their own numbers. The product is then the middle digit, 0
        # or the leading 1: nothing will have to be added to it.
        place, short = rank - self.supporting * other, (fewer, scale)[other]
        high, low = divmod(place - short, scale)
        higher, lie = divmod(high, self.order - 1)
        later = self.counts[free + 1] + scale * self.order * (high, higher)[other] + low
        early = place < short
        number = (later, fewer * other + place)[early]
        wanted = ((lie + 1) * other, other)[early]
        return number + scale * ((wanted - self._product(value, number)) % self.order)

    def probability(self, payload: int, value: int) -> Fraction:
        """The chance of its sort, shared by all payloads that support the value, or by all that do not."""
        if self._product(value, payload) % self.order == 0:
            return self.p / self.supporting
        return (1 - self.p) / (self.points - self.supporting)

    def payloads(self) -> Iterator[int]:
        """All points, by number."""
        return iter(range(self.points))

    def parameters(self) -> dict[str, int]:
        """The answers, the geometry and the threshold."""
        return {
            "inputs": self.inputs,
            "order": self.order,
            "dimensions": self.dimensions,
            "inside": self.inside,
        }

    def _degree(self, number: int) -> int:
        return bisect_right(self.counts, number) - 1

    def _coefficients(self, number: int) -> list[int]:
        """Of a monic polynomial, the lowest first, with zeros up to t of them."""
        degree = self._degree(number)
        rest = number - self.counts[degree] + self.powers[degree]
        coefficients = []
        for _ in range(self.dimensions):
            rest, coefficient = divmod(rest, self.order)
            coefficients.append(coefficient)
        return coefficients

    def _product(self, answer: int, payload: int) -> int:
        """The coefficient of x^(t-1) in the product of two polynomials, before it is taken modulo q."""
        return sum(map(mul, self._coefficients(answer), reversed(self._coefficients(payload))))


def _points(order: int, dimensions: int) -> int:
    vectors: int = order**dimensions
    return (vectors - 1) // (order - 1)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


def _geometries(most: int) -> Iterator[tuple[int, int]]:
    """The geometries of at most so many points."""
    for order in filter(_is_prime, range(2, isqrt(most) + 1)):
        dimensions = 3
        while _points(order, dimensions) <= most:
            yield order, dimensions
            dimensions += 1


def _other(p: Fraction, order: int, dimensions: int) -> Fraction:
    """The chance of supporting another answer: two hyperplanes share (q^(t-2) - 1) / (q - 1) points."""
    points, supporting, shared = (_points(order, dimensions - less) for less in range(3))
    return p * shared / supporting + (1 - p) * (supporting - shared) / (points - supporting)


def _variance(epsilon: Epsilon, order: int, dimensions: int) -> Fraction:
    p = support_chance(epsilon, _points(order, dimensions - 1), _points(order, dimensions))
    return variance(p, _other(p, order, dimensions))
