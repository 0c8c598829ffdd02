"""What ingest knows of a collection: its columns' shapes, its segments, the length of its epochs."""

from __future__ import annotations

from dataclasses import dataclass

from deniable.payload import Shape

__all__ = ["MOST_COUNTERS", "Layout"]

MOST_COUNTERS = 1 << 24
"""The most counters of a column: they are one string in the store, 128 MB at this size."""

_MOST_COLUMNS = 1 << 16


@dataclass(frozen=True, slots=True)
class Layout:
    """A collection, as far as ingest is concerned."""

    name: str
    """The collection's name, for people."""
    digest: int
    """The collection's digest: 64 bits."""
    epoch_seconds: int
    """The length of an epoch."""
    segments: int
    """How many combinations of segment values there are; a batch names one by number."""
    columns: tuple[tuple[str, Shape], ...]
    """For each column, by number: the metric that it belongs to and the shape of its payloads."""
    ends: int | None = None
    """The first epoch of which nothing is taken, where the collection is retired."""

    def __post_init__(self) -> None:
        if not 0 <= self.digest < 1 << 64:
            raise ValueError(f"a digest has 64 bits: {self.digest:#x}")
        if self.epoch_seconds < 1:
            raise ValueError(f"an epoch has at least a second, not {self.epoch_seconds}")
        if self.segments < 1:
            raise ValueError(f"there is at least one segment, not {self.segments}")
        if not 1 <= len(self.columns) <= _MOST_COLUMNS:
            raise ValueError(f"a collection has 1 to {_MOST_COLUMNS} columns, not {len(self.columns)}")
        for number, (metric, shape) in enumerate(self.columns):
            if shape.counters > MOST_COUNTERS:
                raise ValueError(
                    f"column {number} ({metric}) has {shape.counters} counters; at most {MOST_COUNTERS} can be stored"
                )
