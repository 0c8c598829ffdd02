"""Subset selection: subsets of one answer, of some, of many."""

from __future__ import annotations

from deniable.mechanisms import SubsetSelection
from support.cases import DOMAINS, EPSILONS, NAMES, ONE, TWO, Asked, Cases, Family, Subject, listed

__all__ = ["CASES"]

CASES = Cases(
    families=(Family(SubsetSelection.best, EPSILONS, DOMAINS, (("2", 8),), (("1", 1), ("1", 0))),),
    apart="Floyd's algorithm takes other words than coins on all bits at once",
    fitted=tuple(Subject(SubsetSelection(TWO, 8, size), (0, 3, 7)) for size in (1, 2, 4)),
    timed=(
        Subject(SubsetSelection.best(ONE, 48), (0, 7, 47)),
        Subject(SubsetSelection.best(ONE, 300), (0, 150, 299)),
    ),
    discards=True,
    asked=(
        Asked(
            "subset",
            f'kind = "category"\nvalues = {listed(NAMES)}\nmechanism = "subset_selection"',
            NAMES[:2],
            600_000,
        ),
    ),
)
