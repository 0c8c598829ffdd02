"""Discrete Gaussian noise: of one entry, whose twin draws as the client does, and of many."""

from __future__ import annotations

from fractions import Fraction

from deniable.mechanisms import Gaussian
from deniable.mechanisms._entries import pack
from support.cases import FOUR, ONE, Asked, Cases, Subject

__all__ = ["CASES"]

_TINY = Fraction(1, 10**6)
CASES = Cases(
    proved="tests/mechanisms/test_gaussian.py",
    scripted=(
        Subject(Gaussian(FOUR, _TINY, 1, 9), (pack([0]), pack([-9]))),
        Subject(Gaussian(ONE, _TINY, 1, 4000), (pack([0]), pack([4000]))),
    ),
    fitted=(
        Subject(Gaussian(FOUR, _TINY, 1, 9), (pack([9]),)),
        Subject(Gaussian(FOUR, _TINY, 1, 20), (pack([0]),)),
    ),
    timed=(Subject(Gaussian(ONE, _TINY, 64, 200), (pack([0] * 64), pack([100] + [0] * 63), pack([1, -1] * 32))),),
    asked=(
        Asked(
            "update",
            'kind = "vector"\ndimensions = 3\nclip = 1\nnorm = "l2"\ndelta = 1e-9\nfleet = 1000000',
            [[0.5, -0.1, 0], [3, 0, 4]],
        ),
        # A delta of two per cent shows in samples; those that fleets can afford do not.
        Asked(
            "exposed",
            'kind = "vector"\ndimensions = 1\nclip = 1\nnorm = "l2"\ndelta = 0.02\nfleet = 40',
            audited=4_000_000,
        ),
    ),
)
