"""Noise that hides how far one device moves something: of a normal law, or of one that falls with the length.

It is drawn in floats, by a generator with a seed, so that figures can be made again. That will do for an example and
not for people's data: what a float can not be tells more than epsilon says. (The SDK draws whole numbers by exact
chances from the operating system.)
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable import Epsilon
from deniable.mechanisms._calibration import deviation

__all__ = ["by_length", "normal_deviation"]


def normal_deviation(epsilon: float, delta: float, times: int = 1) -> float:
    """The standard deviation of normal noise in each of so many releases that keep epsilon and delta together, where
    one device moves each by 1 at most.

    Releases by normal noise add up exactly: of as many as `times`, of deviation s, all that can be told of whether
    one device has this or that is what one of deviation s / sqrt(times) tells. So what is enough for one is the least
    that is enough for all, and no bound on compositions is needed.
    """
    one = deviation(Epsilon.of(epsilon).exp, Fraction(repr(delta)))
    return float(one) * math.sqrt(times)


def by_length(generator: np.random.Generator, shape: tuple[int, ...], scale: float) -> NDArray[np.float64]:
    """A point whose density is e^(-length / scale), up to a constant: its length is of a Gamma law of as many degrees
    as there are entries, and all ways are as likely. A move by 1 changes the density by e^(1 / scale) at most."""
    entries = math.prod(shape)
    way = generator.normal(size=shape)
    return way / np.linalg.norm(way) * generator.gamma(entries, scale)
