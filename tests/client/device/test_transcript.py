"""The transcript: what has left this device, in words that are true."""

from __future__ import annotations

import re
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import grpc
import pytest

from deniable import Client, Collection, Consent, Settings
from deniable.device.transcript import conclusion, read
from deniable.kinds import KINDS
from support.device import Device
from support.endpoints import answering
from support.waiting import PATIENCE, soon

HEAD = '[collection]\nname = "words"\nepoch = "1h"\nowner = "o"\n[budget]\nepoch = 30\n'
METRICS: dict[str, tuple[str, Any, str]] = {
    "boolean": ('kind = "boolean"', True, r"'(yes|no)'"),
    "boolean, again": ('kind = "boolean"\nmemoize = true\ninstantaneous_epsilon = 1', True, r"'(yes|no)'"),
    "category": ('kind = "category"\nvalues = ["a", "b", "c"]', "b", r"'[abc]'"),
    "category, several": (
        'kind = "category"\nvalues = ["a", "b", "c", "d"]\nmechanism = "subset_selection"', "b", r"'[a-d]'( '[a-d]')?"
    ),
    "category, many": (
        f'kind = "category"\nvalues = {[f"{n}" for n in range(99)]}\nmechanism = "projective_geometry"',
        "7",
        r"code \d+",
    ),
    "ordinal": ('kind = "ordinal"\nvalues = ["a", "b", "c"]', "b", r"'[abc]'"),
    "number": ('kind = "number"\nrange = [0, 10]', 3, r"-?[0-9.]+, noise included"),
    "number, one bit": ('kind = "number"\nrange = [2, 10]\nmemoize = true', 3, r"the (lower end, 2|upper end, 10)"),
    "number, steps": ('kind = "number"\nrange = [0, 10]\nmechanism = "laplace"', 3, r"-?\d+, noise included"),
    "count": ('kind = "count"\nprivacy_unit = "event"', 3, r"-?\d+, noise included"),
    "distribution": (
        'kind = "distribution"\nrange = [0, 8]\nbuckets = 4', 3, r"('(0 to 4|4 to 8|0 to 2|2 to 4|4 to 6|6 to 8)' ?)+"
    ),
    "text": ('kind = "text"', "editor", r"code \d+"),
    "tree": ('kind = "tree"\npaths = ["a/x", "a/y", "b"]', "a/x", r"('(a|b|a/x|a/y)' ?)+"),
    "flags": (
        'kind = "flags"\nflags = ["a", "b"]\nmechanism = "bitwise_response"', ["a"], r"'a'( 'b')?|'b'|nothing"
    ),
    "flags, one": (
        'kind = "flags"\nflags = ["a", "b"]\nmechanism = "randomized_response"', ["a"], r"'[ab]' is (not )?set"
    ),
    "set": ('kind = "set"\nvalues = ["a", "b", "c"]\nmax_items = 2', ["c"], r"('[abc]' ?)+|nothing"),
    "vector": (
        'kind = "vector"\ndimensions = 3\nclip = 1\nnorm = "l1"\nmechanism = "vector_laplace"', [0.1, 0.2, 0.3],
        "3 noisy numbers",
    ),
    "vector, told": (
        'kind = "vector"\ndimensions = 3\nclip = 1\nnorm = "l2"', [0.1, 0.2, 0.3],
        r"direction \d+ of 256 that were drawn at random",
    ),
}  # fmt: skip


def asking(body: str) -> Collection:
    """A collection with one metric."""
    return Collection.loads(f'{HEAD}[metrics.m]\ndescription = "d"\n{body}\n')


def said(body: str, value: Any) -> list[tuple[str, str]]:
    """What a device's transcript says of fifty epochs: answers and conclusions."""
    device = Device(asking(body))
    device.answers({"m": value}, range(50))
    return device.state.run(
        lambda connection: connection.execute("SELECT answer, conclusion FROM transcript").fetchall()
    )


@pytest.mark.parametrize("name", METRICS)
def test_every_answer_has_its_words(name: str) -> None:
    """Whatever the kind and the mechanism, what was sent can be read by the person whose device has sent it."""
    body, value, words = METRICS[name]
    lines = said(f"{body}\nepsilon = 1", value)
    assert len(lines) == 50
    for answer, concluded in lines:
        assert re.fullmatch(words, answer), answer
        assert "of the time" in concluded or "times as often" in concluded


def test_every_kind_is_tried() -> None:
    """A new kind needs words of its own, or at least a look at those that it gets."""
    simple = {name.partition(",")[0] for name in METRICS}
    combined = {"text", "joint"}  # made of others
    assert KINDS.keys() - combined <= simple


def test_the_conclusion_is_what_the_mechanism_does() -> None:
    """At ln 3 it is the survey with two coins: the odds are 3 to 1, and the transcript says so."""
    mechanism = asking('kind = "boolean"\nepsilon = "ln 3"').columns[0].mechanism
    assert mechanism.probability(1, 0) == pytest.approx(Fraction(1, 4))
    for payload in (0, 1):
        assert conclusion(mechanism, payload) == (
            "devices with the other answer send this 25% of the time, those with this one 75%; "
            "who held an answer to be an even bet is at most 3 in 4 sure of it then"
        )


def test_a_conclusion_about_many_answers_gives_the_range() -> None:
    """On an ordered scale near answers lead to a report more often than far ones."""
    body = 'kind = "ordinal"\nvalues = ["a", "b", "c"]\nepsilon = 2\nmechanism = "exponential"'
    mechanism = asking(body).columns[0].mechanism
    near, far, own = (float(mechanism.probability(0, value)) for value in (1, 2, 0))
    others = f"devices with any other answer send this {100 * far:.2g}% to {near:.0%} of the time"
    assert conclusion(mechanism, 0).startswith(f"{others}, those with this one {own:.0%}; who held")


def test_a_report_over_the_memo_tells_no_more_than_its_own_noise() -> None:
    """Remembered at epsilon 3 and sent at epsilon 1, one report says 2.72 to 1 at most."""
    body = f'kind = "category"\nvalues = {[f"v{n}" for n in range(400)]}\nepsilon = 3\nmemoize = true\n'
    mechanism = asking(body + "instantaneous_epsilon = 1").columns[0].mechanism
    assert "2.72 times" in conclusion(mechanism, 3)


FATES = {None: "stored", grpc.StatusCode.INVALID_ARGUMENT: "refused", grpc.StatusCode.UNAVAILABLE: "sent"}


def answered(collection: Collection, path: Path, code: grpc.StatusCode | None) -> Client:
    """A client whose one batch was answered like this."""

    def answer(_number: int, context: grpc.ServicerContext) -> bytes:
        if code is not None:
            context.abort(code, "no")
        return b""

    with answering(answer) as endpoint:
        device = Client(
            collection, state=path, consent=Consent.GRANTED, endpoint=endpoint.address,
            settings=Settings(clock=lambda: 360_000.0, transcript_days=2.0), strict=True,
        )  # fmt: skip
        device.record("m", True)
        device.flush(0.5)
        soon(lambda: [entry.fate for entry in device.transcript()] == [FATES[code]], "the answer")
    return device


@pytest.mark.parametrize(("code", "fate"), FATES.items(), ids=str)
def test_an_entry_tells_what_became_of_it(tmp_path: Path, code: grpc.StatusCode | None, fate: str) -> None:
    """Acknowledged, refused, or sent and unanswered: then it may have arrived."""
    with answered(asking("kind = 'boolean'\nepsilon = 1"), tmp_path / "device.db", code) as device:
        (entry,) = device.transcript()
        assert read(tmp_path / "device.db") == [entry]
    assert (entry.collection, entry.metric, entry.start, entry.seconds) == ("words", "m", 360_000, 3600)
    assert (entry.epsilon, entry.fate) == (1.0, fate)
    assert entry.answer in {"'yes'", "'no'"}
    assert str(entry) == f"m: {fate} {entry.answer} at epsilon 1; {entry.conclusion}"


def test_what_has_not_left_is_in_no_transcript() -> None:
    """It shows what left this device; what waits is only counted."""
    with Client(asking("kind = 'boolean'\nepsilon = 1"), consent=Consent.GRANTED) as device:
        device.record("m", True)
        device.flush(0.1)
        assert device.status().waiting == 1
        assert device.transcript() == []


def test_the_transcript_is_erased_after_a_while(tmp_path: Path) -> None:
    """It is a convenience and not an archive: after its days nothing of it is left in the file."""
    path = tmp_path / "device.db"
    answered(asking("kind = 'boolean'\nepsilon = 1"), path, None).close()
    for days, left in ((2.0, 1), (2.1, 0)):
        settings = Settings(clock=lambda days=days: 363_600.0 + days * 86400, transcript_days=2.0)  # type: ignore[misc]
        collection = asking("kind = 'boolean'\nepsilon = 1")
        with Client(collection, state=path, consent=Consent.GRANTED, settings=settings) as device:
            device._write()
            assert len(device.transcript()) == left
    assert b"of the time" not in path.read_bytes()


def test_ids_are_forgotten_when_they_have_served(tmp_path: Path) -> None:
    """A batch's id exists so that a retry is not counted twice; after the answer it is nowhere on the device."""
    path = tmp_path / "device.db"
    with answered(asking("kind = 'boolean'\nepsilon = 1"), path, grpc.StatusCode.UNAVAILABLE) as device:
        (batch_id,) = device._state.run(
            lambda connection: connection.execute("SELECT batch_id FROM queue").fetchone()
        )
    assert batch_id in path.read_bytes()
    collection = asking("kind = 'boolean'\nepsilon = 1")
    with answering() as endpoint:
        settings = Settings(clock=lambda: 363_000.0)
        with Client(
            collection, state=path, consent=Consent.GRANTED, endpoint=endpoint.address, settings=settings
        ) as device:
            assert device.flush(PATIENCE)
        assert batch_id in endpoint.requests[0]
    assert batch_id not in path.read_bytes()


def test_a_dropped_batch_that_may_have_left_stays_in_the_transcript() -> None:
    """One that never left is forgotten with its batch."""
    device = Device(asking("kind = 'boolean'\nepsilon = 1"))
    device.answers({"m": True}, range(2))

    def work(connection: sqlite3.Connection) -> list[Any]:
        from deniable.device import outbox

        assert outbox.take(connection, "words", 10.0**6, lease=40.0)
        outbox.clear(connection)
        return connection.execute("SELECT fate, batch_id FROM transcript").fetchall()

    assert device.state.run(work) == [("sent", None)]
