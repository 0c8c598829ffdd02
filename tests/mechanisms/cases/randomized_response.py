"""Randomized response: the survey with two coins, and many answers."""

from __future__ import annotations

from deniable.epsilon import Epsilon
from deniable.mechanisms import RandomizedResponse
from support.cases import DOMAINS, EPSILONS, FOUR, NAMES, ONE, TWO, Asked, Cases, Family, Subject, listed

__all__ = ["CASES"]

_COINS = Epsilon.of("ln 3")
CASES = Cases(
    families=(Family(RandomizedResponse, EPSILONS, DOMAINS, (("ln 3", 2), ("3", 48)), (("1", 1), ("1", 1 << 49))),),
    scripted=(
        Subject(RandomizedResponse(_COINS, 2), (0, 1)),
        Subject(RandomizedResponse(TWO, 48), (0, 20, 47)),
    ),
    fitted=(
        Subject(RandomizedResponse(_COINS, 2), (1,)),
        Subject(RandomizedResponse(FOUR, 48), (20,)),
    ),
    timed=(
        Subject(RandomizedResponse(ONE, 2), (0, 1)),
        Subject(RandomizedResponse(ONE, 48), (0, 7, 47)),
    ),
    asked=(
        Asked("yes", 'kind = "boolean"', [True, False], 400_000),
        Asked(
            "named",
            f'kind = "category"\nvalues = {listed(NAMES)}\nmechanism = "randomized_response"',
            NAMES[7:9],
            4_000_000,
        ),
        Asked(
            "drawn",
            'kind = "flags"\nflags = ["a", "b", "c"]\nmechanism = "randomized_response"',
            [[], ["a", "c"]],
            400_000,
        ),
    ),
)
