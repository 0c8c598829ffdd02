"""What a device may spend, against names and words that change, files that are damaged, and deltas that add up."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniable import Budget, Client, Collection, CollectionError, Consent, Entry, Settings
from deniable.device.ledger import charges
from deniable.device.state import State, health, lost, start_over
from support.device import Device

DAY = 86400
TIMES = 30


def asking(
    name: str = "c",
    metric: str = "m",
    description: str = "The dark theme is on",
    epsilon: object = 1,
    more: str = "",
    budget: str = "lifetime = 2",
) -> Collection:
    """A collection of one yes-or-no question."""
    return Collection.loads(
        f'[collection]\nname = "{name}"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 2\n{budget}\n'
        f'[metrics.{metric}]\nkind = "boolean"\ndescription = "{description}"\nepsilon = {epsilon}\n{more}\n'
    )


def answers(device: Device, asked: Iterable[Collection], *, within_a_day: bool, value: object = True) -> int:
    """How many of the collections, one after another, get an answer; within one day or one every day."""
    given = 0
    for number, collection in enumerate(asked):
        epoch = 100 if within_a_day else 100 + number
        device.collection = collection
        device.keep(dict.fromkeys(collection.metrics, value), epoch)
        given += sum(map(len, device.seal((epoch + 1) * DAY).values()))
    return given


@pytest.mark.parametrize("more", ["", "memoize = true\nremembered_answers = 1"], ids=["fresh", "remembered"])
@pytest.mark.parametrize("within_a_day", [True, False], ids=["within a day", "day after day"])
def test_the_budget_of_a_lifetime_is_one_whatever_the_collection_is_called(more: str, within_a_day: bool) -> None:
    """A collection that is renamed thirty times spends what one of them may, also where its metric is renamed too."""
    for renamed in ({"name"}, {"name", "metric"}):
        asked = [asking(**dict.fromkeys(renamed, f"n{number}"), more=more) for number in range(TIMES)]
        device = Device(asked[0])
        given = answers(device, asked, within_a_day=within_a_day)
        assert given == (1 if within_a_day and renamed == {"name"} else 2)
        assert device.spent == given


def test_the_budget_of_an_epoch_is_one_whatever_things_are_called() -> None:
    """Without the budget of a lifetime too: what was taken of a day, under any name, is taken."""
    asked = [asking(f"n{number}", f"n{number}", budget="") for number in range(TIMES)]
    assert answers(Device(asked[0]), asked, within_a_day=True) == 2
    assert answers(Device(asked[0]), asked, within_a_day=False) == TIMES, "which is what fresh answers cost"


@pytest.mark.parametrize(
    "changed",
    [
        [asking(more=f"memoize = true\nrevision = {number + 1}", budget="") for number in range(TIMES)],
        [asking(epsilon=f"1.{number:03}", more="memoize = true", budget="") for number in range(TIMES)],
        [asking(f"n{number}", more="memoize = true", budget="") for number in range(TIMES)],
    ],
    ids=["revision", "epsilon", "the collection's name"],
)
def test_a_question_that_changes_for_ever_is_not_answered_for_ever(changed: list[Collection]) -> None:
    """A metric's name may have four questions where no lifetime's budget limits them; those go on being answered.

    Thirty memories of one answer, averaged, would tell it.
    """
    device = Device(changed[0])
    assert answers(device, changed, within_a_day=False) == 4
    assert device.spent <= 4 * 1.03
    device = Device(changed[0])
    assert answers(device, [*changed, *changed[:4] * 5], within_a_day=False) == 4 + 20
    assert [charge.epsilon > 0 for charge in device.ledger].count(True) == 4
    limited = [
        asking(more=f"memoize = true\nremembered_answers = 1\nrevision = {number + 1}", budget="lifetime = 9")
        for number in range(TIMES)
    ]
    assert answers(Device(limited[0]), limited, within_a_day=False) == 9, "its lifetime's budget is all that counts"


def test_words_that_change_buy_no_further_answer() -> None:
    """A memoized metric that is worded anew every day tells the same lie for thirty days, and is paid for once."""
    worded = [asking(description="d" + "." * number, more="memoize = true", budget="") for number in range(TIMES)]
    device = Device(worded[0])
    assert answers(device, worded, within_a_day=False) == TIMES
    assert [charge.epsilon > 0 for charge in device.ledger].count(True) == 1
    assert device.state.run(lambda connection: connection.execute("SELECT count(*) FROM memo").fetchone()) == (1,)


@pytest.mark.parametrize("budget", ["", "lifetime = 4", "lifetime = 5", "lifetime = 6.5"])
def test_a_question_that_changes_is_refused_whatever_the_answers_were(budget: str) -> None:
    """Devices that always said the same, and devices that changed their minds, are refused at the same moments."""
    versions = [asking(more=f"memoize = true\nrevision = {day // 2 + 1}", budget=budget) for day in range(12)]
    said = [[True] * 12, [False] * 12, [True, False] * 6, [True, True, False] * 4, [False] * 5 + [True] * 7]
    patterns = []
    for values in said:
        device, given = Device(versions[0]), []
        for day, (version, value) in enumerate(zip(versions, values, strict=True)):
            device.collection = version
            device.keep({"m": value}, day)
            given.append(len(device.seal((day + 1) * DAY).get(day, [])))
        patterns.append(given)
    assert 4 <= sum(patterns[0]) < 12
    assert all(pattern == patterns[0] for pattern in patterns)


def damage(path: Path) -> None:
    """Bits that have turned, behind the head."""
    content = path.read_bytes()
    path.write_bytes(content[:100] + bytes(byte ^ 0xFF for byte in content[100:]))


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.5 * DAY

    def __call__(self) -> float:
        """The time that it shows."""
        return self.now


def client(path: Path, collection: Collection, clock: Clock) -> Client:
    """A client of a device at a certain time."""
    settings = Settings(clock=clock, write_behind=0.01)
    return Client(collection, state=path, consent=Consent.GRANTED, settings=settings, strict=True)


REMEMBERED = asking(more="memoize = true", budget="")


@pytest.mark.parametrize("collection", [asking(), REMEMBERED], ids=["a lifetime's budget", "a memory"])
@pytest.mark.parametrize("how", ["damage", "removal", "a crash while it is set aside"])
def test_a_state_that_is_lost_is_no_new_budget(tmp_path: Path, collection: Collection, how: str) -> None:
    """Ten times, every other epoch: after the first nothing is answered until somebody says so, and why is told."""
    path, clock, given = tmp_path / "app.db", Clock(), 0
    for _ in range(10):
        with client(path, collection, clock) as device:
            device.set_consent(Consent.GRANTED)
            device.record("m", True)
            device.flush(0.2)
            given += any(charge.start // DAY == clock.now // DAY for charge in device.ledger())
            if how == "removal":
                path.unlink()
                device.record("m", True)
                device.flush(0.2)
        if how == "damage":
            damage(path)
        if how == "a crash while it is set aside":
            path.rename(tmp_path / "app.db.damaged")
        clock.now += DAY
        client(path, collection, clock).close()  # and the epoch in which the loss is found is spent
        clock.now += DAY
    assert given == 1
    with client(path, collection, clock) as device:
        device.set_consent(Consent.GRANTED)
        assert "memory, a delta or a lifetime's budget" in device.status().trouble
        clock.now += DAY
        device.start_over()
        assert device.status().trouble == ""
        device.record("m", True)
        device.flush(0.2)
        assert len(device.ledger()) == 1
        assert device.status().counts["started over"] == 1


def test_a_loss_is_told_once_and_with_the_next_step(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In the log of every start until it is answered, and not where nothing of the collection has to last."""
    path, clock = tmp_path / "app.db", Clock()
    client(path, asking(), clock).close()
    damage(path)
    with client(path, asking(), clock) as device:
        device.set_consent(Consent.GRANTED)
    for start in range(3):
        caplog.clear()
        with client(path, asking(), clock) as device:
            device.flush(0.1)
        assert caplog.text.count("start_over()") == 1, start
    caplog.clear()
    with client(path, asking(budget=""), clock) as device:
        assert device.status().trouble == ""
        clock.now += DAY
        device.record("m", True)
        device.flush(0.1)
        assert len(device.ledger()) == 1
    assert caplog.text == ""


@pytest.mark.parametrize("word", ["the person's", "the application's"])
def test_a_no_that_is_lost_is_no_yes(tmp_path: Path, word: str) -> None:
    """A person has said no; their device's file is damaged; the application starts with a yes of its own, as ever.

    Nothing is collected until the person says so, or the application says that it knows what has happened.
    """
    path, clock = tmp_path / "app.db", Clock()
    with client(path, asking(budget=""), clock) as device:
        device.set_consent(Consent.WITHHELD)
    damage(path)
    for _ in range(2):
        with client(path, asking(budget=""), clock) as device:
            assert device.consent is Consent.WITHHELD
            assert "set_consent" in device.status().trouble
            clock.now += DAY
            device.record("m", True)
            assert not device.flush(0.1), "what was recorded was not taken"
            assert device.ledger() == []
    with client(path, asking(budget=""), clock) as device:
        if word == "the person's":
            device.set_consent(Consent.GRANTED)
        else:
            device.start_over()
        assert (device.consent, device.status().trouble) == (Consent.GRANTED, "")
        device.record("m", True)
        device.flush(0.1)
        assert len(device.ledger()) == 1


def test_a_state_that_was_not_lost_is_not_started_over() -> None:
    """An application that calls it at every start, just in case, changes nothing and is not counted."""
    state = State(None)
    assert not state.run(lost)
    state.run(start_over)
    assert state.run(health) == {}, "there was nothing to start over from"


VECTOR = """
[collection]
name = "deltas"
epoch = "1d"
owner = "o"
[budget]
epoch = 100
{budget}
[metrics.m]
kind = "vector"
description = "d"
dimensions = 2
clip = 1
norm = "l2"
epsilon = 1
delta = 1e-6
fleet = 1000
{more}
"""


def vectors(budget: str = "", more: str = "", name: str = "m") -> Collection:
    """A collection of one l2 vector."""
    text = VECTOR.format(budget=budget, more=more).replace("metrics.m", f"metrics.{name}")
    return Collection.loads(text)


def spent(device: Device, days: int, values: Mapping[str, Any] | None = None) -> list[float]:
    """The deltas that so many days cost."""
    device.answers(values or {"m": [0.5, 0.5]}, range(days))
    return [charge.delta for charge in device.ledger]


def test_deltas_add_up_and_are_limited_like_epsilons() -> None:
    """The ledger has a line for each, and no answer is given beyond the budget: by default a thousandth, ever."""
    assert vectors().budget == Budget(Fraction(100), None, Fraction(1, 10**5), Fraction(1, 1000))
    assert spent(Device(vectors("lifetime_delta = 7.5e-6")), 10) == [1e-6] * 7
    assert spent(Device(vectors()), 20) == [1e-6] * 20
    device = Device(vectors())
    device.state.run(
        lambda connection: connection.execute(
            "INSERT INTO settled_charge VALUES ('other', 'other', 0, 0, 0, 0, ?)", (10**15 - 3 * 10**12,)
        )
    )
    assert spent(device, 20) == [1e-6, 0.0, 1e-6, 1e-6], "whichever collection has spent it"
    assert device.health == {"answered": 3, "refused by the ledger": 17}


def test_an_epoch_has_a_budget_of_delta_too() -> None:
    """Over names, as that of epsilon; and a file whose metrics are beyond it is refused with the next step."""
    device, given = Device(vectors("epoch_delta = 2e-6")), 0
    for number in range(5):
        device.collection = vectors("epoch_delta = 2e-6", name=f"n{number}")
        device.keep({f"n{number}": [0.5, 0.5]}, 100)
        given += len(device.seal(101 * DAY))
    assert given == 2
    with pytest.raises(
        CollectionError, match=r"budget\.epoch_delta: the deltas of the metrics add up to 1e-06 an epoch"
    ):
        vectors("epoch_delta = 9e-7")
    for wrong in ("0", "1", "-1", "'a'"):
        with pytest.raises(CollectionError, match=r"budget\.lifetime_delta"):
            vectors(f"lifetime_delta = {wrong}")


def test_a_remembered_delta_is_reserved_with_its_first_answer() -> None:
    """What eight different vectors could cost, whether they come or not: so a refusal tells nothing of them."""
    for most, given in (("7.9e-6", 0), ("8e-6", 20)):
        for moving in (0.0, 0.01):
            device = Device(vectors(f"lifetime_delta = {most}", 'memoize = true\ninstantaneous_epsilon = "linkable"'))
            for day in range(20):
                device.keep({"m": [moving * day, 0.5]}, day)
                device.seal((day + 1) * DAY)
            assert len(device.ledger) == given
            assert sum(charge.delta for charge in device.ledger) <= float(most)


def test_the_transcript_tells_of_a_delta(tmp_path: Path) -> None:
    """What it cost, and that the odds hold but for a chance: 2 delta, for twice e^epsilon."""
    with client(tmp_path / "app.db", vectors(), Clock()) as device:
        device.record("m", [0.5, 0.5])
        device.flush(0.1)
        (line,) = device.ledger()
        assert (line.epsilon, line.delta) == (1.0, 1e-6)
        device._state.run(lambda connection: connection.execute("UPDATE transcript SET fate = 'sent'"))
        (entry,) = device.transcript()
    assert (entry.epsilon, entry.delta) == (1.0, 1e-6)
    assert "at epsilon 1 and delta 1e-06" in str(entry)
    assert "more than 5.44 times as often as the other, but for a chance of 2e-06" in entry.conclusion
    plain = Entry("c", "m", 0, DAY, "'yes'", "so", "sent", 1.0)
    assert str(plain) == "m: sent 'yes' at epsilon 1; so"


def test_a_delta_is_never_forgotten_with_a_start() -> None:
    """Without a state file a device would spend it anew."""
    with pytest.raises(ValueError, match="state: name a file, or the delta of m would be forgotten"):
        Client(vectors(), endpoint="127.0.0.1:1", consent=Consent.GRANTED)


def test_what_is_settled_keeps_its_delta() -> None:
    """Lines that are added up after 400 days, too."""
    from deniable.device.ledger import settle

    device = Device(vectors("lifetime_delta = 3e-6"))
    assert len(spent(device, 3)) == 3

    def work(connection: sqlite3.Connection) -> list[float]:
        settle(connection, 403.0 * DAY)
        return [charge.delta for charge in charges(connection)]

    assert device.state.run(work) == [3e-6]
    device.answers({"m": [0.5, 0.5]}, range(500, 501))
    assert device.health["refused by the ledger"] == 1
