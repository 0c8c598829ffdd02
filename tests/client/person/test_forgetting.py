"""`python -m deniable`: what a no erases, what forgetting erases, and what neither of them gives back."""

from __future__ import annotations

import io
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

import deniable
from deniable import Client, Collection, Consent, Settings
from deniable.device.ledger import charges
from deniable.device.state import State
from support.device import Device
from support.person import COLLECTION, DAY, FIRST, TEXT, VALUES, Person, answered, rows


def test_a_no_is_heeded_by_an_application_that_runs(tmp_path: Path, person: Person) -> None:
    """What it has recorded and not sent is erased, what it records then is not kept; its own yes changes nothing."""
    path = answered(tmp_path / "s.db", sent=False)
    settings = Settings(clock=lambda: (FIRST + 3.5) * DAY, write_behind=3600.0)
    with Client(COLLECTION, state=path, consent=Consent.GRANTED, settings=settings) as client:
        client.record("crashed", True)
        client._write()
        assert rows(path, "SELECT count(*) FROM raw") == [(1,)]
        said = person(path, "consent", "withheld")
        assert said.code == 0
        assert said.out.startswith("You have said withheld: nothing is collected")
        for table in ("raw", "queue", "transcript"):
            assert rows(path, f"SELECT count(*) FROM {table}") == [(0,)], table
        client.record("dark_mode", True)
        client._write()
        assert rows(path, "SELECT count(*) FROM raw") == [(0,)]
        assert client.consent is Consent.WITHHELD
    assert len(rows(path, "SELECT * FROM charge")) == 9, "what was spent is spent"
    with Client(COLLECTION, state=path, consent=Consent.GRANTED, settings=settings) as client:
        assert client.consent is Consent.WITHHELD
    assert "You have said withheld" in person(path, "consent").out
    assert person(path, "consent", "granted").code == 0
    with Client(COLLECTION, state=path, settings=settings) as client:
        assert client.consent is Consent.GRANTED


def test_a_damaged_copy_is_erased_with_a_no(tmp_path: Path, person: Person) -> None:
    """It has values in it."""
    path = answered(tmp_path / "s.db")
    aside = path.with_name("s.db.damaged")
    aside.write_bytes(path.read_bytes())
    assert person(path, "consent", "withheld").code == 0
    assert not aside.exists()


def test_forgetting_erases_all_but_the_no_and_what_it_cost(tmp_path: Path, person: Person) -> None:
    """No value, report, memory, secret, day or count is in the file any more, in its tables or in its bytes."""
    path = answered(tmp_path / "s.db")
    Device(COLLECTION, path).keep({"theme": "light"}, FIRST + 5)
    gone = [
        value
        for query in ("SELECT request FROM queue", "SELECT key FROM memo", "SELECT conclusion FROM transcript",
                      "SELECT value FROM meta WHERE key = 'secret'", "SELECT batch_id FROM queue")
        for (value,) in rows(path, query)
    ]  # fmt: skip
    assert len(gone) > 10
    assert person(path, "forget", "--yes").code == 0
    for table in ("raw", "queue", "transcript", "memo", "charge", "health"):
        assert rows(path, f"SELECT count(*) FROM {table}") == [(0,)], table
    assert {key for (key,) in rows(path, "SELECT key FROM meta")} == {"consent", "asked editor"}
    left = path.read_bytes()
    for value in gone:
        assert (value.encode() if isinstance(value, str) else value) not in left
    ends = (FIRST + 3) * DAY
    assert rows(path, "SELECT metric, ends, cost, reserve FROM settled_charge ORDER BY 1") == [
        ("crashed", ends, *[3 * _units("ln 3")] * 2),
        ("dark_mode", ends, *[3 * 10**12] * 2),
        ("theme", ends, *[3 * 10**12] * 2),
    ]
    told = person(path, "ledger").out
    assert "earlier ones" in told
    assert "This device has spent 9.29584 in all." in told


def _units(epsilon: str) -> int:
    value = deniable.Epsilon.of(epsilon).value
    return -(-value.numerator * 10**12 // value.denominator)


def test_forgetting_buys_no_budget(tmp_path: Path, person: Person) -> None:
    """However often somebody forgets and comes back, a lifetime's budget is spent once, no time answered twice."""
    path = tmp_path / "s.db"
    spent = Fraction(0)
    for turn in range(12):
        device = Device(COLLECTION, path)
        said = device.answers(VALUES, range(FIRST + 2 * turn, FIRST + 2 * turn + 1))
        spent += sum((COLLECTION.metrics[name].epsilon.value for name in said[0]), Fraction(0))
        again = device.answers({"crashed": True}, range(FIRST + 2 * turn, FIRST + 2 * turn + 1))
        assert again == [{}]
        device.state.close()
        assert person(path, "forget", "--yes").code == 0
        again = Device(COLLECTION, path).answers({"crashed": True}, range(FIRST, FIRST + 2 * turn + 1))
        assert not any(again)
    assert 7 < spent <= 12
    (reserved,) = rows(path, "SELECT sum(reserve) FROM settled_charge")[0]
    assert reserved <= 12 * 10**12
    assert len(State(path).run(charges)) == 3


def test_forgetting_makes_no_memory_that_can_be_averaged(tmp_path: Path, person: Person) -> None:
    """Without a lifetime's budget a remembered answer that is forgotten is another question, and there are four."""
    path, endless = tmp_path / "s.db", Collection.loads(TEXT.replace("lifetime = 12", ""))
    answered = 0
    for turn in range(10):
        device = Device(endless, path)
        answered += sum("theme" in said for said in device.answers(VALUES, range(FIRST + turn, FIRST + turn + 1)))
        device.state.close()
        assert person(path, "forget", "--yes").code == 0
    assert answered == 4


def test_a_clock_that_was_years_ahead_is_told_after_forgetting(tmp_path: Path, person: Person) -> None:
    """Which of the days until then were answered is forgotten, so none of them is: that is said, with the day.

    That the day of forgetting itself is not answered is no trouble: it is over tomorrow.
    """
    for ahead, told in ((3 * 365, "2027-10-08"), (0, "")):
        path = answered(tmp_path / f"{ahead}.db")
        device = Device(COLLECTION, path)
        assert device.answers({"crashed": True}, range(FIRST + ahead + 3, FIRST + ahead + 4)) != [{}]
        device.state.close()
        assert person(path, "forget", "--yes").code == 0
        assert person(path, "consent", "granted").code == 0
        settings = Settings(clock=lambda: (FIRST + 3.5) * DAY, write_behind=3600.0)
        with Client(COLLECTION, state=path, settings=settings) as client:
            assert (told in client.status().trouble) if told else client.status().trouble == ""
            client.record("crashed", True)
            client.flush(60)
            assert client.status().counts["refused by the ledger"] == 1
        then = (FIRST + ahead + 4.5) * DAY
        with Client(COLLECTION, state=path, settings=Settings(clock=partial(float, then))) as client:
            assert client.status().trouble == ""


def test_forgetting_asks_first(tmp_path: Path, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody can be asked it erases nothing, and says what to do; only the word yes is a yes."""
    path = answered(tmp_path / "s.db")
    before = path.read_bytes()
    monkeypatch.setattr("sys.stdin", io.StringIO())
    said = person(path, "forget")
    assert (said.code, said.out) == (2, "")
    assert "nothing was erased: say --yes" in said.error
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "y")
    assert person(path, "forget").out.endswith("Nothing was erased.\n")
    for almost in ("--y", "--ye", "--yess"):  # an option is said in full, or it is none
        with pytest.raises(SystemExit, match="2"):
            person(path, "forget", almost)
    assert path.read_bytes() == before
    monkeypatch.setattr("builtins.input", lambda _: "YES ")
    assert "Erased." in person(path, "forget").out
    assert path.read_bytes() != before
