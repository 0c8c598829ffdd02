"""Number: the mean, the total of the devices that reported, and where reports show it the standard deviation."""

from __future__ import annotations

from deniable.kinds import Number
from deniable_aggregator.answers._quantities import QuantityRoom

__all__ = ["NumberRoom"]


class NumberRoom(QuantityRoom):
    """The answers of a number."""

    kind = Number
