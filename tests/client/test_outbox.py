"""The outbox: batches as they travel, kept until they are acknowledged."""

from __future__ import annotations

import sqlite3
import struct

from hypothesis import given
from hypothesis import strategies as st

from deniable import Collection, Report
from deniable.outbox import Batch, hurry, postpone, put, release, remove, take, waiting
from deniable.payload import PAYLOAD_BITS
from deniable.state import State, health
from deniable.v1.report_service_pb2 import SubmitReportsRequest, WideRow

COLLECTION = Collection.loads(
    f"""
[collection]
name = "outbox"
epoch = "1h"
owner = "o"
[budget]
epoch = 10
[metrics.narrow]
kind = "category"
description = "d"
epsilon = 1
values = {[f"v{number}" for number in range(40)]}
mechanism = "subset_selection"
[metrics.wide]
kind = "category"
description = "d"
epsilon = 1
values = {[f"v{number}" for number in range(100)]}
mechanism = "subset_selection"
"""
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


def queued(connection: sqlite3.Connection, due: float, number: int = 0, most: int = 200) -> Batch:
    """A batch that waits."""
    batch = Batch.of(bytes([number]) * 16, COLLECTION, 1, 0, [Report(0, 1)])
    put(connection, COLLECTION.name, batch, due, most)
    return batch


def test_a_batch_is_sent_by_one_process_at_a_time_and_kept_until_it_is_removed() -> None:
    """A leased batch is not given out again before its lease ends; postponed, it is due when told."""

    def work(connection: sqlite3.Connection) -> None:
        name, batch = COLLECTION.name, queued(connection, due=100.0)
        assert take(connection, name, 99.0, lease=40.0) is None
        assert take(connection, "another collection", 100.0, lease=40.0) is None
        assert take(connection, name, 100.0, lease=40.0) == batch
        assert take(connection, name, 139.0, lease=40.0) is None
        assert take(connection, name, 140.0, lease=40.0) == batch, "a lease ends, should its process have died"
        release(connection, batch.batch_id, 130.0)
        postpone(connection, name, until=250.0)
        assert take(connection, name, 249.0, lease=40.0) is None
        assert take(connection, name, 250.0, lease=40.0) == batch
        release(connection, batch.batch_id, 251.0)
        assert take(connection, name, 251.0, lease=40.0) == batch
        hurry(connection, name, 252.0)
        assert waiting(connection, name) == (1, 252.0)
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


def test_all_batches_are_postponed_together() -> None:
    """An aggregator that is away is away for all of them; what is due later anyway stays that."""

    def work(connection: sqlite3.Connection) -> None:
        for number, due in enumerate((0.0, 50.0, 200.0)):
            queued(connection, due, number)
        postpone(connection, COLLECTION.name, 100.0)
        dues = connection.execute("SELECT due FROM queue ORDER BY batch_id").fetchall()
        assert dues == [(100.0,), (100.0,), (200.0,)]

    State(None).run(work)
