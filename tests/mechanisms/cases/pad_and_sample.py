"""Pad and sample: over every mechanism that asks for one answer."""

from __future__ import annotations

from deniable.epsilon import Epsilon
from deniable.mechanisms import PadAndSample
from support.cases import EPSILONS, FOUR, ONE, TWO, Asked, Cases, Family, Subject

__all__ = ["CASES"]


def two_of(epsilon: Epsilon, values: int) -> PadAndSample:
    """Sets of up to two values."""
    return PadAndSample(epsilon, values, 2)


_SETS = PadAndSample(ONE, 20, 5)
_POINTS = PadAndSample(ONE, 40, 5, "projective_geometry")
CASES = Cases(
    families=(Family(two_of, EPSILONS, (2, 5, 10), (("2", 4),), (("1", 1),)),),
    scripted=(
        Subject(PadAndSample(TWO, 6, 3), (0, 1 + 7 * 4, 3)),
        Subject(PadAndSample(TWO, 40, 2, "projective_geometry"), (0, 3)),
    ),
    fitted=(Subject(PadAndSample(FOUR, 6, 2), (1 + 7 * 4,)),),
    timed=(
        Subject(_SETS, tuple(_SETS.encode(items) for items in ([], [3], [0, 19], [0, 4, 7, 8, 19]))),
        Subject(_POINTS, tuple(_POINTS.encode(items) for items in ([], [3], [0, 39], [0, 4, 7, 8, 39]))),
    ),
    asked=(
        Asked(
            "languages",
            'kind = "set"\nvalues = ["a", "b", "c", "d", "e", "f"]\nmax_items = 2',
            [[], ["b"], ["a", "b", "f"]],
            600_000,
        ),
    ),
)
