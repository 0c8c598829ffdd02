"""What the twins share: random words, coins, and bits by the word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.payload import PAYLOAD_BITS
from deniable.randomness import WORD

__all__ = ["Inputs", "Payloads", "coins", "numbers", "sent_bits", "words"]

Inputs = NDArray[Any]
"""A row a device."""
Payloads = NDArray[Any]
"""int64, one a device; or uint8, as many columns as a wide payload has bytes."""

_WORD_BITS = 64


def numbers(mechanism: Any, chosen: Sequence[int]) -> Inputs:  # noqa: ARG001 - other twins look at it
    """Inputs that are plain numbers."""
    return np.array(chosen, dtype=np.int64)


def words(generator: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """64 random bits each."""
    return generator.integers(0, WORD, size=count, dtype=np.uint64)


def coins(generator: np.random.Generator, threshold: int, count: int) -> NDArray[np.bool_]:
    """Each shows heads with probability threshold / 2^64."""
    heads: NDArray[np.bool_] = words(generator, count) < np.uint64(threshold)
    return heads


def sent_bits(bits: NDArray[np.uint64], size: int) -> Payloads:
    """Bitmaps of `size` bits, given by words, as they travel."""
    if size <= PAYLOAD_BITS:
        return bits[:, 0].astype(np.int64)
    return np.ascontiguousarray(bits.astype("<u8", copy=False).view(np.uint8)[:, : -(-size // 8)])


def words_of(size: int) -> int:
    """The words that so many bits take."""
    return -(-size // _WORD_BITS)
