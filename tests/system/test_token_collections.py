"""Tokens of named collections, from devices, gateways and people to an aggregator that serves two; and what becomes
of calls that last when their token changes."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest

from deniable import Client, Collection, Consent, Credentials
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable.v1.report_service_pb2 import StreamReportsRequest, StreamReportsResponse
from deniable_aggregator.telling.remote import Reader, RemoteError
from support.aggregator_server import request
from support.commands import EDITOR, serving
from support.waiting import PATIENCE, soon

OTHER = """\
[collection]
name = "other"
epoch = "1d"
owner = "nobody"
[budget]
epoch = 1.0
[metrics.dark]
kind = "boolean"
description = "It is dark"
epsilon = 1.0
"""
TOKENS = {
    "reports editor": "report collections=editor",
    "reports other": "report collections=other",
    "reports both": "report collections=editor,other",
    "reads editor": "read collections=editor",
    "reads nowhere": "read collections=nowhere",
    "reads all": "read",
    "reported": "report expires=2020-01-01",
    "changes": "report",
    "ends": "report",
    "watches": "read",
}


def lines(**changed: str) -> str:
    """A file of all tokens, but for those that have changed."""
    own = {name: changed.get(name, says) for name, says in TOKENS.items()}
    return "".join(
        f"{says} {hashlib.sha256(name.encode()).hexdigest()} {name}\n" for name, says in own.items() if says
    )


class Guarded(NamedTuple):
    """An aggregator, and what it is told by."""

    endpoint: str
    tokens: Path
    other: Collection

    def credentials(self, token: str) -> Credentials:
        """Of whoever has a token."""
        return Credentials(token=token)

    def metadata(self, token: str) -> tuple[tuple[str, str], ...]:
        """The same, as a call carries it."""
        return self.credentials(token).metadata


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """An aggregator of two workers, whose questions a desk answers."""
    here = tmp_path_factory.mktemp("collections")
    (here / "other.toml").write_text(OTHER)
    (here / "tokens").write_text(lines())
    options = ("--tokens", here / "tokens", "--workers", "2")
    with serving(here / "data", EDITOR, here / "other.toml", *options) as endpoint:
        yield Guarded(endpoint, here / "tokens", Collection.loads(OTHER))


def outcome(guarded: Guarded, token: str, collection: Collection) -> tuple[str, int]:
    """What becomes of a device's batch: the word in its health counts; and how many batches wait."""
    segment = {"platform": "linux"} if "platform" in collection.segments else {}
    with Client(
        collection, endpoint=guarded.endpoint, consent=Consent.GRANTED, segment=segment,
        credentials=guarded.credentials(token),
    ) as client:  # fmt: skip
        client.record(next(iter(collection.metrics)) if not segment else "dark_mode", True)
        client.flush(0.0)
        soon(lambda: set(client.status().counts) - {"answered"})
        status = client.status()
    (word,) = set(status.counts) - {"answered"}
    return word, status.waiting


@pytest.mark.parametrize(
    ("token", "editor", "other"),
    [
        ("reports editor", "stored", "not permitted"),
        ("reports other", "not permitted", "stored"),
        ("reports both", "stored", "stored"),
        ("reads all", "not permitted", "not permitted"),
        ("reported", "not authenticated", "not authenticated"),
    ],
)
def test_a_device_reports_what_its_token_is_good_for(guarded: Guarded, token: str, editor: str, other: str) -> None:
    """What is refused stays in its queue: only people can mend it, and they may."""
    for collection, word in ((Collection.load(EDITOR), editor), (guarded.other, other)):
        assert outcome(guarded, token, collection) == (word, 0 if word == "stored" else 1)


def test_a_gateway_is_told_of_each_batch(guarded: Guarded) -> None:
    """One stream with batches of both: those of the other collection are refused by themselves, with a reason."""
    editor = Collection.load(EDITOR)
    batches = [
        request((0, 1), epoch=own.epoch_at(time.time()), collection_digest=own.digest, segment=0)
        for own in (editor, guarded.other, editor)
    ]
    message = StreamReportsRequest(sequence=1, batches=batches).SerializeToString()
    with grpc.insecure_channel(guarded.endpoint) as channel:
        stream: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(
            "/deniable.v1.ReportService/StreamReports"
        )
        call = stream(iter([message]), metadata=guarded.metadata("reports other"), timeout=PATIENCE)
        (answer,) = map(StreamReportsResponse.FromString, call)
    assert answer.stored == 1
    assert [(each.place, each.code, each.reason, each.retry_after_ms) for each in answer.others] == [
        (place, grpc.StatusCode.PERMISSION_DENIED.value[0], "OTHER_COLLECTION", 3_600_000) for place in (0, 2)
    ]
    assert {each.message for each in answer.others} == {"this token is not good for this collection"}


def test_a_reader_reads_what_its_token_is_good_for(guarded: Guarded) -> None:
    """It is shown no other collection, and is not told whether there is one: by name, digest or title."""
    with Reader(guarded.endpoint, credentials=guarded.credentials("reads editor")) as reader:
        assert [info.name for info in reader.collections()] == ["editor"]
        assert {row["metric"] for row in reader.counters("dark_mode")} == {"dark_mode"}  # the only one that it knows
        digest = f"{guarded.other.digest:016x}"
        for name in ("other", digest, f"other@{digest}", "nowhere"):
            with pytest.raises(RemoteError, match="not good for reading that collection"):
                reader.estimates(collection=name)
    with Reader(guarded.endpoint, credentials=guarded.credentials("reads nowhere")) as reader:
        assert reader.collections() == []
        with pytest.raises(RemoteError, match="not good for reading that collection"):
            reader.estimates(collection="editor")
    with Reader(guarded.endpoint, credentials=guarded.credentials("reads all")) as reader:
        assert [info.name for info in reader.collections()] == ["editor", "other"]


def test_nobody_says_for_whom_a_question_is_passed(guarded: Guarded) -> None:
    """What a worker tells the desk of a caller is the worker's to say."""
    with grpc.insecure_channel(guarded.endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        said = (("deniable-collections", "other,editor"), *guarded.metadata("reads editor"))
        answer = service.ListCollections(pb.ListCollectionsRequest(), metadata=said, timeout=PATIENCE)
        assert [info.name for info in answer.collections] == ["editor"]
        twice = (*guarded.metadata("reads editor"), *guarded.metadata("reads all"))
        with pytest.raises(grpc.RpcError) as caught:
            service.ListCollections(pb.ListCollectionsRequest(), metadata=twice, timeout=PATIENCE)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.fixture
def changing(guarded: Guarded) -> Iterator[Callable[..., None]]:
    """What changes the file; it is as it was afterwards."""

    def change(**changed: str) -> None:
        fresh = guarded.tokens.with_name("fresh")
        fresh.write_text(lines(**changed))
        fresh.replace(guarded.tokens)

    yield change
    change()


@pytest.mark.parametrize(
    ("token", "says", "reason"),
    [
        ("ends", "", "it is not known"),
        ("changes", "report collections=other", "has changed: call again"),
        ("changes", "report expires=2020-01-01", "has expired"),
    ],
)
def test_a_stream_ends_with_what_its_token_is_good_for(
    guarded: Guarded, changing: Callable[..., None], token: str, says: str, reason: str
) -> None:
    """Whoever forwards for others and says nothing for hours is not let in for hours."""
    ended = threading.Event()

    def quiet() -> Iterator[bytes]:
        yield StreamReportsRequest(sequence=1, batches=[request((0, 1))]).SerializeToString()
        ended.wait()

    with grpc.insecure_channel(guarded.endpoint) as channel:
        stream: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(
            "/deniable.v1.ReportService/StreamReports"
        )
        answers: Iterator[bytes] = iter(())

        def begun() -> bool:
            """Each of the two workers lets the token in as soon as it has seen that the file is as it was."""
            nonlocal answers
            answers = iter(stream(quiet(), metadata=guarded.metadata(token), timeout=PATIENCE))
            with contextlib.suppress(grpc.RpcError):
                return bool(next(answers))
            return False

        soon(begun)
        changing(**{token: says})
        try:
            with pytest.raises(grpc.RpcError) as caught:
                next(answers)
        finally:
            ended.set()
    assert reason in str(caught.value.details())


def test_a_watch_ends_with_its_token(guarded: Guarded, changing: Callable[..., None]) -> None:
    """Also where nothing changes that it would be told."""
    with grpc.insecure_channel(guarded.endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        asked = pb.WatchEstimatesRequest(collection="editor")
        watch = service.WatchEstimates(asked, metadata=guarded.metadata("watches"), timeout=PATIENCE)
        assert len(next(watch).estimates) == len(Collection.load(EDITOR).metrics)
        changing(watches="")
        with pytest.raises(grpc.RpcError) as caught:
            list(watch)
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_a_name_that_is_not_served_is_said(tmp_path: Path) -> None:
    """A token of a collection whose name is misspelt is good for nothing, which nobody would see."""
    file, log = tmp_path / "tokens", tmp_path / "log"
    file.write_text(f"report collections=editr {'0' * 64}\n")
    with serving(tmp_path / "data", EDITOR, "--tokens", file, log=log):
        soon(lambda: "has tokens of editr: no such collection is served; did you mean 'editor'?" in log.read_text())
