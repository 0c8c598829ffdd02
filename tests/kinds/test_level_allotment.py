"""Levels: how devices are allotted to them, and that chance draws each as often as it should."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest

from deniable.epsilon import Epsilon
from deniable.kinds import _levels
from deniable.mechanisms import RandomizedResponse
from deniable.randomness import WORD


def of_sum(variances: Sequence[float]) -> _levels.Slopes:
    """The error is the sum of variances, each over its share: then shares go with the roots of the variances."""
    return lambda shares: [own / share**2 for own, share in zip(variances, shares, strict=True)]


def test_shares_are_those_of_the_least_error() -> None:
    """Where the least error is known, they are found."""
    found = _levels.shares(3, of_sum([1.0, 4.0, 9.0]))
    assert found == pytest.approx([1 / 6, 2 / 6, 3 / 6], rel=1e-6)
    assert sum(found) == pytest.approx(1)


def test_a_level_that_is_worth_nothing_is_asked_now_and_then() -> None:
    """An answer relies on none of them, and no allotment is so lopsided that it would have to."""
    found = _levels.shares(3, of_sum([1.0, 1.0, 0.0]))
    assert found[2] > 1 / 300
    assert found[0] == pytest.approx(found[1])


def test_words_draw_levels_by_their_shares() -> None:
    """Thresholds cut the words into stretches, of which the last one ends with the last word."""
    ends = _levels.thresholds([0.25, 0.25, 0.5])
    assert ends == (WORD // 4, WORD // 2, WORD)
    assert [_levels.drawn(ends, word) for word in (0, WORD // 4 - 1, WORD // 4, WORD // 2, WORD - 1)] == [
        0,
        0,
        1,
        2,
        2,
    ]


@pytest.mark.parametrize("levels", [1, 2, 7, 12])
def test_every_word_draws_a_level_and_stretches_are_as_long_as_shares(levels: int) -> None:
    """To within what whole thresholds leave over."""
    wanted = _levels.shares(levels, of_sum([1.0 + level for level in range(levels)]))
    ends = _levels.thresholds(wanted)
    assert len(ends) == levels
    assert ends[-1] == WORD
    stretches = [end - start for start, end in zip((0, *ends), ends, strict=False)]
    assert [stretch / WORD for stretch in stretches] == pytest.approx(wanted, abs=1e-8)
    grid = Counter(_levels.drawn(ends, part * WORD // 10_000) for part in range(10_000))
    assert all(math.isclose(grid[level] / 10_000, wanted[level], abs_tol=2e-4) for level in range(levels))


def test_each_level_is_asked_by_what_is_best_for_its_size() -> None:
    """As a category of so many values would be; or by the mechanism that is named."""
    columns = _levels.asked(Epsilon.of(1), [2, 4, 256], "auto")
    assert [column.name for column in columns] == [
        "randomized_response",
        "randomized_response",
        "projective_geometry",
    ]
    assert [column.inputs for column in columns] == [2, 4, 256]
    named = _levels.asked(Epsilon.of(1), [2, 256], "randomized_response")
    assert all(isinstance(column, RandomizedResponse) for column in named)
