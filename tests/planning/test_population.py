"""Populations: a million devices with few values are an array of places."""

from __future__ import annotations

import numpy as np
import pytest

from deniable_aggregator.planning.population import Population


def test_a_population_is_the_sequence_of_everybodys_values() -> None:
    """Length, values, slices and iteration are those of the list that it stands for."""
    values = [True, 1, 1.0, "1", ["a"], ["a"], [], True, None]
    found = Population.of(values)
    assert len(found) == len(values)
    assert [repr(value) for value in found] == [repr(value) for value in values]
    assert [repr(found[place]) for place in range(len(values))] == [repr(value) for value in values]
    assert [repr(value) for value in found[3:6]] == [repr(value) for value in values[3:6]]
    assert len(found.values) == 7


def test_the_population_of_a_population_is_itself() -> None:
    """Nothing is counted again."""
    found = Population.of(["a", "b", "a"])
    assert Population.of(found) is found


def test_there_can_be_nobody() -> None:
    """An empty list has an empty population."""
    assert list(Population.of([])) == []


@pytest.mark.parametrize("places", [[0, 2], [-1, 0]])
def test_a_place_without_a_value_is_refused(places: list[int]) -> None:
    """Every device has one of the values."""
    with pytest.raises(ValueError, match="below the 2 values"):
        Population(["a", "b"], np.array(places))
