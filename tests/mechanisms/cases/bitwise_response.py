"""Bitwise response: one flag, some, and more than a row of eight bytes has room for."""

from __future__ import annotations

from deniable.mechanisms import BitwiseResponse
from support.cases import EPSILONS, FOUR, ONE, Asked, Cases, Family, Subject

__all__ = ["CASES"]

CASES = Cases(
    families=(Family(BitwiseResponse, EPSILONS, (1, 2, 6), (("2", 3),), (("1", 0),)),),
    scripted=(
        Subject(BitwiseResponse(FOUR, 5), (0, 0b10110, 31)),
        Subject(BitwiseResponse(FOUR, 70), (0, (1 << 70) - 1, 1 << 64 | 5)),
    ),
    fitted=(Subject(BitwiseResponse(FOUR, 4), (0b1010,)),),
    timed=(Subject(BitwiseResponse(ONE, 10), (0, 5, 1023)),),
    asked=(
        Asked(
            "plugins",
            'kind = "flags"\nflags = ["a", "b", "c"]\nmechanism = "bitwise_response"',
            [[], ["a", "c"]],
            1_000_000,
        ),
    ),
)
