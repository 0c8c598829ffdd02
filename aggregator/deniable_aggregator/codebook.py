"""Codebooks as arrays: codewords of reports made again from their seeds and numbers, many at once.

words:
  direction  a codeword of the length `LENGTH`, its entries rounded to whole numbers; what is added up of a report
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from deniable import codebook
from deniable.payload import Codeword

__all__ = ["directions", "table"]

_Floats = NDArray[np.float64]


@cache
def table() -> _Floats:
    """The entries that a hash's words look up: whole numbers, which floats add up exactly."""
    entries = np.array(codebook.table(), dtype=np.float64)
    entries.flags.writeable = False
    return entries


def directions(shape: Codeword, payloads: NDArray[np.uint64]) -> _Floats:
    """A row a payload: what of its codeword is counted."""
    size = shape.size + 1
    seeds, numbers = (each.tolist() for each in np.divmod(payloads, np.uint64(shape.codewords)))
    hashed = b"".join([codebook.codeword(seed, number, size) for seed, number in zip(seeds, numbers, strict=True)])
    rows = table().take(np.frombuffer(hashed, "<u2")).reshape(-1, size)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    counted: _Floats = rows[:, :-1] * (codebook.LENGTH / lengths)[:, np.newaxis]
    return np.rint(counted, out=counted)
