"""What a report lets somebody believe, as a chance and in words such as "3 in 4".

words:
  chance   of an answer, for somebody who has not seen the report; an even bet is a chance of 1/2
  ratio    how many times likelier the report is under one answer than under another, at most
  believed the most that the answer's chance can become by seeing it: ratio c / (ratio c + 1 - c), Bayes' rule at the
           worst ratio
"""

from __future__ import annotations

import math

__all__ = ["believed", "in_words", "parts", "sure"]

_WHOLES = (2, 3, 4, 5, 6, 8, 10, 20, 50, 100, 1000, 10_000)
"""Odds are said as so many in one of these."""
_NEAR = 0.1
"""Odds may be farther from 0 and 1 than the chance that they stand for by this part of the way."""
_SLACK = 1e-6
"""Floating point may put a chance so much above the odds that it is meant to be."""


def believed(chance: float, epsilon: float) -> float:
    """The most that an answer of this chance is believed after a report, at this epsilon."""
    return 1 / (1 + math.exp(-epsilon) * (1 - chance) / chance)


def sure(ratio: float) -> str:
    """How sure somebody is at most, after a report of this ratio, of what was an even bet before: in words."""
    return in_words(1 - 1 / (1 + ratio))


def in_words(chance: float) -> str:
    """The odds of a chance as people say them, rounded up: never less than the chance."""
    found = parts(chance)
    return f"{found[0]:,} in {found[1]:,}" if found else "all but certain"


def parts(chance: float) -> tuple[int, int] | None:
    """The same as two numbers, such as 3 and 4; None where it is all but certain."""
    for whole in _WHOLES:
        part = math.ceil(chance * whole - _SLACK)
        if part < whole and part / whole - chance <= _NEAR * min(chance, 1 - chance):
            return part, whole
    return None
