"""Which segments are published beside the whole."""

from __future__ import annotations

import pytest

from deniable_aggregator.publishing import kept
from deniable_aggregator.telling.tables import Table


@pytest.mark.parametrize(
    ("reports", "published"),
    [
        ([5_000, 4_000, 3_000], [5_000, 4_000, 3_000]),
        ([5_000, 4_000, 12], [5_000]),
        ([5_000, 4_000, 700, 600], [5_000, 4_000]),
        ([5_000, 4_000, 12, 13], [5_000]),
        ([5_000, 4_000, 12, 0], [5_000]),
        ([5_000, 4_000, 0, 0], [5_000, 4_000]),
        ([5_000, 12], []),
        ([12], []),
    ],
    ids=["all are large", "one alone is small", "two are, and many together", "two are, and few together",
         "one is, and one has none", "nobody is left out who is there", "one of two", "one"],
)  # fmt: skip
def test_what_is_alone_is_left_out_with_the_next(reports: list[int], published: list[int]) -> None:
    """Where fewer than a thousand reports are too few; rows of one segment stay together, in their order."""
    rows = [
        {"segment": f"s={place}", "reports": own, "key": key} for place, own in enumerate(reports) for key in "ab"
    ]
    assert [row["reports"] for row in kept(Table(rows), 1_000)] == [own for own in published for _ in "ab"]
