"""Which mechanism asks best for one of several answers: by computed variance, and by what a report weighs.

words:
  choice     a mechanism for these answers at this epsilon, with the variance of one report's estimate
  wide       its reports do not fit a row of eight bytes
  allowance  how many times the least variance a narrow choice may have before a wide one takes its place

Randomized response and projective geometry response send one number. Subset selection, the most accurate always,
sends a bit for each answer: that fits a row up to 48 answers, and is a wide row of up to 512 bytes beyond.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from deniable.epsilon import Epsilon
from deniable.mechanisms._support import Supporting

__all__ = ["Choice", "choices", "choose", "fitting"]

_SMALL = 2
_SMALL_ALLOWANCE = Fraction(103, 100)
"""Up to epsilon 2, where devices are spent on noise alone."""
_ALLOWANCE = Fraction(108, 100)


class Choice(NamedTuple):
    """One mechanism that could ask for these answers."""

    name: str
    """As it is written in a collection file."""
    mechanism: Supporting
    """The best of its sort at this epsilon."""
    variance: float
    """Of one report's estimate of a rare answer; of n reports, divided by n."""
    wide: bool
    """Whether its reports need wide rows."""


def fitting(inputs: int) -> dict[str, type[Supporting]]:
    """The sorts of mechanism, by name, that can ask for one of so many answers."""
    from deniable.mechanisms import MECHANISMS  # the list, in which wrappers that choose stand as well

    return {
        name: sort
        for name, sort in MECHANISMS.items()
        if issubclass(sort, Supporting) and 0 < inputs <= sort.most_answers
    }


def choices(epsilon: Epsilon, inputs: int) -> list[Choice]:
    """Every mechanism that fits: first what `auto` chooses, then by variance, and last those that are only named."""
    every = [_choice(sort.best(epsilon, inputs)) for sort in fitting(inputs).values()]
    ranked = sorted(every, key=lambda choice: choice.variance)  # stable: a symbol goes before an equal bitmap
    ranked.sort(key=lambda choice: not choice.mechanism.automatic)
    best = _best(epsilon, [choice for choice in ranked if choice.mechanism.automatic])
    return [best, *(choice for choice in ranked if choice is not best)]


def choose(epsilon: Epsilon, inputs: int, name: str) -> Supporting:
    """The mechanism of that name, or the best ("auto"); a ValueError says what to do where it does not fit."""
    if name == "auto":
        return choices(epsilon, inputs)[0].mechanism
    sort, others = fitting(2)[name], fitting(inputs)
    if name not in others:
        instead = " or ".join(f'"{other}"' for other in others)
        raise ValueError(
            f"{name} asks for one of at most {sort.most_answers} answers, not of {inputs}: leave the mechanism out, "
            f"or use {instead}"
        )
    return sort.best(epsilon, inputs)


def _choice(mechanism: Supporting) -> Choice:
    return Choice(mechanism.name, mechanism, float(mechanism.variance), mechanism.shape.wide)


def _best(epsilon: Epsilon, ranked: list[Choice]) -> Choice:
    """The least variance; the best narrow one where it comes near enough."""
    allowance = _SMALL_ALLOWANCE if epsilon.value <= _SMALL else _ALLOWANCE
    narrow = next(choice for choice in ranked if not choice.wide)
    return narrow if narrow.variance <= allowance * ranked[0].variance else ranked[0]
