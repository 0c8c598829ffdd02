"""The entries of a vector, packed into one integer: as int32, little-endian, as they travel."""

from __future__ import annotations

import struct
from collections.abc import Sequence

__all__ = ["pack", "unpack"]


def pack(entries: Sequence[int]) -> int:
    """The integer of some entries."""
    return int.from_bytes(struct.pack(f"<{len(entries)}i", *entries), "little")


def unpack(packed: int, size: int) -> tuple[int, ...]:
    """The entries of an integer."""
    return struct.unpack(f"<{size}i", packed.to_bytes(4 * size, "little"))
