"""Exposure: what a delta means to people, where a mechanism uses it as badly as it may.

The worst that keeps (0, delta) tells the whole of a device's answer with the chance delta, and nothing else: of n
devices n delta are told on average, and at least one with the chance 1 - (1 - delta)^n. So a delta is to be far below
1 / n.
"""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["Exposed", "exposed"]


class Exposed(NamedTuple):
    """How many people a delta could give away, at the worst."""

    expected: float
    """On average."""
    chance: float
    """That it is anybody at all."""


def exposed(delta: float, devices: int) -> Exposed:
    """Of so many devices, which answer once each at this delta."""
    return Exposed(devices * delta, -math.expm1(devices * math.log1p(-delta)))
