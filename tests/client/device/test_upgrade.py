"""An upgrade of the SDK: files, memories and questions of the version before go on, and nothing is paid for twice."""

from __future__ import annotations

import sqlite3
from itertools import islice
from pathlib import Path

import pytest

from deniable import Collection
from deniable.device.ledger import charges
from deniable.device.memo import Memo
from deniable.device.schema import MIGRATIONS
from deniable.device.state import State
from support.device import Device

DAY = 86_400
COLLECTION = """
[collection]
name = "upgraded"
epoch = "1d"
owner = "o"
[budget]
epoch = 9
[metrics.one]
kind = "number"
description = "d"
revision = {revision}
range = [0, 10]
epsilon = 1
memoize = true
instantaneous_epsilon = 1
"""


def asking(revision: int = 1) -> Collection:
    """A collection whose one metric has a meaning of its own."""
    return Collection.loads(COLLECTION.format(revision=revision))


def earlier(path: Path) -> sqlite3.Connection:
    """A state file of the first layout, and a process that has it open."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in MIGRATIONS[0].split(";"):
        connection.execute(statement)
    connection.execute("PRAGMA user_version = 1")
    connection.execute("INSERT INTO ledger VALUES ('upgraded', 0, 'one', ?, 7, 7, 7)", (DAY,))
    connection.execute("INSERT INTO settled VALUES ('upgraded', 'other', 0, 5, 5)")
    path.chmod(0o600)
    return connection


def test_a_process_of_the_version_before_is_refused_and_finds_no_damage(tmp_path: Path) -> None:
    """What it would write fails a constraint, which is no damage: at damage it set files aside."""
    path = tmp_path / "device.db"
    other = earlier(path)
    state = State(path)
    spent = state.run(charges)
    assert {(charge.metric, round(charge.epsilon * 10**12)) for charge in spent} == {("other", 5), ("one", 7)}
    with pytest.raises(sqlite3.IntegrityError):
        other.execute("INSERT INTO ledger VALUES ('upgraded', ?, 'one', ?, 7, 7, 7)", (DAY, DAY))
    assert other.execute("SELECT coalesce(max(ends), 0), coalesce(sum(reserve), 0) FROM settled").fetchone() == (0, 0)
    assert other.execute("SELECT count(*) FROM ledger").fetchone() == (0,)
    other.close()
    assert state.run(charges) == spent


def test_a_file_that_becomes_newer_while_it_is_open_is_refused_and_not_damaged(tmp_path: Path) -> None:
    """The next version may do to this one what this one does to the one before."""
    path = tmp_path / "device.db"
    state = State(path)
    state.run(charges)
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.execute("DROP TABLE charge")
    newer.commit()
    newer.close()
    with pytest.raises(Exception, match="newer version of deniable"):
        state.run(charges)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["device.db"]


def test_what_is_left_to_chance_stays_what_it_was(tmp_path: Path) -> None:
    """A threshold for life that was drawn under the name that a question had before is not drawn again."""
    metric = asking().metrics["one"]

    def work(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
        memo = Memo(connection, "upgraded")
        before = memo._name(metric, worded=True, whole=True)
        connection.execute(
            "INSERT INTO memo (key, question, place, remembered) VALUES (?, ?, 0, ?)", (b"k", before, b"")
        )
        drawn = [int.from_bytes(memo._hmac("draw", before.hex(), number)[:8], "little") for number in range(3)]
        return list(islice(memo.draws(metric), 3)), drawn

    now, then = State(tmp_path / "device.db").run(work)
    assert now == then


def test_a_memory_of_the_version_before_is_no_further_question(tmp_path: Path) -> None:
    """Of four meanings that a name may have, what is remembered already is answered on, and costs nothing."""
    path = tmp_path / "device.db"
    first = Device(asking(), path)
    first.keep({"one": 3.0}, 0)
    first.seal(DAY)
    first.state.run(lambda connection: connection.execute("DELETE FROM question"))  # as the version before had none
    for day in range(1, 6):
        device = Device(asking(revision=day + 1), path)
        device.keep({"one": 3.0}, day)
        assert len(device.seal((day + 1) * DAY)) == (day < 5)
    first.keep({"one": 3.0}, 9)
    assert len(first.seal(10 * DAY)) == 1
    assert first.ledger[-1].epsilon == 0
