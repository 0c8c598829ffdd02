"""Count: the mean, the total of the devices that reported, and where reports show it the standard deviation."""

from __future__ import annotations

from deniable.kinds import Count
from deniable_aggregator.answers._quantities import QuantityRoom

__all__ = ["CountRoom"]


class CountRoom(QuantityRoom):
    """The answers of a count."""

    kind = Count
