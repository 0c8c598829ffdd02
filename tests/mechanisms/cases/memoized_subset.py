"""Memoized subset: subsets of answers, and of the answers of a set's drawn slot."""

from __future__ import annotations

from deniable.epsilon import Epsilon
from deniable.mechanisms import MemoizedSubset, PadAndSample, SubsetSelection
from support.cases import DOMAINS, EPSILONS, FOUR, NAMES, ONE, TWO, Asked, Cases, Family, Subject, listed

__all__ = ["CASES"]


def repeated_subset(epsilon: Epsilon, answers: int) -> MemoizedSubset:
    """A remembered subset, of which one answer is named every time."""
    return MemoizedSubset(SubsetSelection.best(epsilon, answers), epsilon.part(2))


def repeated_two_of(epsilon: Epsilon, values: int) -> MemoizedSubset:
    """What is remembered of sets of up to two values, and named every time."""
    return MemoizedSubset(PadAndSample(epsilon, values, 2, "subset_selection"), epsilon.part(2))


CASES = Cases(
    families=(
        Family(repeated_subset, EPSILONS, DOMAINS[:4], (("4", 12),)),
        Family(repeated_two_of, EPSILONS, (2, 5), (("4", 8),)),
    ),
    apart="the twin draws what is sent without drawing what is remembered",
    fitted=(
        Subject(MemoizedSubset(SubsetSelection(FOUR, 6, 2), FOUR), (5,)),
        Subject(MemoizedSubset(PadAndSample(FOUR, 3, 2), FOUR), (1 + 4 * 3,)),
    ),
    timed=(Subject(MemoizedSubset(SubsetSelection(TWO, 6, 2), ONE), (0, 5)),),
    discards=True,
    asked=(
        Asked(
            "subset_remembered",
            f'kind = "category"\nvalues = {listed(NAMES[:30])}\nmemoize = true\ninstantaneous_epsilon = 4',
            NAMES[:2],
            1_200_000,
        ),
    ),
)
