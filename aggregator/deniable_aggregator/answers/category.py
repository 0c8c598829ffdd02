"""Category: the proportion of each value."""

from __future__ import annotations

from collections.abc import Sequence

from deniable import Metric
from deniable.kinds import Category
from deniable_aggregator.answers._shares import ShareRoom

__all__ = ["CategoryRoom"]


class CategoryRoom(ShareRoom):
    """A row a value, in the order of the collection file; every device has one of them."""

    kind = Category
    adds_up = True

    def values(self, metric: Metric) -> Sequence[str]:
        """Those of the collection file."""
        assert isinstance(metric.kind, Category)
        return metric.kind.values
