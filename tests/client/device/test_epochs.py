"""Epochs: spend, remember and queue happen together or not at all, and values do not outlive their epoch."""

from __future__ import annotations

import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from deniable import Collection
from deniable.device.epochs import seal
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.collection_files import head, metric
from support.device import SEALING, Device, Stumbling

HOUR = 3600
TEXT = (
    head("epochs", 5, epoch="1h")
    + metric("often", "count", max=1000000)
    + metric("said", "boolean")
    + metric("told", "category", values=["a", "b", "c"], memoize=True)
    + metric("until", "boolean", expires=date(1970, 1, 2))
)
COLLECTION = Collection.loads(TEXT)
OTHER = Collection.loads(TEXT.replace('"epochs"', '"other"'))
VALUES = {"often": 3, "said": True, "told": "b"}


def rows(device: Device, table: str) -> list[Any]:
    """What a table of the file has."""
    return device.content[table]


def test_an_epoch_is_sealed_as_a_whole_or_not_at_all() -> None:
    """Wherever it is interrupted, before any of its statements, the file is as it was; undisturbed, all has happened.

    Nothing is spent without being queued, nothing queued or remembered without being spent, and no value is lost.
    """
    device = Device(COLLECTION)
    device.keep(VALUES, 5)
    before, failures = device.content, 0
    while True:

        def work(connection: sqlite3.Connection, statement: int = failures) -> None:
            seal(Stumbling(connection, statement), COLLECTION, 6.0 * HOUR, SEALING)  # type: ignore[arg-type]

        try:
            device.state.run(work)
            break
        except ZeroDivisionError:
            failures += 1
            assert device.content == before
    assert failures > 20
    after = device.content
    assert (len(after["charge"]), len(after["memo"]), len(after["queue"]), len(after["raw"])) == (3, 1, 1, 0)
    assert len(after["transcript"]) == 3


def test_an_epoch_is_sealed_when_it_has_ended_and_no_earlier() -> None:
    """Values stay while their epoch lasts."""
    device = Device(COLLECTION)
    device.keep(VALUES, 5)
    assert device.seal(6.0 * HOUR - 1) == {}
    assert len(rows(device, "raw")) == 3
    assert {epoch: len(reports) for epoch, reports in device.seal(6.0 * HOUR).items()} == {5: 3}
    assert rows(device, "raw") == []


def test_each_epoch_is_a_batch_of_its_own() -> None:
    """A device that was off for hours tells of each of them under another id."""
    device = Device(COLLECTION)
    for epoch in (3, 5, 4):
        device.keep({"said": True}, epoch)
    assert list(device.seal(10.0 * HOUR)) == [3, 4, 5]
    requests = [SubmitReportsRequest.FromString(row[2]) for row in rows(device, "queue")]
    assert {request.epoch for request in requests} == {3, 4, 5}
    assert len({request.batch_id for request in requests}) == 3
    assert {request.collection_digest for request in requests} == {COLLECTION.digest}


def test_values_of_one_epoch_become_one() -> None:
    """They are merged in the file, whoever recorded them: counts add up, the last of the others is kept."""
    device = Device(COLLECTION)
    for told in ("a", "b", "c"):
        device.keep({"often": 1, "told": told}, 5)
    kept = {row[2]: row[5] for row in rows(device, "raw")}
    assert kept == {"often": "3", "told": '"c"'}


def test_values_are_erased_from_the_file_when_they_have_been_answered(tmp_path: Path) -> None:
    """Not a byte of them is left, in the file or beside it."""
    path = tmp_path / "device.db"
    device = Device(COLLECTION, path)
    sentinel = 987_654_321_012
    device.keep({"often": sentinel}, 5)
    assert str(sentinel).encode() in path.read_bytes()
    device.keep({"often": 1}, 5)
    assert str(sentinel).encode() not in path.read_bytes(), "what was merged is overwritten"
    device.seal(6.0 * HOUR)
    device.state.close()
    for each in tmp_path.iterdir():
        assert str(sentinel + 1).encode() not in each.read_bytes()
        assert each == path


def test_an_expired_metric_is_not_answered() -> None:
    """From its day on nothing is said or spent; the epoch before is still answered."""
    device = Device(COLLECTION)
    device.keep({"until": True}, 23)
    device.keep({"until": True}, 24)
    assert list(device.seal(30.0 * HOUR)) == [23]
    assert [line.start for line in device.ledger] == [23 * HOUR]
    assert device.health == {"answered": 1, "expired": 1}


def test_a_clock_that_goes_back_leaves_values_in_the_current_epoch() -> None:
    """What was recorded in the future was recorded a moment ago: it counts for now, merged with what is there."""
    device = Device(COLLECTION)
    device.keep({"often": 2}, 5)
    device.keep({"often": 3, "said": True}, 99)
    assert device.seal(5.5 * HOUR) == {}
    assert {(row[2], row[3], row[5]) for row in rows(device, "raw")} == {("often", 5, "5"), ("said", 5, "true")}
    assert list(device.seal(6.5 * HOUR)) == [5]


def test_the_same_epoch_is_not_answered_again_when_the_clock_comes_back_to_it() -> None:
    """The ledger refuses, the values are erased, and that is counted."""
    device = Device(COLLECTION)
    device.keep({"said": True}, 5)
    assert list(device.seal(6.0 * HOUR)) == [5]
    device.keep({"said": False, "often": 1}, 5)
    sealed = device.seal(7.0 * HOUR)
    assert [len(reports) for reports in sealed.values()] == [1]
    assert device.health == {"answered": 2, "refused by the ledger": 1}
    assert rows(device, "raw") == []


def test_collections_that_share_a_file_leave_each_other_alone() -> None:
    """Neither seals or erases the other's values, until a week after nobody has come for them."""
    one, other = Device(COLLECTION), Device(OTHER)
    other.state = one.state
    one.keep(VALUES, 5)
    other.keep({"said": True}, 5)
    assert [len(reports) for reports in other.seal(7.0 * HOUR).values()] == [1]
    assert len(rows(one, "raw")) == 3
    other.seal((6.0 + 7 * 24) * HOUR)
    assert rows(one, "raw") == []


@pytest.mark.parametrize("nonsense", ["", "{", '"d"', "[1, 2]", "null", "1e999", "true"])
def test_values_that_were_never_written_are_not_answered(nonsense: str) -> None:
    """A file can be damaged where SQLite does not see it: what makes no sense is counted, and all else goes on."""
    device = Device(COLLECTION)
    device.keep(VALUES, 5)
    device.state.run(
        lambda connection: connection.execute("UPDATE raw SET state = ? WHERE metric = 'told'", (nonsense,))
    )
    device.keep({"told": "a"} if nonsense == "{" else {"often": 1}, 5)
    (reports,) = device.seal(6.0 * HOUR).values()
    assert len(reports) == (3 if nonsense == "{" else 2)
    assert device.health.get("could not be answered", 0) == (nonsense != "{")


def test_batches_are_due_at_random_within_their_leeway() -> None:
    """Arrival times tell nothing: over 200 batches they are spread evenly over it."""
    device = Device(COLLECTION)

    def work(connection: sqlite3.Connection) -> list[float]:
        for epoch in range(200):
            device.keep_in(connection, {"said": True}, epoch)
            seal(connection, COLLECTION, (epoch + 1.0) * HOUR, type(SEALING)(0, 900.0, 1000))
        return [due % HOUR for (due,) in connection.execute("SELECT due FROM queue")]

    dues = device.state.run(work)
    assert 0 <= min(dues) < max(dues) < 900
    for quarter in range(4):
        # Of 200 in four quarters one has less than 20 or more than 90 once in 10^7 times.
        assert 20 <= sum(quarter * 225 <= due < (quarter + 1) * 225 for due in dues) <= 90


def test_rows_are_in_random_order() -> None:
    """The order of a batch's rows does not follow the order of recording: each metric is first about as often."""
    device, first = Device(COLLECTION), list[int]()
    for epoch in range(300):
        device.keep(VALUES, epoch)
        (reports,) = device.seal((epoch + 1.0) * HOUR).values()
        first.append(reports[0].column)
    counts = [first.count(column) for column in set(first)]
    assert len(counts) == 3
    # Each of three is first 100 times of 300; less than 55 times once in 10^8 times.
    assert min(counts) >= 55
