"""The outbox: batches as they travel, kept until they are acknowledged."""

from __future__ import annotations

import sqlite3
import struct

from hypothesis import given
from hypothesis import strategies as st

from deniable import Collection, Report
from deniable.device.outbox import (
    Batch,
    calm,
    failed,
    give_up,
    hurry,
    missed,
    put,
    release,
    remove,
    renew,
    take,
    take_missed,
    waiting,
)
from deniable.device.state import State, health
from deniable.payload import PAYLOAD_BITS
from deniable.v1.report_service_pb2 import SubmitReportsRequest, WideRow
from support.collection_files import head, metric

HOUR = 3600
COLLECTION = Collection.loads(
    head("outbox", 10, epoch="1h")
    + "".join(
        metric(name, "category", values=[f"v{number}" for number in range(size)], mechanism="subset_selection")
        for name, size in (("narrow", 40), ("wide", 100))
    )
)


@given(
    st.binary(min_size=16, max_size=16),
    st.integers(0, (1 << 32) - 1),
    st.integers(0, 255),
    st.integers(1, (1 << 40) - 1),
    st.integers(0, (1 << 100) - 1),
)
def test_a_batch_is_what_protobuf_would_write(
    batch_id: bytes, epoch: int, segment: int, narrow: int, wide: int
) -> None:
    """The bytes that are kept are, byte for byte, those of the generated message."""
    columns = {column.metric: column.number for column in COLLECTION.columns}
    reports = [Report(columns["narrow"], narrow), Report(columns["wide"], wide)]
    expected = SubmitReportsRequest(
        batch_id=batch_id,
        collection_digest=COLLECTION.digest,
        epoch=epoch,
        segment=segment,
        rows=struct.pack("<Q", columns["narrow"] << PAYLOAD_BITS | narrow),
        wide_rows=[WideRow(column=columns["wide"], payload=wide.to_bytes(13, "little"))],
    )
    batch = Batch.of(batch_id, COLLECTION, epoch, segment, reports)
    assert batch.request == expected.SerializeToString(deterministic=True)


def queued(connection: sqlite3.Connection, due: float, number: int = 0, most: int = 200, epoch: int = 1) -> Batch:
    """A batch that waits."""
    batch = Batch.of(bytes([number]) * 16, COLLECTION, epoch, 0, [Report(0, 1)])
    put(connection, COLLECTION.name, batch, ends=(epoch + 1) * HOUR, due=due, most=most)
    return batch


def dues(connection: sqlite3.Connection) -> list[float]:
    """When the batches are due, in the order of their ids."""
    return [due for (due,) in connection.execute("SELECT due FROM queue ORDER BY batch_id")]


def test_a_batch_is_sent_by_one_process_at_a_time_and_kept_until_it_is_removed() -> None:
    """A leased batch is not given out again before its lease ends; released, it is due when told."""

    def work(connection: sqlite3.Connection) -> None:
        name, batch = COLLECTION.name, queued(connection, due=100.0)
        assert take(connection, name, 99.0, lease=40.0) is None
        assert take(connection, "another collection", 100.0, lease=40.0) is None
        assert take(connection, name, 100.0, lease=40.0) == batch
        assert take(connection, name, 139.0, lease=40.0) is None
        assert take(connection, name, 140.0, lease=40.0) == batch, "a lease ends, should its process have died"
        release(connection, batch.batch_id, 250.0)
        assert take(connection, name, 249.0, lease=40.0) is None
        assert take(connection, name, 250.0, lease=40.0) == batch
        release(connection, batch.batch_id, 251.0)
        assert take(connection, name, 251.0, lease=40.0) == batch
        assert waiting(connection, name) == (1, 291.0)
        remove(connection, batch.batch_id)
        assert waiting(connection, name) == (0, None)

    State(None).run(work)


def test_a_lease_from_before_the_clock_went_back_does_not_hold() -> None:
    """A batch that is due in weeks was queued or leased at a later time than now: it can be sent."""

    def work(connection: sqlite3.Connection) -> None:
        batch = queued(connection, due=0.0)
        assert take(connection, COLLECTION.name, 1_000_000.0, lease=40.0) == batch
        assert take(connection, COLLECTION.name, 50.0, lease=40.0) == batch

    State(None).run(work)


def test_of_too_many_batches_the_oldest_are_dropped() -> None:
    """The queue holds so many batches of a collection and no more; what is dropped is counted, the newest stay."""

    def work(connection: sqlite3.Connection) -> None:
        batches = [queued(connection, due=float(number), number=number, most=3) for number in range(5)]
        assert waiting(connection, COLLECTION.name)[0] == 3
        assert health(connection) == {"dropped from a full queue": 2}
        taken = [take(connection, COLLECTION.name, 10.0, lease=40.0) for _ in range(4)]
        assert taken == [*batches[2:], None]

    State(None).run(work)


def test_a_hurry_is_about_the_newest_epochs() -> None:
    """What is older keeps its moment; what was not sent when the hurry ends has one again."""

    def work(connection: sqlite3.Connection) -> None:
        name = COLLECTION.name
        batches = [queued(connection, due=1000.0 + number, number=number, epoch=number) for number in range(3)]
        assert waiting(connection, name, since=3 * HOUR) == (1, 1002.0)
        hurry(connection, name, since=3 * HOUR)
        assert dues(connection) == [1000.0, 1001.0, 0.0]
        assert missed(connection, name, 5000.0, leeway=900.0) != [], "the older ones, which are late"
        assert take(connection, name, 500.0, lease=40.0) == batches[2]
        hurry(connection, name, since=3 * HOUR)
        calm(connection, name, 600.0)
        assert dues(connection)[2] == 600.0

    State(None).run(work)


def test_no_two_batches_leave_together() -> None:
    """Of several that are due one gets a moment soon and the others one of the leeway's; alone, in time, it leaves.

    After another has just been sent, none leaves.
    """

    def work(connection: sqlite3.Connection) -> None:
        name = COLLECTION.name
        queued(connection, due=100.0)
        assert missed(connection, name, 101.0, leeway=7200.0) == []
        assert dues(connection) == [100.0]
        assert len(missed(connection, name, 101.0, leeway=7200.0, busy=True)) == 1
        assert 101.0 <= dues(connection)[0] <= 7301.0
        late = []
        for number in range(1, 40):
            queued(connection, due=100.0, number=number)
        for _ in range(20):
            connection.execute("UPDATE queue SET due = 100")
            moved = missed(connection, name, 1000.0, leeway=7200.0)
            late.append(moved[0])
            found = dict(connection.execute("SELECT batch_id, due FROM queue"))
            assert sorted(moved) == sorted(found)
            assert 1000.0 <= found[moved[0]] <= 1600.0
            # Of 39 draws 17 lie within the first 600 of 7,200 seconds once in 10^8 times.
            assert sum(due <= 1600.0 for due in found.values()) < 18
        assert len(set(late)) > 3, "the same three of 40 every time: once in 10^17 times"

    State(None).run(work)


def test_a_batch_that_was_missed_leaves_alone_at_the_end() -> None:
    """Where nothing has left within a leeway's time; otherwise, and where it is gone, nothing does."""

    def work(connection: sqlite3.Connection) -> None:
        name = COLLECTION.name
        batches = [queued(connection, due=100.0, number=number) for number in range(2)]
        ids = [bytes(16 * [9]), *missed(connection, name, 1000.0, leeway=900.0)]
        assert take_missed(connection, [], 1000.0, 900.0, lease=40.0) is None
        batch = take_missed(connection, ids, 1000.0, 900.0, lease=40.0)
        assert batch in batches
        assert take_missed(connection, ids, 1899.0, 900.0, lease=40.0) is None
        assert take_missed(connection, ids, 1900.0, 900.0, lease=40.0) is not None

    State(None).run(work)


def test_a_new_id_is_given_where_no_acknowledgement_can_be_outstanding() -> None:
    """A batch that was certainly not stored gets one, with its rows in a new order; one that may have been, never."""
    reports = [Report(column.number, 5) for column in COLLECTION.columns]

    def work(connection: sqlite3.Connection) -> None:
        name, batch = COLLECTION.name, Batch.of(bytes(16), COLLECTION, 1, 0, reports)
        put(connection, name, batch, ends=2 * HOUR, due=0.0, most=9)
        ids = {batch.batch_id}
        for now in (1e3, 2e3, 3e3):
            taken = take(connection, name, now, lease=40.0)
            assert taken
            ids.add(taken.batch_id)
            renew(connection, taken.batch_id)
        assert len(ids) == 3
        kept = take(connection, name, 2e6, lease=40.0)  # and nobody knows what became of it
        for now in (3e6, 4e6):
            again = take(connection, name, now, lease=40.0)
            assert again == kept
            assert again
            renew(connection, again.batch_id)
        remove(connection, bytes(16))
        renew(connection, bytes(16))
        assert failed(connection, bytes(16)) == 0
        assert kept
        assert [failed(connection, kept.batch_id) for _ in range(3)] == [0, 1, 2]

    State(None).run(work)


@given(
    st.lists(st.integers(1, (1 << 40) - 1), max_size=5), st.integers(0, 3), st.integers(0, 300), st.integers(0, 255)
)
def test_a_renewed_batch_has_the_same_reports(narrow: list[int], wide: int, epoch: int, segment: int) -> None:
    """It is a message as protobuf would write it, with another id."""
    columns = {column.metric: column.number for column in COLLECTION.columns}
    reports = [Report(columns["narrow"], payload) for payload in narrow]
    reports += [Report(columns["wide"], 1 << number) for number in range(wide)]
    batch = Batch.of(bytes(16), COLLECTION, epoch, segment, reports)
    before, after = map(SubmitReportsRequest.FromString, (batch.request, (new := batch.renewed()).request))
    assert after.SerializeToString(deterministic=True) == new.request
    assert after.batch_id == new.batch_id != batch.batch_id
    assert sorted(struct.iter_unpack("<Q", after.rows)) == sorted(struct.iter_unpack("<Q", before.rows))
    payloads = [sorted(row.payload for row in message.wide_rows) for message in (before, after)]
    assert payloads[0] == payloads[1]
    for message in (before, after):
        message.ClearField("batch_id")
        message.ClearField("rows")
        message.ClearField("wide_rows")
    assert before == after


def test_rows_of_a_renewed_batch_are_in_a_new_order() -> None:
    """Ten rows have 3,628,800 orders: twenty renewals in a row with one of three are not by chance."""
    batch = Batch.of(bytes(16), COLLECTION, 1, 0, [Report(0, payload) for payload in range(10)])
    orders = set()
    for _ in range(20):
        batch = batch.renewed()
        orders.add(SubmitReportsRequest.FromString(batch.request).rows)
    assert len(orders) > 17


def test_what_no_aggregator_takes_any_more_is_dropped() -> None:
    """By the end of its epoch, and counted; newer batches stay."""

    def work(connection: sqlite3.Connection) -> None:
        for epoch in range(4):
            queued(connection, due=1e6, number=epoch, epoch=epoch)
        give_up(connection, COLLECTION.name, before=2.0 * HOUR)
        assert waiting(connection, COLLECTION.name)[0] == 2
        assert health(connection) == {"too old to be taken": 2}

    State(None).run(work)
