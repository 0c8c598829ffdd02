"""Memoized bitwise response: flags that are flipped, remembered and flipped again."""

from __future__ import annotations

from deniable.epsilon import Epsilon
from deniable.mechanisms import BitwiseResponse, MemoizedBitwise
from support.cases import EPSILONS, FOUR, ONE, TWO, Asked, Cases, Family, Subject

__all__ = ["CASES"]


def repeated_flags(epsilon: Epsilon, flags: int) -> MemoizedBitwise:
    """Remembered flags, told with half of their epsilon every time."""
    return MemoizedBitwise(BitwiseResponse(epsilon, flags), BitwiseResponse(epsilon.part(2), flags))


CASES = Cases(
    families=(Family(repeated_flags, EPSILONS, (1, 2, 6), (("4", 2),)),),
    scripted=(Subject(MemoizedBitwise(BitwiseResponse(FOUR, 4), BitwiseResponse(TWO, 4)), (0, 0b0110)),),
    fitted=(Subject(MemoizedBitwise(BitwiseResponse(FOUR, 3), BitwiseResponse(FOUR, 3)), (0b011,)),),
    timed=(Subject(MemoizedBitwise(BitwiseResponse(TWO, 4), BitwiseResponse(ONE, 4)), (0, 15)),),
    asked=(
        Asked(
            "plugins_remembered",
            'kind = "flags"\nflags = ["a", "b"]\nmemoize = true\ninstantaneous_epsilon = 1\n'
            'mechanism = "bitwise_response"',
            [[], ["b"]],
            1_200_000,
        ),
    ),
)
