"""Bitwise response: every bit flipped by a coin of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import BitwiseResponse, Mechanism
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, coins, sent_bits, words_of

__all__ = ["draw", "flipped", "inputs"]


def inputs(mechanism: Mechanism, chosen: Sequence[int]) -> Inputs:
    """Bits, 64 a word."""
    width = 8 * words_of(mechanism.shape.size)
    packed = b"".join(bits.to_bytes(width, "little") for bits in chosen)
    return np.frombuffer(packed, dtype="<u8").reshape(len(chosen), -1)


def draw(mechanism: BitwiseResponse, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Bitmaps."""
    return sent_bits(flipped(mechanism, inputs, generator), mechanism.flags)


def flipped(mechanism: BitwiseResponse, bits: Inputs, generator: np.random.Generator) -> NDArray[np.uint64]:
    """The bits, some of them flipped."""
    sent = bits.astype(np.uint64)
    for flag in reversed(range(mechanism.flags)):
        word, place = divmod(flag, 64)
        sent[:, word] ^= coins(generator, mechanism.flips, len(bits)).astype(np.uint64) << np.uint64(place)
    return sent
