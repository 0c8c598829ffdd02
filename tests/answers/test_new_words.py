"""Which words are called new, of changes whose chances are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deniable import Collection
from deniable_aggregator.analysis.anytime import Looks
from deniable_aggregator.analysis.catalog import NOWHERE
from deniable_aggregator.analysis.changes import RATE, Changed, _found
from deniable_aggregator.analysis.comparison import compared
from support.collection_files import head, metric

COLLECTION = Collection.loads(head("shop", 1.0) + metric("engine", "boolean"))
ENGINE = COLLECTION.metrics["engine"]
SIDE = [[np.array([50, 50])]]
"""Of a boolean, which is made sooner than words are: what changes are called is asked of no kind."""
CHANGES = {
    "new": (True, 0.1, 1e-6),
    "grown": (False, 0.1, 1e-9),
    "fallen": (True, -0.1, 1e-6),
    "frequent by chance": (True, 0.1, 0.015),
}
"""By word: whether it has come, by how much it differs, and how often it would if it did not. At a false discovery
rate of 5% a chance up to 0.024 is found as the fourth of four, and one up to 0.012 as the second."""


def told(**other: Any) -> Changed:
    """A day beside the day before it, unless other windows or segments are told."""
    comparison = compared(ENGINE, SIDE, SIDE)
    (heading, (change,)), *_ = comparison.series
    rows = tuple(
        replace(change, key=word, came=came, value=value, p_value=chance)
        for word, (came, value, chance) in CHANGES.items()
    )
    found = Changed(
        COLLECTION,
        ENGINE,
        (range(9, 10), range(10, 11)),
        ({}, {}),
        replace(comparison, series=((heading, rows),)),
        (),
        False,
        Looks.ONE,
        NOWHERE,
        ((), ()),
    )
    return replace(found, **other)


def marked(found: Changed, most: int = 0) -> list[tuple[str, bool, bool]]:
    """What each row is called."""
    ((rows,),) = (own.rows for own in _found([found], most, RATE).changed)
    return [(row.change.key, row.found, row.new) for row in rows]


def test_new_is_what_has_come_and_is_found_by_itself() -> None:
    """Not what has only grown, nor what has fallen; and not what is found for the company that it is in."""
    assert marked(told()) == [
        ("new", True, True),
        ("grown", True, False),
        ("fallen", True, False),
        ("frequent by chance", True, False),
    ]


def test_what_is_new_comes_first() -> None:
    """Where only some rows are asked for, before what differs more certainly."""
    assert [key for key, *_ in marked(told(), 2)] == ["new", "grown"]


@pytest.mark.parametrize(
    "other",
    [
        {"windows": (range(8, 10), range(10, 11))},
        {"windows": (range(11, 12), range(10, 11))},
        {"segments": ({"platform": "linux"}, {"platform": "windows"})},
        {"fixed": True},
    ],
    ids=["a longer window", "a later one", "other devices", "a baseline"],
)
def test_nothing_is_new_beside_anything_but_the_window_before(other: dict[str, Any]) -> None:
    """Found it is all the same."""
    assert [(found, new) for _, found, new in marked(told(**other))] == [(True, False)] * 4
