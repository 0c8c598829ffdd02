"""Additions: entries are checked, written down as increments, and added up into runs that say the same."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable_aggregator.store import Additions, CounterKey, CounterOverflow
from deniable_aggregator.store.additions import NONCE_BYTES, Sum, add_up, increment_of
from support.aggregator_store import additions

KEYS = [CounterKey(1 << 63, column, 2, 3) for column in range(4)]
SIZE = 100

Amounts = dict[CounterKey, dict[int, int]]

some_amounts = st.dictionaries(st.integers(0, SIZE - 1), st.integers(-(2**40), 2**40), min_size=1, max_size=30)
some_additions = st.dictionaries(st.sampled_from(KEYS), some_amounts, min_size=1)


def written(amounts: Amounts, expires: int = 7) -> bytes:
    """Amounts as an increment, all of whose keys expire together."""
    return increment_of(additions(amounts, SIZE).written(), np.full(len(amounts), expires, "<u4").tobytes())


def said(added: Sum) -> Counter[tuple[CounterKey, int]]:
    """What the runs add, by key and counter; no counter is in two of them."""
    runs = iter(added.runs.tolist())
    values = iter(added.amounts.tolist())
    found: Counter[tuple[CounterKey, int]] = Counter()
    for key, count in zip(added.keys, added.runs_of_key, strict=True):
        for _ in range(count):
            first, length = next(runs)
            for counter in range(first, first + length):
                assert (key, counter) not in found
                found[key, counter] = next(values)
    assert next(runs, None) is None
    assert next(values, None) is None
    return found


@given(st.lists(some_additions, min_size=1, max_size=5))
def test_increments_add_up(increments: list[Amounts]) -> None:
    """Runs, read one after another, give every counter the sum of its amounts, and no other counter anything."""
    expected: Counter[tuple[CounterKey, int]] = Counter()
    for amounts in increments:
        for key, by in amounts.items():
            for counter, amount in by.items():
                expected[key, counter] += amount
    added = add_up([written(amounts) for amounts in increments])
    assert added.increments == len(increments)
    assert added.sizes.tolist() == [SIZE] * len(added.keys)
    assert {entry: amount for entry, amount in said(added).items() if amount} == {
        entry: amount for entry, amount in expected.items() if amount
    }


LARGEST = (1 << 63) - 1
int64s = st.integers(-LARGEST - 1, LARGEST)


@given(st.lists(st.tuples(int64s, int64s), min_size=1, max_size=SIZE))
@example([(LARGEST, 1)])
@example([(LARGEST, 0), (-LARGEST - 1, LARGEST)])
@example([(0, 1), (-LARGEST - 1, -1)])
def test_sums_are_exact_or_refused(pairs: list[tuple[int, int]]) -> None:
    """What increments add to counters is the sum of both; where one of them leaves 64 bits, its key is named."""
    counted, amounts = zip(*pairs, strict=True)
    other = {KEYS[0]: {SIZE - 1: 1}, KEYS[1]: dict(enumerate(amounts))}
    added = add_up([written(other)])
    counters = np.array([5, *counted])
    if all(-LARGEST - 1 <= a + b <= LARGEST for a, b in pairs):
        assert added.onto(counters).tolist() == [6, *(a + b for a, b in pairs)]
    else:
        with pytest.raises(CounterOverflow, match="column=1"):
            added.onto(counters)


def test_what_might_not_fit_is_folded_alone() -> None:
    """Increments whose sum could leave 64 bits are not added up here, where it would not be noticed."""
    half, one = {KEYS[0]: {0: 1 << 61, 1: 5}}, {KEYS[0]: {0: 1, 1: 6}}
    assert add_up([written(half), written(one)]).increments == 2
    for large in ({KEYS[0]: {0: 1 << 62}}, {KEYS[0]: {0: -(1 << 63)}}):
        added = add_up([written(large), written(one)])
        assert (added.increments, said(added)) == (1, {(KEYS[0], 0): large[KEYS[0]][0]})


def test_the_longest_life_counts() -> None:
    """A key that is in several increments expires when the last of them says."""
    increments = [written({KEYS[0]: {0: 1}}, 50), written({KEYS[0]: {0: 1}, KEYS[1]: {0: 1}}, 40)]
    added = add_up(increments)
    assert dict(zip(added.keys, added.expires.tolist(), strict=True)) == {KEYS[0]: 50, KEYS[1]: 40}


def test_no_two_increments_begin_alike() -> None:
    """The same additions, written down twice, can be told apart by how they begin."""
    first, second = (written({KEYS[0]: {0: 1}}) for _ in range(2))
    assert first[:NONCE_BYTES] != second[:NONCE_BYTES]
    assert first[NONCE_BYTES:] == second[NONCE_BYTES:]


def test_neighbours_share_a_run_and_strangers_do_not() -> None:
    """Entries that are 16 apart are one run; 17 apart, they are two."""
    added = add_up([written({KEYS[0]: {0: 1, 16: 1, 33: 1}, KEYS[1]: {34: 1}})])
    assert added.runs.tolist() == [[0, 17], [33, 1], [34, 1]]
    assert added.runs_of_key.tolist() == [2, 1]


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
        Additions.checked(KEYS[:2], [100, 100], np.array(key), np.array(counter), np.ones(len(key), dtype=np.int64))


def test_arrays_of_different_lengths_are_refused() -> None:
    """Keys and sizes are of one length, and so are the entries' three arrays."""
    one, two = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    for sizes, amount in (([100, 100], one), ([100], two)):
        with pytest.raises(ValueError, match="length"):
            Additions.checked(KEYS[:1], sizes, one, one, amount)
