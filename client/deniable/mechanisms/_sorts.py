"""Channels with two sorts of payloads: those that support an input, and the others; each sort equally likely.

Here stands what `deniable.linkage` needs of them, exactly, and the logarithm that it takes of that.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

__all__ = ["Sorts", "log2"]


class Sorts(NamedTuple):
    """A channel that sends each of some payloads with one chance, and each of the others with another one."""

    inside: Fraction
    """The chance of all that support the input."""
    supporting: int
    """How many do."""
    payloads: int
    """How many there are."""
    shared: int = 0
    """How many support two inputs."""

    @property
    def squares(self) -> Fraction:
        """The sum of the squares of all chances: how often two payloads of one input are the same."""
        return self.inside**2 / self.supporting + (1 - self.inside) ** 2 / (self.payloads - self.supporting)

    @property
    def products(self) -> Fraction:
        """How often payloads of two inputs are the same."""
        high, low = self.inside / self.supporting, (1 - self.inside) / (self.payloads - self.supporting)
        one = self.supporting - self.shared
        return self.shared * high**2 + 2 * one * high * low + (self.payloads - self.supporting - one) * low**2


def log2(number: Fraction) -> float:
    """Also where it is next to 1, or beyond floating point."""
    if abs(number - 1) < 1:
        return math.log1p(float(number - 1)) / math.log(2)
    return math.log2(number.numerator) - math.log2(number.denominator)
