"""Reports that tell a vector by a codeword: the codewords are made again, and added up key by key.

To make a codeword takes one hash, of two bytes an entry; all the rest is done on arrays, of so few rows at a time
that they stay in the processor's cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.payload import Codeword
from deniable_aggregator.codebook import directions
from deniable_aggregator.ingest.wide import begins
from deniable_aggregator.store import IntArray

__all__ = ["told"]

_HELD = 1 << 15
"""So many entries are held at a time."""


def told(shape: Codeword, first: IntArray, payload: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """The slots and amounts that rows of one shape add, beside one for each report: the entries, then their squares.
    `first` is the first slot of each row's key. All sums are whole, and below 2^53 for 2^23 rows."""
    order = np.argsort(first, kind="stable")
    ordered = first[order]
    starts = begins(ordered)
    key = np.cumsum(starts) - 1
    sums = np.zeros((int(key[-1]) + 1, 2, shape.size))
    rows = max(_HELD // shape.size, 1)
    for start in range(0, len(order), rows):
        part = slice(start, start + rows)
        made = directions(shape, payload[order[part]])
        (own,) = begins(key[part]).nonzero()
        which = key[part][own]
        sums[which, 0] += np.add.reduceat(made, own, axis=0)
        made *= made
        sums[which, 1] += np.add.reduceat(made, own, axis=0)
    slots = ordered[starts][:, np.newaxis] + np.arange(1, 1 + 2 * shape.size)
    return slots.ravel(), sums.astype(np.int64).ravel()
