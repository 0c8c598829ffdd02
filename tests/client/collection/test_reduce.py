"""Reducers: several values of one epoch become one, whoever recorded them and in how many parts."""

from __future__ import annotations

import json
from collections import Counter
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtrc

from deniable.collection.reduce import REDUCERS


def reduced(name: str, values: list[Any]) -> Any:
    """The answer to values recorded one after the other."""
    reducer = REDUCERS[name]
    return reducer.finish(reduce(reducer.merge, map(reducer.start, values)))


@pytest.mark.parametrize(
    ("name", "values", "answer"),
    [
        ("last", [True, False], False),
        ("last", ["chrome", "edge"], "edge"),
        ("any", [False, True, False], True),
        ("any", [False, False], False),
        ("any", [["b"], ["a", "b"], []], ["a", "b"]),
        ("all", [True, False, True], False),
        ("all", [True, True], True),
        ("all", [["a", "b"], ["b", "c"]], ["b"]),
        ("sum", [1.5, 2.0, -0.5], 3.0),
        ("mean", [1.0, 2.0, 6.0], 3.0),
        ("max", [1.0, 3.0, 2.0], 3.0),
        ("min", [1.0, -3.0, 2.0], -3.0),
    ],
)
def test_what_a_reducer_makes_of_values(name: str, values: list[Any], answer: Any) -> None:
    """The word in the collection file is what happens."""
    assert reduced(name, values) == answer


@pytest.mark.parametrize("name", sorted(REDUCERS))
def test_one_value_is_its_own_answer(name: str) -> None:
    """Whatever the reducer, there is nothing to reduce; it goes by the name it is found under."""
    assert REDUCERS[name].name == name
    assert reduced(name, [3.0]) == 3.0


PARTS = st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=5), min_size=1, max_size=5)


@pytest.mark.parametrize("name", ["last", "sum", "mean", "max", "min"])
@given(parts=PARTS)
def test_parts_recorded_by_several_processes_make_the_same_answer(name: str, parts: list[list[int]]) -> None:
    """Merging the states of parts, stored as JSON between, is the state of all values in their order."""
    reducer = REDUCERS[name]
    states = [reduce(reducer.merge, map(reducer.start, part)) for part in parts]
    stored = [json.loads(json.dumps(state)) for state in states]
    assert reducer.finish(reduce(reducer.merge, stored)) == reduced(name, [value for part in parts for value in part])


@pytest.mark.parametrize("name", ["any", "all"])
@given(parts=st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=4))
def test_parts_of_truth_values_too(name: str, parts: list[list[bool]]) -> None:
    """`any` and `all` are the language's own, over all parts."""
    reducer = REDUCERS[name]
    states = [reduce(reducer.merge, map(reducer.start, part)) for part in parts]
    own = {"any": any, "all": all}[name]
    assert reducer.finish(reduce(reducer.merge, states)) is own(value for part in parts for value in part)


def test_a_sample_is_any_value_with_the_same_chance() -> None:
    """Six values recorded by three processes as 1, 2 and 3: each is the answer in a sixth of 60,000 epochs.

    Chi-square with a false alarm in a million; a process's values counted as one would be noticed all but surely.
    """
    reducer = REDUCERS["sample"]
    counts: Counter[int] = Counter()
    for _ in range(60_000):
        states = [reduce(reducer.merge, map(reducer.start, part)) for part in ([0], [1, 2], [3, 4, 5])]
        counts[reducer.finish(reduce(reducer.merge, states))] += 1
    assert counts.keys() == set(range(6))
    statistic = sum((count - 10_000) ** 2 / 10_000 for count in counts.values())
    assert chdtrc(5, statistic) > 1e-6


@pytest.mark.parametrize("name", sorted(REDUCERS))
def test_a_state_does_not_grow_with_what_is_recorded(name: str) -> None:
    """A thousand values take no more room than a few: they are not kept."""
    reducer = REDUCERS[name]
    state = reduce(reducer.merge, (reducer.start(True) for _ in range(1000)))
    assert len(json.dumps(state)) < 20
