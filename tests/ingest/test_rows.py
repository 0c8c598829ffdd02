"""Rows: whole flushes checked and added up on arrays, against one report at a time in plain Python."""

from __future__ import annotations

import os
import struct
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.payload import Codeword, Integer, Integers, Symbol
from deniable_aggregator.ingest.alone import entries_of
from deniable_aggregator.ingest.flush import Flush
from deniable_aggregator.ingest.layout import MOST_COUNTERS, Layout
from deniable_aggregator.ingest.refusal import STORE_UNAVAILABLE, Refusal
from deniable_aggregator.ingest.rows import Batch, Lookup, Rows, faults
from deniable_aggregator.store import Additions, CounterKey, EpochKey
from support.aggregator_server import LAYOUT, rows
from support.counting import calls
from support.plain_rows import GAPS, NARROW, TOLD, arrays, sums_of

TABLES = (Lookup(LAYOUT), Lookup(NARROW), Lookup(GAPS), Lookup(TOLD))


def batch(
    table: Lookup, narrow: bytes, wide: list[tuple[int, bytes]], epoch: int = 20_000, segment: int = 0
) -> Batch:
    """A batch that has come through the door."""
    return Batch(os.urandom(16), table, EpochKey(table.layout.digest, epoch), segment, narrow, wide)


def found_in(additions: Additions) -> Counter[tuple[CounterKey, int]]:
    """What additions add, by key and counter; they say nothing twice."""
    keys = [CounterKey(*key) for key in np.asarray(additions.keys).tolist()]
    found: Counter[tuple[CounterKey, int]] = Counter()
    entries = (additions.key.tolist(), additions.counter.tolist(), additions.amount.tolist())
    for key, counter, amount in zip(*entries, strict=True):
        assert (keys[key], counter) not in found
        found[keys[key], counter] = amount
    return found


def reference(batches: list[Batch], keep: list[bool]) -> tuple[set[int], Counter[tuple[CounterKey, int]]]:
    """The malformed batches, and what the others that are kept add, one report at a time."""
    malformed: set[int] = set()
    total: Counter[tuple[CounterKey, int]] = Counter()
    for number, batch in enumerate(batches):
        layout = batch.table.layout
        narrow = [(row >> 48, row & (1 << 48) - 1) for (row,) in struct.iter_unpack("<Q", batch.rows)]
        reports: list[tuple[int, int | bytes]] = [*narrow, *batch.wide_rows]
        added: Counter[tuple[CounterKey, int]] = Counter()
        metrics = [layout.columns[column][0] for column, _ in reports if column < len(layout.columns)]
        if len(set(metrics)) < len(metrics):
            malformed.add(number)
        for column, payload in reports:
            sums = sums_of(layout, column, payload)
            if sums is None:
                malformed.add(number)
                continue
            key = CounterKey(layout.digest, column, batch.key.epoch, batch.segment)
            for counter, amount in sums.items():
                added[key, counter] += amount
        if number not in malformed and keep[number]:
            for entry, amount in added.items():
                total[entry] += amount
    return malformed, total


def bits_of(size: int, weight: int) -> st.SearchStrategy[int]:
    """Bitmaps of a weight."""
    places = st.sets(st.integers(0, size - 1), min_size=weight, max_size=weight)
    return places.map(lambda chosen: sum(1 << bit for bit in chosen))


good_narrow = {
    0: st.integers(0, 4),
    1: st.integers(0, 2**40 - 1),
    2: bits_of(48, 3),
    3: st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 2**32 - 1])),
    7: st.one_of(st.integers(0, 65_535), st.sampled_from([0, 65_535])),
    8: st.integers(0, 2),
}
good_wide = {
    4: st.integers(0, 2**100 - 1).map(lambda bits: bits.to_bytes(13, "little")),
    5: bits_of(49, 2).map(lambda bits: bits.to_bytes(7, "little")),
    6: st.lists(st.integers(-1000, 1000), min_size=3, max_size=3).map(lambda v: struct.pack("<3i", *v)),
}
any_row = st.tuples(st.integers(0, 10), st.integers(0, 2**48 - 1))
any_wide = st.tuples(
    st.integers(0, 10),
    st.one_of(
        st.binary(max_size=16),
        st.just(b"\xff" * 13),
        st.just(b"\xff" * 7),
        st.lists(st.integers(-1002, 1002), min_size=3, max_size=3).map(lambda v: struct.pack("<3i", *v)),
        st.just(struct.pack("<3i", -(2**31), 0, 0)),
    ),
)


@st.composite
def a_batch(draw: st.DrawFn) -> Batch:
    """A batch: mostly sound, sometimes with anything in it."""
    table = draw(st.sampled_from(TABLES))
    narrow: list[tuple[int, int]] = []
    wide: list[tuple[int, bytes]] = []
    if table.layout is GAPS:
        narrow = [(0, draw(st.integers(0, 7))), (1, draw(st.integers(0, 8)))]
        entries = draw(st.lists(st.integers(-9, 9), min_size=3, max_size=3))
        wide = [(2, struct.pack("<3i", *entries))]
    elif table.layout is TOLD:
        narrow = draw(st.sampled_from([[(0, draw(st.integers(0, 41)))], [(1, draw(st.integers(0, 2**48 - 1)))], []]))
        narrow = [*narrow, *draw(st.sampled_from([[], [(2, 3)], [(3, 8), (2, 0)], [(4, draw(st.integers(0, 39)))]]))]
        narrow = narrow or [(1, 7)]
    elif table.layout is NARROW:
        narrow = [(c, draw(st.integers(0, 1 + 50 * c))) for c in draw(st.sets(st.integers(0, 5), min_size=1))]
    else:
        columns = draw(st.sets(st.integers(0, 8), min_size=1))
        if {7, 8} <= columns and draw(st.booleans()):
            columns.remove(7)
        narrow = [(column, draw(good_narrow[column])) for column in columns & good_narrow.keys()]
        wide = [(column, draw(good_wide[column])) for column in columns & good_wide.keys()]
    if draw(st.integers(0, 3)) == 0:
        narrow += draw(st.lists(any_row, max_size=2))
        wide += draw(st.lists(any_wide, max_size=2))
    narrow, wide = draw(st.permutations(narrow)), draw(st.permutations(wide))
    epoch, segment = draw(st.integers(0, 1)), draw(st.integers(0, 2))
    return batch(table, rows(*narrow), wide, 20_000 + epoch, segment)


@settings(max_examples=200, deadline=None)
@given(batches=st.lists(a_batch(), min_size=1, max_size=12), chosen=st.lists(st.booleans(), min_size=12))
def test_arrays_do_what_plain_python_does(batches: list[Batch], chosen: list[bool]) -> None:
    """Exactly the malformed batches are found, and the others that are kept add exactly what they say."""
    malformed, expected = reference(batches, chosen)
    flush = Rows(batches)
    assert flush.malformed() == malformed
    keep = np.array([chosen[number] and number not in malformed for number in range(len(batches))])
    if keep.any():
        additions = flush.additions(keep)
        assert {entry: amount for entry, amount in found_in(additions).items() if amount} == {
            entry: amount for entry, amount in expected.items() if amount
        }
        layouts = {table.layout.digest: table.layout for table in TABLES}
        for key, size in zip(np.asarray(additions.keys), additions.sizes, strict=True):
            assert size == layouts[int(key["digest"])].columns[key["column"]][1].counters
    for number, batch in enumerate(batches):
        assert bool(faults(batch)) == (number in malformed)


@settings(max_examples=300, deadline=None)
@given(alone=a_batch())
def test_a_batch_alone_is_read_as_one_of_many(alone: Batch) -> None:
    """One after another or as arrays: the same batches are malformed, and the others add the same."""
    notes = alone.table.notes
    if not alone.rows or notes is None:
        return
    alone = alone._replace(wide_rows=())
    malformed, expected = reference([alone], [True])
    written = entries_of(notes, alone.rows, alone.key.epoch, alone.segment)
    assert (written is None) == bool(malformed)
    if written:
        added = arrays(written)
        keys = [CounterKey(*key) for key in added.keys.tolist()]
        Additions.checked(keys, added.sizes.tolist(), added.key, added.counter, added.amount)  # in order
        found = found_in(added)
        assert {entry: amount for entry, amount in found.items() if amount} == +expected
        layout = alone.table.layout
        for key, size in zip(added.keys, added.sizes, strict=True):
            assert size == layout.columns[key["column"]][1].counters


@pytest.mark.parametrize("metrics", ["aab", "aba", "baa"])
def test_a_metric_is_not_reported_twice_wherever_its_columns_stand(metrics: str) -> None:
    """Beside each other or apart: a batch that comes alone may have a row of one of them, and of no two."""
    layout = Layout("apart", 11, 3600, 1, tuple((metric, Symbol(4)) for metric in metrics))
    first, second = (column for column, metric in enumerate(metrics) if metric == "a")
    other = metrics.index("b")
    twice, once = rows((second, 1), (other, 1), (first, 1)), rows((other, 1), (first, 1))
    outcomes = [Flush([batch(Lookup(layout), each, [])]).outcomes[0] for each in (twice, once)]
    reasons = [each.reason for each in outcomes if isinstance(each, Refusal)]
    assert reasons == ["MALFORMED_BATCH", STORE_UNAVAILABLE.reason]


@pytest.mark.parametrize("reports", [255, 256, 600, 1021])
def test_many_bitmaps_of_one_column_add_up(reports: int) -> None:
    """Bits that are all set in hundreds of rows are counted in full: no lane carries into the next."""
    full, wide = (1 << 40) - 1, b"\xff" * 12 + b"\x0f"
    batches = [batch(TABLES[0], rows((1, full)), [(4, wide)]) for _ in range(reports)]
    additions = Rows(batches).additions(np.ones(reports, dtype=np.bool_))
    assert sorted(additions.sizes) == [41, 101]
    assert len(additions.amount) == 142
    assert set(additions.amount.tolist()) == {reports}


@pytest.mark.parametrize("reports", [1, 2, 1_900])
def test_codewords_of_many_groups_add_up(reports: int) -> None:
    """Alone, and more than are made at a time, in order or mixed: exactly what they say, beside other reports."""
    made = [
        batch(TABLES[3], rows((1, 2**48 - 1 - 7919 * number), (2, number % 4)), [], 20_000, number * 7 // reports % 3)
        for number in range(reports)
    ]
    for batches in (made, made[::-1] + made):
        malformed, expected = reference(batches, [True] * len(batches))
        assert not malformed
        found = found_in(Rows(batches).additions(np.ones(len(batches), dtype=np.bool_)))
        assert found == Counter({entry: amount for entry, amount in expected.items() if amount})


def test_codewords_cost_other_reports_nothing() -> None:
    """300 batches without any, of a layout that has none and of one that has: four calls more, to look for them; and
    none more for three times as many batches. No codeword is made."""
    beside = Lookup(Layout("beside", 12, 3600, 1, (*NARROW.columns, ("v", Codeword(1024, 256, 1 << 40)))))

    def flushed(table: Lookup, batches: int) -> int:
        made = [batch(table, rows((1, number % 50), (3, number % 150)), []) for number in range(batches)]

        def flush() -> None:
            flush = Rows(made)
            flush.malformed()
            flush.additions(np.ones(batches, dtype=np.bool_))

        flush()
        return calls(flush)

    few, many = (flushed(beside, batches) - flushed(TABLES[1], batches) for batches in (100, 300))
    assert 0 <= many == few <= 4


def test_the_largest_values_do_not_wrap() -> None:
    """A thousand reports of the largest integer and of the largest vector add up exactly, squares too."""
    bound = (1 << 31) - 1
    layout = Layout("large", 9, 3600, 1, (("i", Integer(1 << 32)), ("v", Integers(2, bound))))
    table = Lookup(layout)
    vector = struct.pack("<2i", bound, -bound)
    batches = [batch(table, rows((0, (1 << 32) - 1)), [(1, vector)]) for _ in range(1000)]
    malformed, expected = reference(batches, [True] * 1000)
    assert not malformed
    additions = Rows(batches).additions(np.ones(1000, dtype=np.bool_))
    assert found_in(additions) == expected


def test_a_device_is_told_a_few_faults() -> None:
    """A batch with hundreds of faults is answered with the first eight, by the names of their fields."""
    found = faults(batch(TABLES[0], rows(*[(0, 4), (0, 5)] * 200), []))
    assert [field for field, _ in found] == [f"rows[{number}]" for number in range(1, 9)]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"digest": 1 << 64}, "64 bits"),
        ({"digest": -1}, "64 bits"),
        ({"epoch_seconds": 0}, "second"),
        ({"segments": 0}, "segment"),
        ({"columns": ()}, "columns"),
        ({"columns": (("m", Symbol(2)),) * 65_537}, "columns"),
        ({"columns": (("m", Symbol(MOST_COUNTERS + 1)),)}, "counters"),
    ],
)
def test_layouts_that_cannot_be_stored_are_refused(wrong: dict[str, object], words: str) -> None:
    """A layout has a 64-bit digest, epochs, segments, and columns that fit the row and the store."""
    fields: dict[str, object] = {
        "name": "x",
        "digest": 1,
        "epoch_seconds": 3600,
        "segments": 1,
        "columns": (("m", Symbol(2)),),
    }
    with pytest.raises(ValueError, match=words):
        Layout(**(fields | wrong))  # type: ignore[arg-type]
