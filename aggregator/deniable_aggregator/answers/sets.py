"""Set: the share of devices with each item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deniable import Metric
from deniable.kinds import Set
from deniable_aggregator.answers._estimate import RowId
from deniable_aggregator.answers._shares import SHARES, ShareRoom

__all__ = ["SetRoom"]


class SetRoom(ShareRoom):
    """A row a value, in the order of the collection file."""

    kind = Set

    def values(self, metric: Metric) -> Sequence[str]:
        """Those of the collection file."""
        assert isinstance(metric.kind, Set)
        return metric.kind.values

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """How often a device has each item; of too many items, each but now and then."""
        kind = metric.kind
        assert isinstance(kind, Set)
        kept = dict.fromkeys(kind.values, 0.0)
        for names in values:
            for name in names:
                kept[name] += min(1.0, kind.most / len(names))
        return {RowId(SHARES, name): share / len(values) for name, share in kept.items()}
