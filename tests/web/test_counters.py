"""Raw counters of a running aggregator: the same over gRPC, HTTP, in Python and at a terminal, with their words."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import grpc
import pytest

from deniable import Collection
from deniable.payload import Symbol
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable_aggregator import Reader, RemoteError
from deniable_aggregator.analysis.prices import Price, TooDearError
from deniable_aggregator.telling.counters import COUNTER_COLUMNS, meanings
from planning.everything import EVERYTHING
from support.commands import told
from support.editor import BROWSER, DARK, HEAD, MINUTES
from support.site import Running, running
from support.waiting import PATIENCE
from web.test_api import ask

TODAY = 20_000
COLLECTION = Collection.loads(
    f'{HEAD}{BROWSER}mechanism = "subset_selection"\n{DARK}{MINUTES}mechanism = "laplace"\n'
)


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """Two days of reports from two platforms."""
    with running(COLLECTION) as started:
        for ago in (0, 1):
            for segment in (0, 1):
                counters = {"browser": [100, 60, 50, 40, 50], "dark": [40 + ago, 60 + segment]}
                started.put(COLLECTION, TODAY - ago, counters | {"minutes": [9, 700, 5000, 1]}, segment, batches=10)
        yield started


@pytest.fixture
def reader(aggregator: Running) -> Iterator[Reader]:
    """Asks it."""
    with Reader(aggregator.endpoint) as reader:
        yield reader


def test_counters_are_what_is_stored_and_each_says_what_it_counts(reader: Reader) -> None:
    """Added over the window and the segments that are asked for."""
    told_rows = reader.counters(last_epoch=TODAY, last=2)
    found = {(row["metric"], row["meaning"]): row["count"] for row in told_rows}
    assert len(found) == len(told_rows) == 5 + 2 + 4
    assert found["browser", "reports"] == 400
    assert found["browser", "reports that have 'chrome'"] == 240
    assert (found["dark", "reports that say 'no'"], found["dark", "reports that say 'yes'"]) == (162, 242)
    assert (found["minutes", "reports"], found["minutes", "levels, added up"]) == (36, 2800)
    assert [row["count"] for row in reader.counters("minutes", last_epoch=TODAY)] == [18, 1400, 10_000, 2]
    (_, yes) = reader.counters("dark", last_epoch=TODAY, segment={"platform": "windows"})
    assert (yes["count"], yes["segment"], yes["counter"], yes["mechanism"]) == (
        61, "platform=windows", 1, "randomized_response",
    )  # fmt: skip
    assert (yes["end"] - yes["start"]).days == 1


def test_everybody_is_told_the_same(aggregator: Running, reader: Reader) -> None:
    """HTTP in JSON and CSV, the terminal as a table and in files, gRPC."""
    rows = list(reader.counters("browser", last_epoch=TODAY, last=2))
    url = f"{aggregator.url}/api/v1/collections/editor/counters/browser"
    over_http = ask(f"{url}?last=2&last_epoch={TODAY}").json["columns"][0]
    assert [int(each) for each in over_http["counters"]] == [row["count"] for row in rows]
    assert over_http["meanings"] == [row["meaning"] for row in rows]
    read = list(csv.DictReader(io.StringIO(ask(f"{url}.csv?last=2&last_epoch={TODAY}").body)))
    assert list(read[0]) == list(COUNTER_COLUMNS)
    asked = ("--endpoint", aggregator.endpoint, "--last", "2d", "--last-epoch", str(TODAY))
    shown = json.loads(told("counters", "browser", *asked, "--format", "json").stdout)
    assert [int(row["count"]) for row in read] == [row["count"] for row in shown] == [row["count"] for row in rows]
    lines = told("counters", "browser", *asked).stdout.splitlines()
    assert lines[2].split() == ["browser", "0", "reports", "400"]
    assert lines[-1] == "from 2024-10-03 to 2024-10-04, UTC"
    with grpc.insecure_channel(aggregator.endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        request = pb.ListCountersRequest(metric="browser", query=pb.Query(last="2d", last_epoch=TODAY))
        (column,) = service.ListCounters(request, timeout=PATIENCE).columns
    assert list(column.counters) == [row["count"] for row in rows]
    assert len(reader.counters(last_epoch=TODAY).to_arrow()) == 11


def test_an_answer_is_sent_again_only_when_it_has_changed(aggregator: Running) -> None:
    """As estimates are."""
    url = f"{aggregator.url}/api/v1/collections/editor/counters?last_epoch=19000"
    tag = ask(url).headers["ETag"]
    assert ask(url, If_None_Match=tag).status == 304
    aggregator.put(COLLECTION, 19_000, {"dark": [4, 6]}, batches=10)
    assert ask(url, If_None_Match=tag).status == 200


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (pb.Query(confidence=0.9, rows=3), "they have no confidence, rows"),
        (pb.Query(weight_by="platform", weights={"linux": 1}), "they have no weight_by, weights"),
        (pb.Query(epochs=4000), "a window has 1 to 3660 epochs"),
        (pb.Query(segment={"platform": "amiga"}), "no segment platform=amiga"),
    ],
)
def test_what_counters_have_nothing_to_do_with_is_refused(reader: Reader, query: pb.Query, words: str) -> None:
    """They are of a window and a segment."""
    with pytest.raises(RemoteError, match=words):
        reader._ask(reader._service.ListCounters, pb.ListCountersRequest(query=query))
    with pytest.raises(RemoteError, match="did you mean 'dark'"):
        reader.counters("dork")


def test_counters_have_a_price() -> None:
    """No less than reading them takes, and bounded as that of every question."""
    metrics = list(EVERYTHING.metrics.values())
    assert Price(EVERYTHING, metrics, 30, raw=True).counters > Price(EVERYTHING, metrics, 1, raw=True).counters
    with pytest.raises(TooDearError, match="ask for"):
        Price(EVERYTHING, metrics, 3660, raw=True).check()


def test_every_counter_of_every_kind_has_words() -> None:
    """As many as it has counters, no two of a column alike, but for what a set is filled up with."""
    for metric in EVERYTHING.metrics.values():
        for column in metric.columns:
            if column.shape.counters > 5000:
                continue  # the same, for long
            words = list(meanings(metric, column))
            assert len(words) == column.shape.counters
            named = [each for each in words if not each.endswith(" nothing")]
            assert len(named) == len(set(named)), metric.name
            assert isinstance(column.shape, Symbol) or words[0] == "reports"
