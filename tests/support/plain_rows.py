"""What one report adds to the counters, in plain Python: beside what ingest makes of thousands of them on arrays."""

from __future__ import annotations

import math
import struct

import numpy as np

from deniable import codebook
from deniable.payload import Bitmap, Codeword, Integer, Integers, Symbol
from deniable_aggregator.ingest.layout import Layout
from deniable_aggregator.store import KEY, Additions, Written

__all__ = ["GAPS", "NARROW", "TOLD", "arrays", "sums_of"]

NARROW = Layout("narrow", 7, 3600, 1, tuple((f"m{i}", Symbol(2 + 50 * i)) for i in range(6)))
GAPS = Layout("gaps", 8, 3600, 1, (("i", Integer(7, 50)), ("j", Integer(9)), ("v", Integers(3, 9, 70, 14))))
TOLD = Layout("told", 10, 3600, 3, (("a", Codeword(3, 8, 5)), ("a", Codeword(40, 256, 1 << 40)), ("b", Symbol(4)),
                                    ("c", Integer(9)), ("d", Codeword(3, 8, 5))))  # fmt: skip


def sums_of(layout: Layout, column: int, payload: int | bytes) -> dict[int, int] | None:
    """What one report adds, by counter; None where it cannot be."""
    if column >= len(layout.columns):
        return None
    match layout.columns[column][1], payload:
        case Symbol(size), int(symbol) if symbol < size:
            return {symbol: 1}
        case Integer(size, gap), int(value) if value < size:
            value += gap * ((value >= 2) + (value >= size - 2)) if gap else 0
            return {0: 1, 1: value, 2: value**2 % 2**32, 3: value**2 // 2**32}
        case Codeword(size, codewords, seeds), int(value) if value < seeds * codewords:
            words = struct.unpack(f"<{size + 1}H", codebook.codeword(*divmod(value, codewords), size + 1))
            entries = [codebook.table()[word] for word in words]
            length = codebook.LENGTH / math.sqrt(sum(entry * entry for entry in entries))
            values = [round(entry * length) for entry in entries[:-1]]
            return {0: 1} | dict(enumerate([*values, *(each**2 for each in values)], 1))
        case Bitmap(size, weight) as shape, _ if shape.wide == isinstance(payload, bytes):
            if isinstance(payload, bytes) and len(payload) != (size + 7) // 8:
                return None
            bits = payload if isinstance(payload, int) else int.from_bytes(payload, "little")
            if bits >= 1 << size or weight not in {None, bits.bit_count()}:
                return None
            return {0: 1} | {1 + bit: 1 for bit in range(size) if bits >> bit & 1}
        case Integers(size, bound, gap, norm), bytes(blob) if len(blob) == 4 * size:
            values = [*struct.unpack(f"<{size}i", blob)]
            if max(map(abs, values)) > bound or (norm and sum(each**2 for each in values) > norm**2):
                return None
            values = [each + gap * ((each > bound - 2) - (each < 2 - bound)) for each in values]
            sums = {0: 1}
            for i, value in enumerate(values):
                sums[1 + i] = value
                sums[1 + size + i] = value**2 % 2**32
                sums[1 + 2 * size + i] = value**2 // 2**32
            return sums
    return None


def arrays(added: Additions | Written) -> Additions:
    """What is added, read again where it has been written down."""
    if isinstance(added, Additions):
        return added
    keys, numbers = np.frombuffer(added.keys, KEY), np.frombuffer(added.numbers, "<u4")
    amounts = np.frombuffer(added.amounts, "<i8")
    return Additions(keys, np.frombuffer(added.sizes, "<u4"), numbers[: len(keys)], numbers[len(keys) :], amounts)
