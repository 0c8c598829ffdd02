"""What a device does must not say what it answers: refusals, charges, memories and logs."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from deniable import Client, Collection, CollectionError, Consent
from support.asked import LINKABLE
from support.device import Device

HEAD = """
[collection]
name = "refusals"
epoch = "1d"
owner = "o"
[budget]
epoch = {epoch}
{lifetime}
"""
MEMO = """
[metrics.{name}]
kind = "boolean"
description = "{description}"
epsilon = 1
memoize = true
instantaneous_epsilon = "linkable"
"""
FRESH = """
[metrics.{name}]
kind = "boolean"
description = "d"
epsilon = 1
"""


def collection(*metrics: str, epoch: float = 10, lifetime: float | None = None) -> Collection:
    """Some metrics within budgets."""
    limit = "" if lifetime is None else f"lifetime = {lifetime}"
    return Collection.loads(HEAD.format(epoch=epoch, lifetime=limit) + "".join(metrics))


def memo(name: str, description: str = "d") -> str:
    """A boolean that is remembered."""
    return MEMO.format(name=name, description=description)


def fresh(name: str) -> str:
    """A boolean that is drawn afresh."""
    return FRESH.format(name=name)


def answered(device: Device, values: list[dict[str, Any]]) -> list[set[str]]:
    """Which metrics each epoch's batch has."""
    said = []
    for epoch, own in enumerate(values):
        device.keep(own, epoch)
        sealed = device.seal((epoch + 1) * 86400)
        said.append({device.collection.columns[report.column].metric for report in sealed.get(epoch, [])})
    return said


@pytest.mark.parametrize("lifetime", [None, 2, 3, 4, 5, 7])
def test_what_is_refused_does_not_depend_on_the_answers(lifetime: float | None) -> None:
    """Whether an answer stays or changes, the same metrics are missing from the same batches."""
    asked = collection(memo("kept"), fresh("other"), lifetime=lifetime)
    stays = [{"kept": True, "other": True}] * 6
    changes = [{"kept": day in {0, 3, 4}, "other": True} for day in range(6)]
    assert answered(Device(asked), stays) == answered(Device(asked), changes)


def test_a_remembered_answer_takes_its_part_of_an_epoch_like_a_new_one() -> None:
    """In an epoch without room for both metrics the same one is answered, whether the other is remembered or not."""
    device = Device(collection(memo("a"), fresh("b"), epoch=2))
    device.collection = collection(memo("a"), fresh("b"), fresh("c"), epoch=3)
    values = [
        {"a": True, "b": True, "c": True},
        {"a": True, "b": True, "c": True},
        {"a": False, "b": True, "c": True},
    ]
    assert answered(device, values) == [{"a", "b", "c"}] * 3


def test_more_answers_than_are_remembered_are_answered_as_the_latest() -> None:
    """A category that changes for ever costs no more than its file says, and is never missing from a batch."""
    text = (
        HEAD.format(epoch=10, lifetime="lifetime = 3")
        + '[metrics.one]\nkind = "category"\ndescription = "d"\nepsilon = 1\nmemoize = true\nremembered_answers = 3\n'
        + LINKABLE
        + 'values = ["a", "b", "c", "d", "e", "f"]\nmechanism = "randomized_response"\n'
    )
    device = Device(Collection.loads(text))
    said = device.answers({"one": "a"}, range(1)) + device.answers({"one": "b"}, range(1, 2))
    said += device.answers({"one": "c"}, range(2, 3))
    later = [device.answers({"one": value}, range(3 + day, 4 + day))[0] for day, value in enumerate("defdef")]
    assert [report["one"] for report in later] == [said[2]["one"]] * 6
    assert sum(charge.epsilon for charge in device.ledger) == 3.0


def test_another_question_of_the_same_name_is_not_answered_from_memory() -> None:
    """In another revision the same metric is another question: its lies are drawn and paid for anew."""
    differs = 0
    for _ in range(60):
        device = Device(collection(memo("one", "The theme is dark")))
        (before,) = device.answers({"one": True}, range(1))
        device.collection = collection(memo("one", "The crash reporter is on") + "revision = 2\n")
        (after,) = device.answers({"one": True}, range(1, 2))
        differs += before["one"].payload != after["one"].payload
        assert [charge.epsilon for charge in device.ledger] == [1.0, 1.0]
    # Two draws at epsilon 1 differ with probability 0.393: none of 60 does once in 10^13 times.
    assert differs > 0


def test_drawn_flags_of_one_device_are_remembered_each_for_itself() -> None:
    """Remembering a lie about one flag says nothing about another one."""
    text = (
        HEAD.format(epoch=10, lifetime="")
        + '[metrics.one]\nkind = "flags"\ndescription = "d"\nepsilon = 1\nmemoize = true\nflags = ["a", "b", "c"]\n'
        + LINKABLE
        + 'mechanism = "randomized_response"\n'
    )
    asked = Collection.loads(text)
    columns = {Device(asked).answers({"one": []}, range(1))[0]["one"].column for _ in range(60)}
    assert columns == {0, 1, 2}, "one of three is missing once in 10^10 times"


@pytest.mark.parametrize("reduce", ["last", "min", "mean", "sample"])
def test_an_event_can_not_be_hidden_in_what_it_decides_alone(reduce: str) -> None:
    """Where each event is to be hidden, counts are added up, or the largest is answered."""
    text = HEAD.format(epoch=2, lifetime="") + (
        '[metrics.one]\nkind = "count"\ndescription = "d"\nepsilon = 1\nprivacy_unit = "event"\n'
        f'reduce = "{reduce}"\n'
    )
    with pytest.raises(CollectionError, match=r'goes with reduce = "sum" or "max"'):
        Collection.loads(text)


def test_the_log_does_not_say_what_was_recorded(caplog: pytest.LogCaptureFixture) -> None:
    """Neither a value that is not taken, nor one that was given in the place of the name, is logged."""
    with caplog.at_level(logging.DEBUG), Client(collection(fresh("one")), consent=Consent.GRANTED) as client:
        client.record("one", "a-secret-value")
        client.record("a-secret-value", "one")
    assert "secret" not in caplog.text
    assert len(caplog.records) == 2


def test_a_device_that_forgets_makes_no_promises_for_a_lifetime() -> None:
    """Without a state file a client does not report to collections with a memo or a lifetime's budget."""
    for asked in (collection(memo("one")), collection(fresh("one"), lifetime=3)):
        with pytest.raises(ValueError, match="state: name a file"):
            Client(asked, endpoint="127.0.0.1:1", consent=Consent.GRANTED)


def test_an_epsilon_is_what_the_ledger_can_count() -> None:
    """What loads is never refused by the ledger for the last digit: epsilons have 12 decimals at most."""
    with pytest.raises(CollectionError, match="can have 12 decimals"):
        collection(fresh("one").replace("epsilon = 1", "epsilon = 0.3333333333333333"))
