"""Whoever records, and sees nothing happen, is told what waits until when, what went wrong, what has no answer."""

from __future__ import annotations

import logging
from datetime import date
from pathlib import Path
from typing import Any

import grpc
import pytest

from deniable import Client, Collection, Consent, Settings
from deniable.device.keeping import Keeper
from deniable.device.state import State
from deniable.testing import TestClient
from support.application import COLLECTION, HOUR, Clock, client
from support.collection_files import head, metric
from support.endpoints import answering, dead, refusing
from support.waiting import PATIENCE, soon

TEXT = (
    head("lasting", 3, epoch="1h", lifetime=3)
    + metric("one", "boolean")
    + metric("two", "boolean", memoize=True)
    + metric("until", "boolean", expires=date(1970, 1, 2))
)
LASTING = Collection.loads(TEXT)


def test_what_is_recorded_is_told_with_when_it_leaves(tmp_path: Path) -> None:
    """In memory and in the file, until its epoch ends; then the batch has a moment, and then nothing is to leave."""
    clock = Clock()
    with answering() as endpoint:
        settings = Settings(clock=clock, write_behind=0.01)
        with client(tmp_path / "device.db", settings, endpoint=endpoint.address) as device:
            assert (device.status().recorded, device.status().next_answer_at) == ((), None)
            device.record("minutes", 3)
            device.record("dark", True)
            assert device.status().recorded == ("dark", "minutes")
            assert device.status().next_answer_at == 101 * HOUR
            clock.now = 101.0 * HOUR
            device.record("dark", True)
            soon(lambda: device.status().waiting == 1)
            leaves = device.status().next_answer_at
            assert leaves is not None
            assert 101 * HOUR <= leaves <= 101.25 * HOUR
            assert device.flush(PATIENCE)
            assert (device.status().recorded, device.status().last_error) == ((), "")


def test_what_is_being_written_counts_as_recorded() -> None:
    """Whoever looks at a moment in which it has left memory, and is not in the file yet, is told of it."""
    clock, seen = Clock(), list[set[str]]()
    state, dark = State(None, clock, print), COLLECTION.metric("dark")
    settings = Settings(clock=clock)
    keeper = Keeper(
        COLLECTION, 0, settings, state, Consent.GRANTED, None, lambda _advice: seen.append(keeper.recorded)
    )
    keeper.change(keeper.heed)
    keeper.add(("dark", 100), dark.reducer.start(True), dark.reducer.merge)
    keeper.write(everything=False, patience=PATIENCE)
    assert seen[-1] == {"dark"}
    assert keeper.recorded == set()
    state.close()


def test_what_is_not_to_leave_has_no_moment() -> None:
    """Without an endpoint, and while the person's word is that nothing is sent."""
    with client() as device:
        device.record("dark", True)
        assert (device.status().recorded, device.status().next_answer_at) == (("dark",), None)
    with client(endpoint=dead(), consent="paused") as device:
        device.record("dark", True)
        assert (device.status().recorded, device.status().next_answer_at) == (("dark",), None)


def test_an_aggregator_that_is_not_there_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """In the status, to who flushes, and to who listens at INFO; gone when it is there again."""
    caplog.set_level(logging.INFO, "deniable")
    nowhere = dead()
    with client(endpoint=nowhere) as device:
        device.record("dark", True)
        assert not device.flush(1.0)
        soon(lambda: device.status().last_error)
        assert device.status().last_error == f"{nowhere}: unreachable"
        soon(lambda: f"deniable: {nowhere}: unreachable" in caplog.messages)
    assert [record for record in caplog.records if "flush: not all" in record.message]


def test_why_an_aggregator_refuses_is_told() -> None:
    """With what can be done."""
    answer = refusing(grpc.StatusCode.FAILED_PRECONDITION)
    with answering(answer) as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        assert not device.flush(1.0)
        soon(lambda: "does not know the collection" in device.status().last_error)


def test_what_went_wrong_is_over_with_what_is_stored() -> None:
    """The next batch is taken: nothing is wrong any more."""
    answer = refusing(grpc.StatusCode.INVALID_ARGUMENT, words="malformed", first=1)
    with answering(answer) as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        assert not device.flush(PATIENCE)
        assert "malformed" in device.status().last_error
        device.record("minutes", 1)
        assert device.flush(PATIENCE)
        assert device.status().last_error == ""


def test_each_metric_that_would_not_be_answered_says_why() -> None:
    """It has expired, was answered in this epoch, or would cost too much; looking changes nothing."""
    clock = Clock()
    settings = Settings(clock=clock)
    with Client(LASTING, consent="granted", settings=settings) as device:
        assert device.status().unanswered == {"until": "it expired on 1970-01-02"}
        device.record("one", True)
        device.flush()
        assert device.status().unanswered["one"] == "one has been answered for this time already"
        assert len(device.ledger()) == 1
        for _ in range(2):
            clock.now += HOUR
            device.record("one", True)
            device.flush()
        clock.now += HOUR
        assert device.status().unanswered["one"] == "one would go beyond the budget of a lifetime"
        assert len(device.ledger()) == 3


@pytest.mark.parametrize(
    ("change", "recorded"),
    [
        (("epsilon = 1", "epsilon = 0.5"), ()),
        (("[metrics.one]", "[metrics.other]"), ("two",)),
        (('"d"', '"in other words"'), ("one", "two")),
    ],
    ids=["another meaning", "a name that is gone", "other words"],
)
def test_what_an_update_loses_waits_for_nothing(
    change: tuple[str, str], recorded: tuple[str, ...], tmp_path: Path
) -> None:
    """Values of what means something else are never answered: only what goes on is told as waiting."""
    settings = Settings(clock=Clock())
    with Client(LASTING, consent="granted", settings=settings, state=tmp_path / "device.db") as device:
        device.record("one", True)
        device.record("two", True)
    later = Collection.loads(TEXT.replace(*change))
    with Client(later, consent="granted", settings=settings, state=tmp_path / "device.db") as device:
        assert device.status().recorded == recorded


def test_what_is_fed_ends_with_its_sources() -> None:
    """Of one whose source has expired it is told as well, and which that is."""
    fed = TEXT + '[metrics.both]\nkind = "joint"\ndescription = "d"\nepsilon = 1\nof = ["one", "until"]\n'
    text = fed.replace("epoch = 3", "epoch = 4")
    with Client(Collection.loads(text), consent="granted", settings=Settings(clock=Clock())) as device:
        assert device.status().unanswered["both"] == "until expired on 1970-01-02"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"consent": "withheld"}, "set_consent"), ({"segment": {"platform": "amiga"}}, "'amiga'"),
        ({"segment": {}}, "platform"),
    ],
)  # fmt: skip
def test_where_nothing_is_recorded_every_metric_says_so(options: dict[str, Any], why: str) -> None:
    """And a flush is not true, as what was recorded is nowhere."""
    with answering() as endpoint, client(endpoint=endpoint.address, strict=False, **options) as device:
        assert device.status().unanswered.keys() == COLLECTION.metrics.keys()
        assert all(why in told for told in device.status().unanswered.values())
        assert device.flush(PATIENCE), "nothing was recorded"
        device.record("dark", True)
        assert not device.flush(PATIENCE)
        assert endpoint.requests == []


def test_a_second_flush_of_a_day_is_false(caplog: pytest.LogCaptureFixture) -> None:
    """What is recorded after the first is refused by the ledger; a third one, of nothing, is true."""
    with answering() as endpoint, client(endpoint=endpoint.address) as device:
        device.record("dark", True)
        assert device.flush(PATIENCE)
        device.record("dark", False)
        assert not device.flush(PATIENCE)
        assert "dark: dark has been answered for this time already" in caplog.text
        assert device.flush(PATIENCE)
        assert len(endpoint.requests) == 1


@pytest.mark.parametrize(("limit", "waiting"), [(256, 1), (1, 0)], ids=["it waits", "it was dropped"])
def test_a_flush_is_false_where_an_older_epoch_was_dropped_and_not_where_it_waits(limit: int, waiting: int) -> None:
    """What waits leaves at a moment of its own, and `status` has it; what a full queue has dropped is lost."""
    clock = Clock()
    settings = Settings(clock=clock, leeway=0.9 * HOUR, queue_limit=limit)
    with answering() as endpoint, client(settings=settings, endpoint=endpoint.address) as device:
        device.record("dark", True)
        clock.now += HOUR
        device.record("dark", True)
        assert device.flush(PATIENCE) == bool(waiting)
        assert (device.status().waiting, len(endpoint.requests)) == (waiting, 1)


@pytest.mark.parametrize(("metric", "value"), [("dork", True), ("dark", 7), ("until", True)])
def test_a_flush_of_what_was_not_taken_is_false(metric: str, value: Any) -> None:
    """A name or a value that is wrong, and a metric that has expired; the next flush is of what comes after it."""
    with answering() as endpoint, client(endpoint=endpoint.address, strict=False) as device:
        device.record(metric, value)
        device.record("minutes", 1)
        assert not device.flush(PATIENCE)
        assert len(endpoint.requests) == 1
        assert device.flush(PATIENCE)


def test_consent_takes_text_and_nothing_else() -> None:
    """At the start and later."""
    with client(consent="granted") as device:
        device.set_consent("paused")
        assert device.consent is Consent.PAUSED
        with pytest.raises(ValueError, match=r"'granted', 'paused', 'withheld'.*not 'yes'"):
            device.set_consent("yes")
        assert device.consent is Consent.PAUSED
    with pytest.raises(ValueError, match="not 'Granted'"):
        client(consent="Granted")


@pytest.mark.parametrize(
    ("word", "given", "holds"),
    [
        ("withheld", "granted", "withheld"), ("paused", "granted", "paused"), ("granted", "paused", "paused"),
        ("granted", None, "withheld"), ("no", "granted", "withheld"), ("", "granted", "granted"),
        (" Withheld ", "granted", "withheld"),
    ],
)  # fmt: skip
def test_the_environment_s_word_holds_where_it_is_stricter(
    word: str, given: str | None, holds: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For that run: it is not remembered, and nobody in it goes beyond it; what nobody knows is a no."""
    monkeypatch.setenv("DENIABLE_CONSENT", word)
    with client(tmp_path / "device.db", consent=given) as device:
        assert device.consent is Consent(holds)
        if given:
            device.set_consent(given)
        assert device.consent is Consent(holds)
        device.record("dark", True)
        device.flush(0.0)
        assert bool(device.ledger()) == (holds != "withheld")
    monkeypatch.delenv("DENIABLE_CONSENT")
    if given:
        with client(tmp_path / "device.db", consent=None) as device:
            assert device.consent is Consent(given)


def test_a_test_is_the_same_wherever_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of tests does not heed the environment: it sends nothing anywhere."""
    monkeypatch.setenv("DENIABLE_CONSENT", "withheld")
    with TestClient(COLLECTION) as device:
        device.record("dark", True)
        assert device.recorded("dark") is True


@pytest.mark.parametrize(
    ("endpoint", "right"),
    [
        ("http://127.0.0.1:8470", "'127.0.0.1:8470'"), ("https://example.org/", "'example.org:443'"),
        ("grpc://localhost:1/", "'localhost:1'"), ("", "'127.0.0.1:8470'"), (" localhost:1", "'127.0.0.1:8470'"),
    ],
)  # fmt: skip
def test_an_endpoint_with_a_scheme_is_refused_with_the_right_form(endpoint: str, right: str) -> None:
    """At once, strict or not: nothing could ever be sent there."""
    with pytest.raises(ValueError, match=f"endpoint: takes host:port.*{right}"):
        client(endpoint=endpoint, strict=False)


@pytest.mark.parametrize("path", ["metrics.toml", Path("metrics.toml")])
def test_a_path_instead_of_a_collection_says_what_to_do(path: Any) -> None:
    """Load it."""
    with pytest.raises(TypeError, match=r"deniable\.Collection\.load\('metrics\.toml'\)"):
        Client(path)


@pytest.mark.parametrize("again", [False, True], ids=["it only flushes", "it records again"])
def test_who_began_without_an_aggregator_is_told_what_to_do_and_comes_again(
    again: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody listens when the program runs first: it says so, and what to look at. Run again with somebody there, its
    next flush sends the answer that waited; what is recorded meanwhile is not stored, but that answer is."""
    settings = Settings(clock=Clock())
    nowhere = dead()
    with client(tmp_path / "device.db", settings, endpoint=nowhere) as device:
        device.record("dark", True)
        assert not device.flush(1.0)
        assert device.status().waiting == 1
    assert f"{nowhere}: unreachable: is an aggregator there (`deniable serve`)?" in caplog.text
    assert "the next flush" in caplog.text
    caplog.clear()
    with answering() as endpoint, client(tmp_path / "device.db", settings, endpoint=endpoint.address) as device:
        if again:
            device.record("dark", True)
        assert device.flush(PATIENCE) is not again
        assert len(endpoint.requests) == 1
    assert ("dark has been answered for this time already; that answer is stored" in caplog.text) is again
