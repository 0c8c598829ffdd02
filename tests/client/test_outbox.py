"""The outbox: batches as they travel, kept until they are acknowledged."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from deniable import Collection, Report
from deniable.outbox import Batch, put, put_back, remove, take, waiting
from deniable.payload import PAYLOAD_BITS
from deniable.state import State
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


def test_a_batch_is_sent_by_one_process_at_a_time_and_kept_until_it_is_removed() -> None:
    """A leased batch is not given out again before its lease ends; put back, it is due when told."""
    state = State(None)
    batch = Batch.of(b"i" * 16, COLLECTION, 1, 0, [Report(0, 1)])
    with state.transaction() as connection:
        put(connection, batch, due=100.0)
        assert take(connection, 99.0, 99.0) is None
        assert take(connection, 100.0, 100.0) == batch
        assert take(connection, 101.0, 101.0) is None
        put_back(connection, batch.batch_id, due=150.0)
        assert take(connection, 149.0, 149.0) is None
        assert take(connection, 150.0, 150.0) == batch
        assert take(connection, 400.0, 400.0) == batch, "a lease ends, should its process have died"
        assert waiting(connection)[0] == 1
        remove(connection, batch.batch_id)
        assert waiting(connection) == (0, None)
    state.close()


def test_a_lease_from_before_the_clock_went_back_does_not_hold() -> None:
    """A batch that was leased at a later time than now can be sent."""
    state = State(None)
    batch = Batch.of(b"i" * 16, COLLECTION, 1, 0, [Report(0, 1)])
    with state.transaction() as connection:
        put(connection, batch, due=0.0)
        assert take(connection, 1_000_000.0, 1_000_000.0) == batch
        assert take(connection, 50.0, 50.0) == batch
    state.close()
