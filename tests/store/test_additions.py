"""Additions: entries are checked, and packed into runs that say the same."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.store import Additions, CounterKey
from deniable_aggregator.store.additions import pack
from support.aggregator_store import additions

KEYS = [CounterKey(1, column, 2, 3) for column in range(4)]

some_amounts = st.dictionaries(st.integers(0, 99), st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30)


@given(st.lists(some_amounts, min_size=1, max_size=4))
def test_runs_say_what_the_entries_say(amounts: list[dict[int, int]]) -> None:
    """Runs, read one after another, give every counter its amount, and no other counter anything."""
    packed = pack(additions(dict(zip(KEYS, amounts, strict=False))))
    runs = iter(struct.iter_unpack("<II", packed.runs))
    values = iter(struct.iter_unpack("<q", packed.amounts))
    for count, expected in zip(packed.runs_of_key, amounts, strict=True):
        found: dict[int, int] = {}
        for _ in range(count):
            first, length = next(runs)
            for counter in range(first, first + length):
                assert counter not in found
                found[counter] = next(values)[0]
        assert {counter: amount for counter, amount in found.items() if amount} == {
            counter: amount for counter, amount in expected.items() if amount
        }
        assert expected.keys() <= found.keys()
    assert next(runs, None) is None
    assert next(values, None) is None


def test_neighbours_share_a_run_and_strangers_do_not() -> None:
    """Entries that are eight apart are one run; nine apart, they are two."""
    packed = pack(additions({KEYS[0]: {0: 1, 8: 1, 17: 1}, KEYS[1]: {18: 1}}))
    assert list(struct.iter_unpack("<II", packed.runs)) == [(0, 9), (17, 1), (18, 1)]
    assert packed.runs_of_key.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("key", "counter"),
    [
        ([0, 0], [5, 5]),
        ([0, 0], [5, 4]),
        ([0, 2], [0, 0]),
        ([1, 1], [0, 1]),
        ([0, 0], [0, 1]),
        ([1, 0], [0, 0]),
        ([0, 1], [0, 100]),
        ([0, 1], [-1, 0]),
        ([], []),
    ],
)
def test_entries_out_of_place_are_refused(key: list[int], counter: list[int]) -> None:
    """Entries that are twice, out of order, out of range or that leave a key without any are refused."""
    with pytest.raises(ValueError, match=r"order|entry|counters"):
        Additions(KEYS[:2], [100, 100], np.array(key), np.array(counter), np.ones(len(key), dtype=np.int64))


def test_arrays_of_different_lengths_are_refused() -> None:
    """Keys and sizes are of one length, and so are the entries' three arrays."""
    one, two = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    for sizes, amount in (([100, 100], one), ([100], two)):
        with pytest.raises(ValueError, match="length"):
            Additions(KEYS[:1], sizes, one, one, amount)
