"""How many devices there are, where each of them takes part by a coin, and only those that do are counted.

Of N devices n take part: binomial, with the chance p of the coin. About n / p devices are there, and all N are
believed from which n is no more than z standard deviations away: (n - N p)^2 <= z^2 N p (1 - p). That is a square in
N, with the ends [n + z^2 q / 2 -+ z sqrt(n q + z^2 q^2 / 4)] / p, where q = 1 - p.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

__all__ = ["Drawn", "drawn"]


class Drawn(NamedTuple):
    """How many devices there are, of which some have been drawn."""

    value: float
    low: float
    high: float
    std_error: float


def drawn(reports: int, chance: float, confidence: float) -> Drawn:
    """So many were drawn, each with that chance."""
    z, rest = NormalDist().inv_cdf((1 + confidence) / 2), 1 - chance
    middle, reach = reports + z**2 * rest / 2, z * math.sqrt(reports * rest + (z * rest) ** 2 / 4)
    low, high = max((middle - reach) / chance, reports), (middle + reach) / chance
    return Drawn(reports / chance, low, high, math.sqrt(reports * rest) / chance)
