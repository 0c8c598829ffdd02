"""The next version of a collection on a device: what means the same goes on, and costs nothing twice."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from deniable import Collection
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.collection_files import head, metric
from support.device import Device

DAY = 86_400
FIRST = (
    head("versions", 9)
    + metric("often", "count", "How ofen it was opened", max=1000000)
    + metric("theme", "category", "The theme", values=["a", "b", "c"], memoize=True, instantaneous_epsilon="linkable")
)
MENDED = (
    FIRST.replace("ofen", "often").replace("The theme", "The colours").replace("[budget]", "version = 1\n[budget]")
)
CHANGED = FIRST.replace('"a", "b", "c"', '"a", "b", "c", "d"').replace("[budget]", "version = 2\n[budget]") + (
    '[metrics.added]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n'
)
VALUES = {"often": 3, "theme": "b"}


def updated(device: Device, text: str) -> Device:
    """The same device, with another version of the collection."""
    other = Device(Collection.loads(text))
    other.state = device.state
    return other


def raw(device: Device) -> set[tuple[Any, ...]]:
    """The values that are kept: metric, epoch and state."""
    query = "SELECT metric, epoch, state FROM raw"
    return set(device.state.run(lambda connection: connection.execute(query).fetchall()))


def test_what_was_recorded_before_an_update_is_answered_after_it() -> None:
    """Of each metric that means the same, with what is recorded later in the same epoch, and in the new version."""
    device = Device(Collection.loads(FIRST))
    device.keep(VALUES, 5)
    device = updated(device, MENDED)
    device.keep({"often": 4}, 5)
    assert raw(device) == {("often", 5, "7"), ("theme", 5, '"b"')}
    assert len(device.seal(6 * DAY)[5]) == 2
    assert (raw(device), device.health) == (set(), {"answered": 2})
    requests = device.state.run(lambda connection: connection.execute("SELECT request FROM queue").fetchall())
    digests = {SubmitReportsRequest.FromString(request).collection_digest for (request,) in requests}
    assert digests == {Collection.loads(MENDED).digest}


def test_what_means_something_else_is_erased_with_its_epoch_and_nothing_besides() -> None:
    """While the epoch lasts the version before may still seal it, in another process; the next one, too."""
    device = Device(Collection.loads(FIRST))
    device.keep(VALUES, 5)
    device.keep({"theme": "c"}, 6)
    device = updated(device, CHANGED)
    assert device.seal(5.5 * DAY) == {}
    assert len(raw(device)) == 3
    assert len(device.seal(6.5 * DAY)[5]) == 1
    assert raw(device) == {("theme", 6, '"c"')}
    assert device.health == {"answered": 1, "lost to a change of the collection": 1}


def test_no_epoch_is_answered_twice_and_nothing_is_spent_twice() -> None:
    """Versions that come and go, forward and back, within one epoch and over ten of them."""
    device = Device(Collection.loads(FIRST))
    for epoch in range(10):
        for text in (FIRST, MENDED, FIRST, MENDED):
            device = updated(device, text)
            device.keep(VALUES, epoch)
            device.seal((epoch + 1) * DAY)
    often = [charge for charge in device.ledger if charge.metric == "often"]
    theme = [charge for charge in device.ledger if charge.metric == "theme"]
    assert [charge.start for charge in often] == [charge.start for charge in theme] == [n * DAY for n in range(10)]
    assert [charge.epsilon for charge in often] == [1.0] * 10
    assert [charge.epsilon for charge in theme] == [1.0] + [0.0] * 9


def test_a_remembered_answer_goes_on_in_all_versions_in_which_it_means_the_same() -> None:
    """Mended words tell the same lie; another list of values is another question, which the first one survives."""
    device = Device(Collection.loads(FIRST))
    first = device.answers(VALUES, range(1))[0]["theme"]
    device = updated(device, MENDED)
    assert {said["theme"].payload for said in device.answers(VALUES, range(1, 20))} == {first.payload}
    device = updated(device, CHANGED)
    device.answers(VALUES, range(20, 22))
    device = updated(device, MENDED)
    assert {said["theme"].payload for said in device.answers(VALUES, range(22, 30))} == {first.payload}
    paid = [charge.start // DAY for charge in device.ledger if charge.metric == "theme" and charge.epsilon]
    assert paid == [0, 20]


def test_values_of_the_sdk_before_are_answered(tmp_path: Path) -> None:
    """They were kept under the collection's digest; what is recorded since then comes after them."""
    device = Device(Collection.loads(FIRST), tmp_path / "device.db")
    device.keep(VALUES, 5)
    digest = f"{device.collection.digest:016x}"
    device.state.run(lambda connection: connection.execute("UPDATE raw SET digest = ?", (digest,)))
    device.keep({"often": 4, "theme": "c"}, 5)
    assert device.seal(5.5 * DAY) == {}
    assert raw(device) == {("often", 5, "7"), ("theme", 5, '"c"')}
    assert len(device.seal(6 * DAY)[5]) == 2


@pytest.mark.parametrize(("version", "tables"), [(3, ("former", "coin")), (4, ("coin",))])
def test_the_file_of_an_sdk_before_gets_tables_more(version: int, tables: tuple[str, ...], tmp_path: Path) -> None:
    """Nothing else in it changes, of what is kept, spent, remembered and waits: it is of a version before, and then
    of this one."""
    device = Device(Collection.loads(FIRST), tmp_path / "device.db")
    device.answers(VALUES, range(3, 5))
    device.keep(VALUES, 5)
    whole = device.content
    device.state.close()
    with sqlite3.connect(tmp_path / "device.db") as connection:
        for table in tables:
            connection.execute(f"DROP TABLE {table}")
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    again = Device(Collection.loads(MENDED), tmp_path / "device.db")
    assert again.content == whole
    assert {"charge", "memo", "queue", "raw", "transcript"} <= {name for name, rows in whole.items() if rows}
    assert len(again.seal(6 * DAY)[5]) == 2
