"""The memo: a device tells the same lie every time, so that asking again and again tells nothing more.

The attack is the average: an observer sees a device's reports of many epochs and guesses its answer by the larger
likelihood of all of them together.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats

from deniable import Collection
from deniable.device.asked import note
from deniable.device.memo import Memo
from deniable.device.schema import migrate
from support.asked import LINKABLE
from support.collection_files import head, metric
from support.device import Device

EPOCHS = 1000
DEVICES = 100
FALSE_ALARM = 1e-6


def collection(more: str, epsilon: str = '"ln 3"', budget: str = "20") -> Collection:
    """One yes-or-no question."""
    return Collection.loads(
        f'[collection]\nname = "c"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = {budget}\n'
        f'[metrics.m]\nkind = "boolean"\ndescription = "d"\nepsilon = {epsilon}\n{more}'
    )


FRESH = collection("")
MEMOIZED = collection("memoize = true\n" + LINKABLE)
TWICE = collection('memoize = true\ninstantaneous_epsilon = "ln 2"')


def payloads(device: Device, value: object, epochs: range, metric: str = "m") -> list[int]:
    """What it sends."""
    return [said[metric].payload for said in device.answers({metric: value}, epochs)]


def test_the_same_lie_is_told_every_time() -> None:
    """Over 300 epochs a device sends one payload, and pays once: the average tells what the first report told."""
    for _ in range(3):
        device = Device(MEMOIZED)
        assert len(set(payloads(device, True, range(300)))) == 1
        assert [line.epsilon for line in device.ledger] == [device.ledger[0].epsilon] + [0.0] * 299
        assert device.spent == device.ledger[0].epsilon >= math.log(3)


def test_fresh_noise_is_charged_every_time() -> None:
    """Without a memo 1,000 epochs cost 1,000 times: the ledger knows that the average would tell everything."""
    device = Device(FRESH)
    sent = payloads(device, True, range(EPOCHS))
    assert device.spent >= EPOCHS * math.log(3)
    # A device with this answer says yes 3 times of 4: within 0.09 but for once in 10^10 times.
    assert abs(sum(sent) / EPOCHS - 0.75) < 0.09


def observed(asked: Collection, epochs: int) -> list[Counter[int]]:
    """What devices with the answer yes send."""
    return [Counter(payloads(Device(asked), True, range(epochs))) for _ in range(DEVICES)]


def guessed_right(asked: Collection, seen: list[Counter[int]]) -> int:
    """How many devices with the answer yes an observer of all their reports guesses right."""
    channel = asked.metrics["m"].columns[0].channel()
    right = 0
    for sent in seen:
        evidence = sum(
            times * math.log(float(channel[1][payload] / channel[0][payload])) for payload, times in sent.items()
        )
        right += evidence > 0
    return right


def most_right(chance: float) -> int:
    """More right guesses than this come with that chance of each once in a million times."""
    return int(stats.binom.isf(FALSE_ALARM, DEVICES, chance))


def test_averaging_a_memoized_metric_is_no_better_than_one_look() -> None:
    """At ln 3 an observer guesses 3 of 4 devices right, after one report and after many: 93 of 100 at most.

    With fresh noise the same observer is wrong about seven devices in 10^4, and about more than three of 100 once
    in 10^6 times: the attack works where it can.
    """
    once, many = (guessed_right(MEMOIZED, observed(MEMOIZED, epochs)) for epochs in (1, 35))
    assert max(once, many) <= most_right(0.75) < DEVICES - 3
    assert guessed_right(FRESH, observed(FRESH, 35)) >= DEVICES - 3


def test_fresh_noise_over_the_memo_hides_it_without_giving_away_more() -> None:
    """Many reports tell what is remembered, and that is as deniable as one report without the second noise.

    Reports differ, so that they are no fingerprint. Were the answer itself remembered, 99 of 100 devices would be
    guessed right. Two of three reports are what is remembered: of 45 they are 7.5 from one half on average, over 100
    devices with a standard deviation of 0.3; were it drawn anew each time, 4.2. Either is taken for the other once in
    10^6 times.
    """
    device = Device(TWICE)
    assert len(set(payloads(device, True, range(100)))) == 2
    assert device.spent == device.ledger[0].epsilon
    seen = observed(TWICE, 45)
    assert guessed_right(TWICE, seen) <= most_right(0.75)
    assert sum(abs(sent[1] - 45 / 2) for sent in seen) / DEVICES > 5.9


def test_each_distinct_value_is_paid_for_once() -> None:
    """A device that changes its mind back and forth pays for two answers, however often it changes."""
    device = Device(MEMOIZED)
    sent = {value: {payloads(device, value, range(epoch, epoch + 1))[0]} for epoch, value in enumerate((True, False))}
    for epoch in range(2, 200):
        value = epoch % 3 == 0
        sent[value].add(payloads(device, value, range(epoch, epoch + 1))[0])
    assert [len(own) for own in sent.values()] == [1, 1]
    assert [line.epsilon > 0 for line in device.ledger].count(True) == 2


NUMBER = Collection.loads(head("c", 20) + metric("m", "number", range=[0, 100], memoize=True))


def test_what_is_left_to_chance_is_drawn_once() -> None:
    """Of 200 different numbers a device remembers two answers at most, for its rounding point stays where it is.

    Two devices round differently: of 100 devices some send 50 as the lower and some as the upper end.
    """
    device = Device(NUMBER)
    for epoch in range(200):  # both ends among them, between which every rounding point is
        device.answers({"m": 100 * epoch / 199}, range(epoch, epoch + 1))
    assert [line.epsilon > 0 for line in device.ledger].count(True) == 2
    metric = NUMBER.metrics["m"]

    def rounded(connection: sqlite3.Connection) -> int:
        return metric.encode(50.0, Memo(connection, "c").draws(metric).__next__)[1]

    assert {Device(NUMBER).state.run(rounded) for _ in range(100)} == {0, 1}


def test_the_file_does_not_say_what_was_answered(tmp_path: Path) -> None:
    """Memories are kept under an HMAC of the secret: two devices with the same answer have nothing in common."""
    keys = []
    for name in ("one", "two"):
        device = Device(MEMOIZED, tmp_path / name)
        device.answers({"m": True}, range(1))
        keys += device.state.run(lambda connection: connection.execute("SELECT key FROM memo").fetchall())
    assert len(set(keys)) == 2
    assert {len(key) for (key,) in keys} == {32}


def test_the_secret_never_leaves(tmp_path: Path) -> None:
    """What is queued has neither the secret nor a key of the memo in it."""
    device = Device(TWICE, tmp_path / "device.db")
    device.answers({"m": True}, range(50))

    def everything(connection: sqlite3.Connection) -> tuple[list[bytes], list[bytes]]:
        secrets = connection.execute("SELECT value FROM meta WHERE key = 'secret' UNION ALL SELECT key FROM memo")
        requests = connection.execute("SELECT request FROM queue UNION ALL SELECT batch_id FROM queue")
        return [row[0] for row in secrets], [row[0] for row in requests]

    secrets, requests = device.state.run(everything)
    assert len(secrets) == 2
    assert len(requests) == 100
    for secret in secrets:
        for start in range(len(secret) - 7):
            assert not any(secret[start : start + 8] in request for request in requests)


def test_another_channel_is_another_memory() -> None:
    """A new version of a collection that asks at another epsilon draws and pays anew; the old one's memory stays."""
    device = Device(MEMOIZED)
    device.answers({"m": True}, range(1))
    device.collection = collection("memoize = true\n" + LINKABLE, epsilon="2")
    device.answers({"m": True}, range(1, 3))
    device.collection = MEMOIZED
    device.answers({"m": True}, range(3, 4))
    assert [line.epsilon > 0 for line in device.ledger] == [True, True, False, False]


def test_other_fresh_noise_is_no_other_memory() -> None:
    """With another second randomisation, by number, by default or none, a device goes on with what it remembers.

    What is remembered was paid for: 60 devices pay once, and none of them says in the end what it had not remembered.
    """
    for _ in range(60):
        device = Device(MEMOIZED)
        (first,) = payloads(device, True, range(1))
        for epoch, more in enumerate(("", 'instantaneous_epsilon = "ln 2"', "instantaneous_epsilon = 1"), 1):
            device.collection = collection(f"memoize = true\n{more}")
            payloads(device, True, range(epoch, epoch + 1))
        device.collection = MEMOIZED
        assert payloads(device, True, range(4, 5)) == [first]
        assert [line.epsilon > 0 for line in device.ledger] == [True, False, False, False, False]


@pytest.mark.parametrize("whole", [False, True], ids=["its words", "its words and the second randomisation"])
@pytest.mark.parametrize("worded", ["d", "mended"])
def test_memories_of_older_versions_are_found(whole: bool, worded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were kept under keys with more in them: who has one pays for nothing anew, mended words or not."""
    device = Device(TWICE)
    with monkeypatch.context() as older:
        older.setattr(Memo, "_questions", lambda memo, metric: (memo._name(metric, worded=True, whole=whole),))
        payloads(device, True, range(1))
    device.collection = replace(TWICE, metrics={"m": replace(TWICE.metrics["m"], description=worded)})
    payloads(device, True, range(1, 3))
    payloads(device, False, range(3, 5))
    assert [line.epsilon > 0 for line in device.ledger] == [True, False, False, True, False]


def test_memories_are_found_of_what_is_answered_epochs_after_it_was_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of before are forgotten with the first answer to the new ones: by then all names are known."""
    asked = 'memoize = true\ninstantaneous_epsilon = "ln 2"\n'
    other = f'[metrics.other]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n{asked}'
    both = collection(asked + other)
    device = Device(both)
    with monkeypatch.context() as older:
        older.setattr(Memo, "_questions", lambda memo, metric: (memo._name(metric, worded=True, whole=False),))
        device.answers({"m": True, "other": True}, range(1))
    mended = {name: replace(own, description="mended") for name, own in both.metrics.items()}
    device.collection = replace(both, metrics=mended)
    payloads(device, True, range(1, 2))
    payloads(device, True, range(2, 3), "other")
    assert [line.epsilon > 0 for line in device.ledger] == [True, True, False, False]


def test_the_words_of_before_are_read_once() -> None:
    """However many metrics have no memory yet: they are one text, as long as the collection."""
    metrics = "".join(
        f'[metrics.m{number}]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\nmemoize = true\n'
        for number in range(3)
    )
    head = '[collection]\nname = "many"\nepoch = "1h"\nowner = "o"\n[budget]\nepoch = 3\n'
    collection = Collection.loads(head + metrics)
    connection = sqlite3.connect(":memory:")
    migrate(connection)
    note(connection, collection)
    memo, ran = Memo(connection, collection.name), list[str]()
    connection.set_trace_callback(ran.append)
    memo.find_out(collection.metrics.values())
    assert len([statement for statement in ran if "asked" in statement]) == 1
