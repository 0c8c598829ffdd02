"""The coin by which a device takes part in an epoch: servers that compare silences, crashes, clocks and forks.

Tests that count coins raise a false alarm at most once in a million runs: counts may lie 5.5 standard deviations off
(binomial tails of less than 5e-7, both sides), tables of two by two may have a chi-square of 24 (9.6e-7). They find a
coin of 0.16 instead of 0.1, and coins that agree in 58 of 100 epochs instead of 50, nearly always.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

from deniable import Client, Collection
from deniable.device import coins, ledger
from deniable.device.state import State
from support.collection_files import head, metric
from support.device import Device, Stumbling
from support.waiting import PATIENCE

DAY = 86400
EPOCHS = range(1000, 3000)
FAR, APART = 5.5, 24.0


def asking(sample: float | None, name: str = "c", version: int = 0) -> Collection:
    """A collection of two questions that asks a part of its devices."""
    return Collection.loads(written(sample, name, version))


def written(sample: float | None, name: str = "c", version: int = 0) -> str:
    """The same as its file has it."""
    begin = head(name, 4, lifetime=4000, sample=sample, version=version)
    return begin + metric("word", "text") + metric("dark", "boolean", memoize=True)


def drawn(device: Device, epochs: Sequence[int] = EPOCHS, collection: Collection | None = None) -> list[bool]:
    """In which epochs a device takes part."""
    asked = collection or device.collection
    return device.state.run(lambda connection: [coins.takes_part(connection, asked, epoch) for epoch in epochs])


def apart(one: Sequence[bool], other: Sequence[bool]) -> float:
    """The chi-square of two sequences of coins."""
    both = sum(a and b for a, b in zip(one, other, strict=True))
    first, second, every = sum(one), sum(other), len(one)
    return every * (every * both - first * second) ** 2 / (first * (every - first) * second * (every - second))


@pytest.mark.parametrize("part", ["0.1", "0.5", "0.000001"])
def test_a_coin_is_exact(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all 2^64 words those below the threshold take part, which is the part that is asked to half a word."""
    asked = Collection.loads(
        head("c", 1).replace("[budget]", f"sample = {part}\n[budget]") + metric("dark", "boolean")
    )
    threshold = asked.sample * 2**64
    assert threshold.denominator == 1
    assert abs(threshold - Fraction(part) * 2**64) <= Fraction(1, 2)
    for number, (word, takes_part) in enumerate([(threshold - 1, True), (threshold, False)]):
        monkeypatch.setattr(coins, "word", lambda word=word: int(word))
        assert drawn(Device(asked), [number]) == [takes_part]


@pytest.mark.parametrize("part", [0.1, 0.5])
def test_a_device_takes_part_as_often_as_is_asked(part: float) -> None:
    """And spends nothing in all other epochs: the ledger has a line a metric for each epoch of its coin."""
    device, epochs = Device(asking(part)), EPOCHS[:100]
    every = drawn(device)
    assert abs(sum(every) - part * len(EPOCHS)) <= FAR * sqrt(part * (1 - part) * len(EPOCHS))
    answered = device.answers({"word": "yes", "dark": True}, epochs)
    assert [bool(own) for own in answered] == every[: len(epochs)]
    assert {charge.start // DAY for charge in device.ledger} == {
        epoch for epoch, own in zip(EPOCHS, every[: len(epochs)], strict=False) if own
    }
    assert len(device.ledger) == 2 * sum(every[: len(epochs)])


def test_silences_of_two_collections_have_nothing_in_common() -> None:
    """A server that sees both, and knows when which batches came, can not tell that they are of one device by when it
    is silent; nor does a silence say anything of the next one."""
    device = Device(asking(0.5))
    one, other = drawn(device), drawn(device, collection=asking(0.5, "other"))
    assert apart(one, other) < APART
    assert apart(one[1:], one[:-1]) < APART
    assert apart(one, drawn(Device(asking(0.5)))) < APART
    assert apart(one, one) > APART


def test_who_is_not_drawn_keeps_spends_and_sends_nothing() -> None:
    """Whatever was recorded: what is left of the epoch is its coin."""
    device = Device(asking(0.5))
    silent = EPOCHS[drawn(device).index(False)]
    device.keep({"word": "unspeakable", "dark": True}, silent)
    assert device.content["raw"] == []
    assert device.seal((silent + 1) * DAY) == {}
    left = {table for table, rows in device.content.items() if rows}
    assert left <= {"coin", "health", "meta"}
    assert "unspeakable" not in str(device.content)


def test_a_crash_leaves_coin_and_values_or_neither(tmp_path: Path) -> None:
    """At whatever statement of keeping and sealing: no coin is drawn a second time, and none is there without what it
    decided. What a process has committed another one finds."""
    values = {"word": "yes", "dark": False}
    for number in range(12):
        path, epoch = tmp_path / f"{number}.db", EPOCHS[number]
        device = Device(asking(0.5), path)
        before = device.content

        def stumble(connection: sqlite3.Connection, device: Device = device, number: int = number) -> None:
            stumbling: Any = Stumbling(connection, number)
            device.keep_in(stumbling, values, EPOCHS[number])

        try:
            device.state.run(stumble)
        except ZeroDivisionError:
            assert device.content == before
        device.keep(values, epoch)
        (first,) = drawn(device, [epoch])
        device.state.close()
        again = Device(asking(0.5), path)
        assert drawn(again, [epoch]) == [first]
        assert len(again.content["raw"]) == 2 * first
        assert bool(again.seal((epoch + 1) * DAY)) is first
        again.state.close()


def test_a_process_that_dies_has_drawn_nothing(tmp_path: Path) -> None:
    """Killed between the draw and the end of the transaction, a few times: the coin that stands is the first that
    was committed, and it is as fair as if nobody had died."""
    path = tmp_path / "device.db"
    Device(asking(0.5), path).state.close()
    for _ in range(5):
        child = os.fork()
        if not child:
            State(path).run(lambda connection: (coins.takes_part(connection, asking(0.5), 7), os._exit(9)))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert Device(asking(0.5), path).content["coin"] == []


def test_a_clock_that_goes_back_finds_the_same_coin() -> None:
    """An epoch that is asked again, after others, is answered by the coin that it had; what was recorded in an epoch
    that has not begun any more becomes the current one's, and goes by the current one's coin."""
    device = Device(asking(0.5))
    every = drawn(device)
    silent, ready = EPOCHS[every.index(False)], EPOCHS[every.index(True)]
    answered = []
    for epoch in (ready, silent, ready, silent):
        device.keep({"word": "again"}, epoch)
        answered.append(bool(device.seal((epoch + 1) * DAY)))
    assert answered == [True, False, False, False]
    later = next(epoch for epoch, own in zip(EPOCHS, every, strict=True) if own and epoch > silent)
    device.keep({"dark": True}, later)
    assert device.seal((silent + 0.5) * DAY) == {}, "it is brought back, and let go"
    assert device.seal((later + 1) * DAY) == {}
    assert drawn(device) == every


FORKED = """
import json, os, sys
from deniable import Collection
from deniable.device import coins
from deniable.device.state import State

path, text, epochs = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
asked, child = Collection.loads(text), os.fork()
state = State(path)
found = [state.run(lambda connection: coins.takes_part(connection, asked, epoch), 600.0) for epoch in epochs]
if child:
    os.waitpid(child, 0)
print(json.dumps(found), flush=True)
os._exit(0)
"""


def test_processes_of_one_device_have_one_coin(tmp_path: Path) -> None:
    """Forked or not, at the same time: they share the file, and the first that draws draws for all."""
    path, epochs = tmp_path / "device.db", range(30)
    parent = Device(asking(0.5), path)
    drawn(parent, [0])
    parent.state.close()
    command = [sys.executable, "-c", FORKED, str(path), written(0.5), json.dumps(list(epochs))]
    pairs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    lines = [line for pair in pairs for line in pair.communicate(timeout=PATIENCE)[0].splitlines()]
    own = drawn(Device(asking(0.5), path), epochs)
    assert [json.loads(line) for line in lines] == [own] * 4
    assert 0 < sum(own) < len(own)


def test_another_part_of_the_devices_goes_by_the_same_word() -> None:
    """A version that asks more devices adds some, and none is drawn anew: who ships versions can not have a device
    toss again until it takes part."""
    device = Device(asking(0.1))
    few, more = drawn(device), drawn(device, collection=asking(0.5, version=1))
    assert all(many for few_, many in zip(few, more, strict=True) if few_)
    assert abs(sum(more) - 0.5 * len(EPOCHS)) <= FAR * sqrt(0.25 * len(EPOCHS))
    assert drawn(device, collection=asking(None, version=2)) == [True] * len(EPOCHS)
    assert drawn(device) == few


def test_asking_under_many_names_costs_no_more() -> None:
    """Each name has a coin of its own, so that some will take part; but a question is answered once in an epoch."""
    device, epoch = Device(asking(0.5)), 100
    given = 0
    for number in range(30):
        device.collection = asking(0.5, f"n{number}")
        device.keep({"word": "yes"}, epoch)
        given += len(device.seal((epoch + 1) * DAY))
    assert given == 1
    assert device.spent == 1


def test_a_device_that_forgets_its_coins_takes_no_part() -> None:
    """Without a state file each start would toss again: such a client is refused."""
    asked = Collection.loads(head("c", 1, sample=0.5) + metric("dark", "boolean"))
    with pytest.raises(ValueError, match="each start would draw anew"):
        Client(asked, endpoint="127.0.0.1:1", consent="granted")


def test_coins_are_erased_with_what_they_were_about() -> None:
    """When their epochs are closed for good, and when the person has everything forgotten."""
    device = Device(asking(0.5))
    drawn(device)
    device.state.run(lambda connection: ledger.settle(connection, (EPOCHS[-1] + 1) * DAY))
    assert len(device.content["coin"]) == 400
    device.state.run(coins.forget)
    assert device.content["coin"] == []
