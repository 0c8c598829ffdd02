"""Codewords: few seeds of few codewords, whose whole channel can be listed, and many."""

from __future__ import annotations

from deniable.mechanisms import Codewords
from deniable.mechanisms._entries import pack
from support.cases import FOUR, ONE, TWO, Asked, Cases, Subject

__all__ = ["CASES"]

CASES = Cases(
    proved="tests/mechanisms/test_codewords.py",
    scripted=(
        Subject(Codewords(FOUR, 2, 9, 8, 2, 5), (pack([0, 0]), pack([-9, 0]), pack([5, 6]))),
        Subject(Codewords.best(ONE, 3, 9), (pack([0, -2, 8]),)),
    ),
    fitted=(Subject(Codewords(TWO, 1, 9, 8, 2, 5), (pack([-9]),)),),
    timed=(Subject(Codewords.best(ONE, 8, 200), (pack([0] * 8), pack([200] + [0] * 7), pack([1, -1] * 4))),),
    asked=(
        Asked("gradient", 'kind = "vector"\ndimensions = 3\nclip = 1\nnorm = "l2"', [[0.5, -0.1, 0], [3, 0, 4]]),
        # Devices take a fifth of a millisecond for a report: half a million of them are for the long version alone.
        Asked("slope", 'kind = "vector"\ndimensions = 1\nclip = 1\nnorm = "l2"', audited=1_000_001),
    ),
)
