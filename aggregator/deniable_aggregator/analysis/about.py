"""What a question is about, found once: the collection with its versions, the window, the segments, and the doubts.

Whoever asks several things of one moment, as a comparison does of its two sides, asks the store for it once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deniable import Collection
from deniable_aggregator.analysis.counters import Segments
from deniable_aggregator.analysis.question import EpochDoubt, Query
from deniable_aggregator.store import Doubt

__all__ = ["About"]


@dataclass(frozen=True, slots=True)
class About:
    """A query, as far as it is the same for all metrics."""

    collection: Collection
    joined: tuple[Collection, ...]
    """The versions of it whose counters are added, where they mean the same."""
    window: range
    segments: Segments
    query: Query
    number: int
    """By which its answers are remembered."""
    doubted: Mapping[int, Doubt]
    """By the epoch's number, what an operator says of epochs of this collection."""

    def leaves_out(self, epoch: int) -> bool:
        """Whether an epoch does not count in what is answered."""
        doubt = self.doubted.get(epoch)
        return doubt is not None and (doubt.removed or not self.query.doubtful)

    def doubts(self, window: range | None = None) -> tuple[EpochDoubt, ...]:
        """Those of a window's epochs that an operator does not trust; of the query's, unless told."""
        own = sorted(epoch for epoch in self.doubted if epoch in (self.window if window is None else window))
        return tuple(EpochDoubt(epoch, *self.doubted[epoch], self.leaves_out(epoch)) for epoch in own)
