"""What a list is asked by where nobody has said it: devices that are there chose so, and what is served must, too.

A choice is in the collection's digest. If a later version chooses otherwise, reports of the versions before it are of
a collection that nobody serves. So these tables are kept, and a mechanism that is added is named (docs/adding.md).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from deniable.epsilon import Epsilon
from deniable.kinds import Category
from deniable.mechanisms import choices

SORTS = {"r": "randomized_response", "s": "subset_selection", "p": "projective_geometry"}
AUTO = {
    "0.1": "r 2 s 4 p 49",
    "0.5": "r 2 s 5 p 58",
    "1": "r 2 s 7 p 93 s 122 p 193",
    "2": "r 2 s 16 p 49 s 58 p 106 s 134 p 161",
    "4": "r 2 s 130 p 358",
    "8": "r 2 p 23931",
}
"""By epsilon: the sort, and from how many answers on."""
SIZES = (
    *(3, 5, 10, 13, 14, 16, 19, 20, 24, 31, 33, 41, 43, 44, 48),
    *(57, 64, 81, 100, 121, 127, 128, 130, 131, 200, 1000),
)
ROBUST = {
    "0.5": "rssppssppppspsppppppsssppp",
    "1": "rrsssssspppppppppppppppppp",
    "2": "rrrrrrrrrspppppppppppppppp",
    "4": "rrrrrrrrrrrrrrrrrrrrrrrrpp",
}
"""By epsilon: the sort of each of these sizes."""


def sort(epsilon: str, answers: int, *, robust: bool = False) -> str:
    """The letter of what is chosen."""
    kind = Category(tuple(f"v{number}" for number in range(answers)), robust=robust)
    (column,) = kind.columns(Epsilon.of(Fraction(epsilon)), "auto")
    return next(letter for letter, name in SORTS.items() if name == column.name)


@pytest.mark.parametrize("epsilon", AUTO)
def test_what_is_chosen_of_itself_stays(epsilon: str) -> None:
    """At both sides of each change, and between two of them."""
    words = AUTO[epsilon].split()
    begins = [(words[number], int(words[number + 1])) for number in range(0, len(words), 2)]
    for (own, begin), (_, end) in pairwise([*begins, ("", 2 * begins[-1][1])]):
        for answers in {begin, (begin + end) // 2, end - 1}:
            assert choices(Epsilon.of(Fraction(epsilon)), answers)[0].name == SORTS[own], answers


@pytest.mark.parametrize("epsilon", ROBUST)
def test_what_is_chosen_for_a_robust_list_stays(epsilon: str) -> None:
    """Of many sizes: where two sorts are near each other, the least of what fakes gain decides between them."""
    assert "".join(sort(epsilon, answers, robust=True) for answers in SIZES) == ROBUST[epsilon]
