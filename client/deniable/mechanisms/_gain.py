"""How far one fake moves several answers together, by which a list that is to be robust is asked.

words:
  carried    of some answers, those that one report supports: c of r move together by (c - r q) / (p - q)
  drawn ten  ten answers of a list that a hash of the list's length draws: the same on every machine

Whoever pushes answers wants some that it chooses, and a mechanism gives it those that a single report happens to
support. What counts is therefore neither the best case nor the worst, but the mean over ten such tens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from deniable.mechanisms._choice import Choice
from deniable.mechanisms._support import Supporting

__all__ = ["ALLOWANCE", "TEN", "drawn", "gain_over", "gain_over_ten", "least_moved"]

TEN = 10
"""So many answers of a longer list are pushed together."""
_TIMES = 10
ALLOWANCE = Fraction(5, 4)
"""How many times the least variance a choice may have that fakes move less."""


def gain_over(mechanism: Supporting, answers: Sequence[int]) -> Fraction:
    """How far one fake moves up the shares of these answers together, in liars."""
    return (mechanism.carried(answers) - len(answers) * mechanism.q) / (mechanism.p - mechanism.q)


@lru_cache(maxsize=64)
def gain_over_ten(mechanism: Supporting) -> Fraction:
    """The mean of that over drawn tens; of shorter lists over the whole."""
    if mechanism.asked <= TEN:
        return gain_over(mechanism, range(mechanism.asked))
    return sum(gain_over(mechanism, drawn(mechanism.asked, time)) for time in range(_TIMES)) / Fraction(_TIMES)


def drawn(answers: int, time: int) -> list[int]:
    """Ten of so many answers: the remainders of SHA-256 over "answers time number", the first ten that differ."""
    found: dict[int, None] = {}
    number = 0
    while len(found) < TEN:
        hashed = hashlib.sha256(f"{answers} {time} {number}".encode()).digest()
        found[int.from_bytes(hashed, "big") % answers] = None
        number += 1
    return list(found)


def least_moved(every: Sequence[Choice]) -> Choice:
    """The choice that one fake moves least, of those of "auto" with a variance near enough to the least; of two with
    the same gain the one of less variance."""
    own = [choice for choice in every if choice.mechanism.automatic]
    most = ALLOWANCE * min(choice.mechanism.variance for choice in own)
    near = [choice for choice in own if choice.mechanism.variance <= most]
    return min(near, key=lambda choice: (gain_over_ten(choice.mechanism), choice.mechanism.variance))
