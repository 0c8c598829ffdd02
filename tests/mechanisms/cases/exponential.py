"""The exponential mechanism: short scales and long ones."""

from __future__ import annotations

from deniable.mechanisms import Exponential
from support.cases import EPSILONS, ONE, TWO, Asked, Cases, Family, Subject

__all__ = ["CASES"]

CASES = Cases(
    families=(Family(Exponential, EPSILONS, (2, 3, 16, 48), (("2", 5),), (("1", 1), ("1", 4097))),),
    scripted=(Subject(Exponential(TWO, 7), (0, 3, 6)),),
    fitted=(Subject(Exponential(TWO, 7), (0, 3)),),
    timed=(
        Subject(Exponential(ONE, 5), (0, 2, 4)),
        Subject(Exponential(ONE, 100), (0, 50, 99)),
    ),
    asked=(
        Asked(
            "grade",
            'kind = "ordinal"\nvalues = ["1", "2", "3", "4", "5"]\nmechanism = "exponential"',
            ["1", "4"],
            1_000_000,
        ),
    ),
)
