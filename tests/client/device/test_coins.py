"""A collection that asks a part of its devices: what an application is told, and where a device always takes part."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable import Client, Collection, Settings
from deniable.collection import Files, bundle
from deniable.device import coins
from deniable.device.state import State
from deniable.testing import TestClient
from support.application import HOUR, Clock
from support.collection_files import head, metric, problems
from support.debugging import at_home, viewing
from support.endpoints import answering
from support.waiting import PATIENCE, soon

BEGIN = head("part", 3, epoch="1h", sample=0.5)
HALF = Collection.loads(BEGIN + metric("dark", "boolean") + metric("minutes", "count", max=10))


def epochs(path: Path) -> tuple[int, int]:
    """An epoch that the device is not drawn for, and one that it is drawn for and that is not the next one."""
    state = State(path)
    known = state.run(lambda connection: [coins.takes_part(connection, HALF, epoch) for epoch in range(100, 200)])
    state.close()
    silent = known.index(False)
    return 100 + silent, 100 + known.index(True, silent + 1)


def test_who_is_not_drawn_is_told_why_and_when_it_may_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once the coin is drawn: nothing waits, the next answer leaves after the next epoch at the earliest, a flush is
    not true, and nothing has left. In an epoch that the device is drawn for all is as ever."""
    path = tmp_path / "device.db"
    silent, ready = epochs(path)
    clock = Clock((silent + 0.5) * HOUR)
    settings = Settings(clock=clock, write_behind=0.01, leeway=0.0)
    with (
        answering() as endpoint,
        Client(HALF, consent="granted", settings=settings, state=path, endpoint=endpoint.address) as device,
    ):
        why = "not drawn this epoch: a device takes part in 0.5 of all epochs, by a coin of its own"
        for _ in range(2):
            device.record("dark", True)
            soon(lambda: device.status().recorded == ())
            status = device.status()
            assert status.unanswered == {"dark": why, "minutes": why}
            assert (status.waiting, status.next_answer_at, status.trouble) == (0, (silent + 2) * HOUR, "")
            assert not device.flush(PATIENCE)
        assert f"dark: {why}" in caplog.text
        assert device.flush(PATIENCE), "nothing was recorded since"
        assert endpoint.requests == []
        clock.now = (ready + 0.5) * HOUR
        device.record("dark", True)
        assert device.status().unanswered == {}
        assert device.status().next_answer_at == (ready + 1) * HOUR
        assert device.flush(PATIENCE)
        assert len(endpoint.requests) == len(device.ledger()) == 1


def test_without_a_word_of_the_person_no_coin_is_drawn(tmp_path: Path) -> None:
    """The file has nothing of the collection then."""
    path = tmp_path / "device.db"
    with Client(HALF, state=path, consent="withheld") as device:
        device.record("dark", True)
        device.flush()
    state = State(path)
    assert state.run(lambda connection: connection.execute("SELECT * FROM coin").fetchall()) == []
    state.close()


def test_the_device_of_a_test_always_takes_part() -> None:
    """A test of an application does not fail every other time; digest and reports are those of the collection."""
    with TestClient(HALF) as client:
        for _ in range(40):
            client.record("dark", True)
            assert client.recorded("dark") is True
            client.flush()
        assert len(client.reports("dark")) == 40
        assert client.collection.digest == HALF.digest
        assert client.collection.metrics["dark"].sample == 1


def test_a_debug_client_always_takes_part_and_says_how_often_a_device_does() -> None:
    """What is recorded is shown whatever the coin would have been."""
    with at_home(), viewing() as view:
        for number in range(10):
            with Client(HALF, consent="granted", debug=True) as device:
                device.record("dark", True)
                assert device.flush(PATIENCE)
            assert len(view.showings) == number + 1
        assert {showing["sample"] for showing in view.showings} == {0.5}
        assert {len(showing["reports"]) for showing in view.showings} == {1}


@pytest.mark.parametrize("part", ["0", "-0.1", "1.1", "0.0000001", "true", '"half"'])
def test_a_part_is_some_of_the_devices_or_all(part: str) -> None:
    """Anything else is refused with what could stand there."""
    ((where, what),) = problems(BEGIN.replace("sample = 0.5", f"sample = {part}") + metric("dark", "boolean"))
    assert where == "collection.sample"
    assert what.startswith("must ")


def test_what_part_is_asked_is_part_of_what_reports_mean(tmp_path: Path) -> None:
    """Another part makes another digest and another identity; all of them is what it has always been."""
    text = BEGIN + metric("dark", "boolean")
    half, tenth, every, unsaid = (
        Collection.loads(text.replace("sample = 0.5\n", said))
        for said in ("sample = 0.5\n", "sample = 0.1\n", "sample = 1.0\n", "")
    )
    assert len({own.digest for own in (half, tenth, every)}) == 3
    assert len({own.identities["dark"] for own in (half, tenth, every)}) == 3
    assert (every.digest, every.identities) == (unsaid.digest, unsaid.identities)
    path = tmp_path / "part.toml"
    path.write_text(text)
    assert Collection.loads(bundle(path, Files(tmp_path))).digest == half.digest
    assert Collection.load(path).sample == half.metrics["dark"].sample == 0.5
