"""Words, the aggregator's half: from the share that is told on, a word is found as surely as is said."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from deniable.kinds import Text
from deniable.kinds._imprints import CELLS, GROUPS
from deniable.mechanisms import Supporting
from deniable_aggregator.estimators import Cells, discovered, seen_from
from support.asked import asked

REPORTS = 10_000
"""Of each group."""


@pytest.mark.parametrize("letters", [4, 8, 16])
def test_from_the_share_that_is_told_on_words_are_found_nearly_always(letters: int) -> None:
    """95 times of 100, by the exact chances: what comes out in one of ten fleets, or more, is enough to be found, and
    what is as little as in one of a hundred is not."""
    metric = asked("text", "epsilon = 2")
    kind, mechanism = metric.kind, metric.columns[0].mechanism
    assert isinstance(kind, Text)
    assert isinstance(mechanism, Supporting)
    word, p, q = "e" * letters, float(mechanism.p), float(mechanism.q)
    imprint = kind.imprint(word)
    assert imprint is not None
    nothing = np.full((GROUPS, CELLS + 1), round(REPORTS * q))
    cells = Cells(mechanism, np.full(GROUPS, REPORTS), nothing)
    rate = q + seen_from(cells, imprint, 0.95) * (p - q)
    for part, found in ((0.1, [word]), (0.01, [])):
        supports, count = nothing.copy(), binom.ppf(part, GROUPS * REPORTS, rate)
        supports[np.arange(GROUPS), imprint.cells] = np.diff(np.rint(np.linspace(0, count, GROUPS + 1)))
        own = Cells(mechanism, cells.reports, supports)
        assert [each.word for each in discovered(own, kind.code, kind.is_word)] == found
