"""Memoized: randomized response over remembered randomized response."""

from __future__ import annotations

from deniable.epsilon import Epsilon
from deniable.mechanisms import Memoized, RandomizedResponse
from support.cases import DOMAINS, EPSILONS, FOUR, ONE, TWO, Asked, Cases, Family, Subject

__all__ = ["CASES"]


def repeated(epsilon: Epsilon, answers: int) -> Memoized:
    """A remembered answer, told with half of its epsilon every time."""
    return Memoized(RandomizedResponse(epsilon, answers), RandomizedResponse(epsilon.part(2), answers))


CASES = Cases(
    families=(Family(repeated, EPSILONS, DOMAINS[:3], (("4", 3),)),),
    scripted=(Subject(Memoized(RandomizedResponse(FOUR, 3), RandomizedResponse(TWO, 3)), (0, 2)),),
    fitted=(Subject(Memoized(RandomizedResponse(FOUR, 3), RandomizedResponse(FOUR, 3)), (2,)),),
    timed=(Subject(Memoized(RandomizedResponse(TWO, 5), RandomizedResponse(ONE, 5)), (0, 4)),),
    asked=(
        Asked(
            "yes_remembered",
            'kind = "boolean"\nmemoize = true\ninstantaneous_epsilon = 0.5',
            [True, False],
            1_000_000,
        ),
    ),
)
