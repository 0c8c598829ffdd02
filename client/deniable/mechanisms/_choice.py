"""Which mechanism asks best for one of several answers: by computed variance, and by what a report weighs.

words:
  choice     a mechanism for these answers at this epsilon, with the variance of one report's estimate
  wide       its reports do not fit a row of eight bytes
  allowance  how many times the least variance a narrow choice may have before a wide one takes its place

Randomized response and projective geometry response send one number. Subset selection, the most accurate always,
sends a bit for each answer: that fits a row up to 48 answers, and is a wide row of up to 512 bytes beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms._support import variance
from deniable.mechanisms.projective_geometry import MOST_POINTS, ProjectiveGeometryResponse
from deniable.mechanisms.randomized_response import RandomizedResponse
from deniable.mechanisms.subset_selection import SubsetSelection
from deniable.payload import PAYLOAD_BITS

__all__ = ["MOST_BITS", "Choice", "choices", "choose"]

MOST_BITS = 4096
"""The most answers that a bitmap is sent of: half a kilobyte a report."""
_SMALL = 2
_SMALL_ALLOWANCE = Fraction(103, 100)
"""Up to epsilon 2, where devices are spent on noise alone."""
_ALLOWANCE = Fraction(108, 100)

_Frequency = RandomizedResponse | SubsetSelection | ProjectiveGeometryResponse


class Choice(NamedTuple):
    """One mechanism that could ask for these answers."""

    name: str
    """As it is written in a collection file."""
    mechanism: Mechanism
    """The best of its sort at this epsilon."""
    variance: float
    """Of one report's estimate of a rare answer; of n reports, divided by n."""
    wide: bool
    """Whether its reports need wide rows."""


class _Sort(NamedTuple):
    best: Callable[[Epsilon, int], _Frequency]
    """Makes the best of its sort."""
    most: int
    """For at most so many answers."""


_SORTS = {
    RandomizedResponse.name: _Sort(RandomizedResponse, 1 << PAYLOAD_BITS),
    SubsetSelection.name: _Sort(SubsetSelection.best, MOST_BITS),
    ProjectiveGeometryResponse.name: _Sort(ProjectiveGeometryResponse.best, MOST_POINTS // 2),
}


def choices(epsilon: Epsilon, inputs: int) -> list[Choice]:
    """Every mechanism that fits, the one that `auto` chooses first, then by variance."""
    fitting = [_choice(epsilon, inputs, name) for name, sort in _SORTS.items() if inputs <= sort.most]
    ranked = sorted(fitting, key=lambda choice: choice.variance)  # stable: a symbol goes before an equal bitmap
    best = _best(epsilon, ranked)
    return [best, *(choice for choice in ranked if choice is not best)]


def choose(epsilon: Epsilon, inputs: int, name: str) -> Mechanism:
    """The mechanism of that name, or the best ("auto"); a ValueError says what to do where it does not fit."""
    if name == "auto":
        return choices(epsilon, inputs)[0].mechanism
    sort = _SORTS[name]
    if inputs > sort.most:
        others = " or ".join(f'"{other}"' for other in _SORTS if inputs <= _SORTS[other].most)
        raise ValueError(
            f"{name} asks for one of at most {sort.most} answers, not of {inputs}: leave the mechanism out, "
            f"or use {others}"
        )
    return sort.best(epsilon, inputs)


def _choice(epsilon: Epsilon, inputs: int, name: str) -> Choice:
    mechanism = _SORTS[name].best(epsilon, inputs)
    return Choice(name, mechanism, float(variance(mechanism.p, mechanism.q)), mechanism.shape.wide)


def _best(epsilon: Epsilon, ranked: list[Choice]) -> Choice:
    """The least variance; the best narrow one where it comes near enough."""
    allowance = _SMALL_ALLOWANCE if epsilon.value <= _SMALL else _ALLOWANCE
    narrow = next(choice for choice in ranked if not choice.wide)
    return narrow if narrow.variance <= allowance * ranked[0].variance else ranked[0]
