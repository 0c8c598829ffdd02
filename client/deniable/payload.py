"""What a report carries: one of five payload shapes, known to both ends and to the sums in between.

words:
  payload   the randomised answer as it travels: 48 bits of an eight-byte row, or the bytes of a wide row
  shape     which payloads a column has, and which counters they add up to
  counters  the int64 vector of a column's sums; everything that is stored is one of these
  gap       how much farther out than they say the two outermost integers on either side count: nothing lies between
            them and the rest that a device could send
  level     what an integer counts as, with the gaps; counted from the lowest one

| shape   | payload                              | counters                                                |
|---------|--------------------------------------|---------------------------------------------------------|
| Symbol  | an integer below `size`              | how often each was sent (`size`)                        |
| Bitmap  | `size` bits, `weight` of them set    | reports, then how often each bit was set (1 + `size`)   |
| Integer | an integer below `size`, a `gap`     | reports, sum, and the sum of squares in two limbs (4)   |
| Integers | `size` entries within +-`bound`, of | reports, the sums, the sums of squares (1 + 3 `size`)   |
|         | the l2 norm `norm`, a `gap`          |                                                         |
| Codeword | an integer below `seeds` times      | reports, the sums, the sums of squares (1 + 2 `size`)   |
|         | `codewords`: a vector (`codebook`)   |                                                         |

Sums are sums of levels; of a codeword, of its entries as `codebook.py` makes them, whose squares are below 2^31. A
square y^2 is added as `y^2 mod 2^32` and `y^2 div 2^32`, so that no counter leaves 63 bits before 2^31 reports of the
largest payload: sums of squares stay exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["PAYLOAD_BITS", "Bitmap", "Codeword", "Integer", "Integers", "Shape", "Symbol"]

PAYLOAD_BITS = 48
"""The bits that an eight-byte row has for a payload."""

_INTEGER_LIMIT = 1 << 32
_BOUND_LIMIT = 1 << 31


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Symbol:
    """One of `size` symbols; counted by occurrence."""

    size: int
    """Payloads are the integers from 0 to size - 1."""

    def __post_init__(self) -> None:
        _check(2 <= self.size <= 1 << PAYLOAD_BITS, f"a symbol has 2 to 2^48 values, not {self.size}")

    @property
    def wide(self) -> bool:
        """Whether the payload needs a wide row."""
        return False

    @property
    def bits(self) -> float:
        """So many bits, at most, say which payload came."""
        return math.log2(self.size)

    @property
    def counters(self) -> int:
        """How many counters the column has."""
        return self.size


@dataclass(frozen=True, slots=True)
class Bitmap:
    """A set of bits; each bit is added up."""

    size: int
    """How many bits there are; bit i of the payload is number i."""
    weight: int | None = None
    """How many of them are set in every report, where that is fixed."""

    def __post_init__(self) -> None:
        _check(self.size >= 1, f"a bitmap has at least 1 bit, not {self.size}")
        if self.weight is not None:
            _check(0 < self.weight < self.size, f"a weight lies between 0 and {self.size}, not {self.weight}")

    @property
    def wide(self) -> bool:
        """Whether the payload needs a wide row."""
        return self.size > PAYLOAD_BITS

    @property
    def bits(self) -> float:
        """So many bits, at most, say which payload came."""
        return float(self.size) if self.weight is None else math.log2(math.comb(self.size, self.weight))

    @property
    def counters(self) -> int:
        """How many counters the column has."""
        return 1 + self.size


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer; added up, and its square too."""

    size: int
    """Payloads are the integers from 0 to size - 1."""
    gap: int = 0
    """How much farther out the two lowest and the two highest count."""

    def __post_init__(self) -> None:
        _check(self.gap >= 0, f"a gap is at least 0, not {self.gap}")
        _check(not self.gap or self.size >= 4, f"gaps lie between 4 integers or more, not {self.size}")
        _check(self.size >= 2, f"an integer has at least 2 values, not {self.size}")
        levels = self.size + 2 * self.gap
        _check(levels <= _INTEGER_LIMIT, f"an integer has at most 2^32 levels, not {levels}")

    @property
    def wide(self) -> bool:
        """Whether the payload needs a wide row."""
        return False

    @property
    def bits(self) -> float:
        """So many bits, at most, say which payload came."""
        return math.log2(self.size)

    @property
    def counters(self) -> int:
        """How many counters the column has."""
        return 4


@dataclass(frozen=True, slots=True)
class Integers:
    """A list of integers; each entry is added up, and its square too."""

    size: int
    """How many entries there are."""
    bound: int
    """Every entry lies between -bound and +bound."""
    gap: int = 0
    """How much farther out the two lowest and the two highest entries count."""
    norm: int | None = None
    """The greatest l2 norm of the entries, where there is one."""

    def __post_init__(self) -> None:
        _check(self.size >= 1, f"a vector has at least 1 entry, not {self.size}")
        _check(1 <= self.bound < _BOUND_LIMIT, f"a bound lies between 1 and 2^31 - 1, not {self.bound}")
        _check(0 <= self.gap < _BOUND_LIMIT - self.bound, f"levels are below 2^31: a gap of {self.gap} is too large")
        _check(self.gap == 0 or self.bound >= 2, f"gaps lie between 4 entries or more, not within {self.bound}")
        _check(self.norm is None or self.norm >= 1, f"a norm is at least 1, not {self.norm}")

    @property
    def wide(self) -> bool:
        """Whether the payload needs a wide row."""
        return True

    @property
    def bits(self) -> float:
        """So many bits, at most, say which payload came."""
        return self.size * math.log2(2 * self.bound + 1)

    @property
    def counters(self) -> int:
        """How many counters the column has: reports, sums, then the low and the high limbs of the squares."""
        return 1 + 3 * self.size


@dataclass(frozen=True, slots=True)
class Codeword:
    """A vector told by a seed and its number among the codewords of that seed; each entry is added up, and its square
    too."""

    size: int
    """How many of its entries are counted: all but the last."""
    codewords: int
    """How many a seed has."""
    seeds: int
    """Payloads are the integers below seeds * codewords: number i of seed s is s * codewords + i."""

    def __post_init__(self) -> None:
        _check(self.size >= 1, f"a codeword has at least 1 entry that is counted, not {self.size}")
        _check(self.codewords >= 2, f"a seed has at least 2 codewords, not {self.codewords}")
        _check(self.seeds >= 1, f"there is at least 1 seed, not {self.seeds}")
        payloads = self.seeds * self.codewords
        _check(payloads <= 1 << PAYLOAD_BITS, f"there are at most 2^48 codewords of all seeds, not {payloads}")

    @property
    def wide(self) -> bool:
        """Whether the payload needs a wide row."""
        return False

    @property
    def bits(self) -> float:
        """So many bits, at most, say which payload came."""
        return math.log2(self.seeds * self.codewords)

    @property
    def counters(self) -> int:
        """How many counters the column has: reports, sums, sums of squares."""
        return 1 + 2 * self.size


Shape = Symbol | Bitmap | Integer | Integers | Codeword
