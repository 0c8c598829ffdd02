"""The entries of a vector, packed into one integer: as int32, little-endian, as they travel.

An integer of entries of which the last ones are 0 is a short one, and Python takes less time for it. So on the way a
byte is set beyond the last entry: what is packed and unpacked is equally long for all entries.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

__all__ = ["pack", "unpack"]


def pack(entries: Sequence[int]) -> int:
    """The integer of some entries."""
    beyond = 1 << 32 * len(entries)
    return int.from_bytes(struct.pack(f"<{len(entries)}iB", *entries, 1), "little") - beyond


def unpack(packed: int, size: int) -> tuple[int, ...]:
    """The entries of an integer."""
    beyond = 1 << 32 * size
    return struct.unpack(f"<{size}ix", (packed + beyond).to_bytes(4 * size + 1, "little"))
