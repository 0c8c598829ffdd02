"""Windows that are said by days: the same one over gRPC, HTTP, in Python and at a terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any, Unpack, get_args, get_type_hints

import grpc
import pytest

from deniable import Collection
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable_aggregator import (
    Before,
    CompareOptions,
    EstimateOptions,
    IntervalOptions,
    Reader,
    RemoteError,
    RowOptions,
    WindowOptions,
)
from support.commands import told
from support.editor import DARK, HEAD
from support.site import Running, running
from support.waiting import PATIENCE
from web.test_api import ask

TODAY = 20_000
"""The 4th of October 2024."""
DAYS = Collection.loads(f"{HEAD}{DARK}")
HOURS = Collection.loads(f"{HEAD}{DARK}".replace('"1d"', '"1h"').replace('"editor"', '"hourly"'))
WEEK: dict[str, Any] = {"from_": "2024-09-28", "to": "2024-10-04"}


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """Two weeks of days, with more reports on each; and an hour of today's."""
    assert "1h" not in HEAD
    with running(DAYS, HOURS) as started:
        for ago in range(14):
            started.put(DAYS, TODAY - ago, {"dark": [500, 500 - ago]}, batches=10)
        started.put(HOURS, TODAY * 24 + 14, {"dark": [300, 200]}, batches=10)
        started.put(DAYS, DAYS.epoch_at(time.time()), {"dark": [7, 5]}, batches=10)
        yield started


@pytest.fixture
def reader(aggregator: Running) -> Iterator[Reader]:
    """Asks it."""
    with Reader(aggregator.endpoint) as reader:
        yield reader


def at(aggregator: Running, path: str) -> Any:
    """What HTTP says."""
    return ask(f"{aggregator.url}/api/v1/collections/{path}")


@pytest.mark.parametrize(
    "said",
    [
        WEEK,
        {"from_": date(2024, 9, 28), "to": date(2024, 10, 4)},
        {"to": "2024-10-04", "last": "7d"},
        {"to": "2024-10-04", "last": "1w"},
        {"to": "2024-10-04", "last": 7},
        {"last_epoch": TODAY, "last": "168h"},
        {"last_epoch": TODAY, "from_": "2024-09-28"},
    ],
)
def test_a_window_is_the_same_however_it_is_said(reader: Reader, said: dict[str, Any]) -> None:
    """By days, by its length, by the number of its last epoch."""
    (row,) = reader.estimates("dark", collection="editor", **said)
    assert (row["start"], row["end"]) == (datetime(2024, 9, 28, tzinfo=UTC), datetime(2024, 10, 5, tzinfo=UTC))
    assert row["reports"] == 7_000 - 21


def asking(aggregator: Running) -> tuple[str, ...]:
    """Of that week, at a terminal."""
    about = ("--endpoint", aggregator.endpoint, "--collection", "editor")
    return (*about, "--from", "2024-09-28", "--to", "2024-10-04")


def test_everybody_takes_the_same_words(aggregator: Running, reader: Reader) -> None:
    """The terminal, HTTP and gRPC, of every question."""
    (row,) = reader.estimates("dark", collection="editor", **WEEK)
    asked = asking(aggregator)
    assert json.loads(told("estimates", *asked, "--format", "json").stdout)[0]["low"] == row["low"]
    assert told("estimates", *asked).stdout.splitlines()[-1] == "from 2024-09-28 to 2024-10-04, UTC"
    words = "from=2024-09-28&to=2024-10-04"
    one = at(aggregator, f"editor/estimates/dark?{words}").json["estimate"]
    assert one["series"][0]["rows"][0]["low"] == row["low"]
    assert one == at(aggregator, f"editor/overview?{words}").json["estimates"][0]
    assert len(at(aggregator, f"editor/estimates/dark/epochs?{words}").json["estimates"]) == 7
    assert len(reader.epochs("dark", collection="editor", **WEEK)) == 7
    assert at(aggregator, f"editor/estimates/dark/segments/platform?{words}").json["estimates"][0] != one
    query = pb.Query(to="2024-10-04")
    setattr(query, "from", "2024-09-28")
    with grpc.insecure_channel(aggregator.endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        request = pb.WatchEstimatesRequest(collection="editor", query=query)
        watch = service.WatchEstimates(request, timeout=PATIENCE)
        assert next(iter(watch)).estimates[0].series[0].rows[0].low == row["low"]
        watch.cancel()


def test_a_comparison_says_both_of_its_windows(aggregator: Running, reader: Reader) -> None:
    """Each by days; the one before by its end alone is as long as the other."""
    before: Before = {"from_": "2024-09-21", "to": "2024-09-27"}
    (row,) = reader.compare("dark", collection="editor", before=before, **WEEK)
    assert row["before_end"] == row["start"]
    asked = asking(aggregator)
    for more in (
        (),
        ("--with-from", "2024-09-21", "--with-to", "2024-09-27"),
        ("--with", "7d"),
        ("--with-to", "2024-09-27"),
    ):
        shown = told("compare", "dark", *asked, *more, "--format", "json").stdout
        assert json.loads(shown)[0]["low"] == row["low"], more
    last = told("compare", "dark", *asked).stdout.splitlines()[-2:]
    assert last == ["from 2024-09-28 to 2024-10-04, UTC", "compared with 2024-09-21 to 2024-09-27, UTC"]
    over_http = at(
        aggregator, "editor/comparisons/dark?from=2024-09-28&to=2024-10-04&with_from=2024-09-21&with_to=2024-09-27"
    )
    assert over_http.json["comparisons"][0]["series"][0]["changes"][0]["low"] == row["low"]
    with pytest.raises(RemoteError, match="say where it ends, too, by with_to"):
        reader.compare("dark", collection="editor", before={"from_": "2024-09-21"}, **WEEK)
    with pytest.raises(TypeError, match="before takes from_, to, last, last_epoch, segment, not frm"):
        reader.compare("dark", before={"frm": "2024-09-21"})  # type: ignore[arg-type]


def test_a_window_without_an_end_ends_with_the_newest_epoch(reader: Reader) -> None:
    """Today's, which has reports; a day that is still to come begins none."""
    (row,) = reader.estimates("dark", collection="editor", from_="yesterday")
    assert row["reports"] == 12
    assert (row["end"] - row["start"]).days == 2
    with pytest.raises(RemoteError, match="from: 9000-01-01 is still to come"):
        reader.estimates("dark", collection="editor", from_="9000-01-01")


def test_hours_are_told_by_hours_and_by_days(reader: Reader) -> None:
    """A day of a collection of hours has all of them."""
    asked: list[dict[str, Any]] = [
        {"from_": "2024-10-04T14:00", "to": datetime(2024, 10, 4, 15, tzinfo=UTC)},
        {"from_": "2024-10-04", "to": "2024-10-04"},
    ]
    for said, hours in zip(asked, (2, 24), strict=True):
        (row,) = reader.estimates("dark", collection="hourly", **said)
        assert (row["reports"], (row["end"] - row["start"]).total_seconds() / 3600) == (500, hours)
    with pytest.raises(ValueError, match="a time has a zone"):
        reader.estimates("dark", collection="hourly", from_=datetime(2024, 10, 4))
    with pytest.raises(RemoteError, match="epochs are days here"):
        reader.estimates("dark", collection="editor", to="2024-10-04T14:00")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("estimates?from=04.10.2024", "today or yesterday, not '04.10.2024'; did you mean 2024-10-04?"),
        ("estimates?to=20000", "goes with last_epoch=20000"),
        ("estimates?to=2024-10-04&last_epoch=20000", "to and last_epoch both say"),
        ("estimates?last=7days", "did you mean 7d?"),
        ("estimates?last=", "last is empty"),
        ("overview?from=2024-10-04&to=2024-10-01", "the other way round"),
        ("estimates?from=1990-01-01&to=2024-10-04", "a window has 1 to 3660 epochs"),
        ("comparisons?to=2024-10-04&with=36h", "with: 36h is no whole number of days: 1d or 2d"),
        ("comparisons?with_to=", "with_to is empty"),
    ],
)  # fmt: skip
def test_what_is_no_window_is_refused(aggregator: Running, path: str, words: str) -> None:
    """With what would be one."""
    answer = at(aggregator, f"editor/{path}")
    assert (answer.status, answer.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert words in answer.json["error"]["message"]


def test_the_price_is_that_of_the_window_that_is_meant(reader: Reader) -> None:
    """Dates buy no more than numbers do."""
    with pytest.raises(RemoteError, match="a window has 1 to 3660 epochs"):
        reader.estimates(collection="hourly", from_="2000-01-01")


OPTIONS: dict[str, type] = {
    "estimates": EstimateOptions,
    "candidates": IntervalOptions,
    "epochs": RowOptions,
    "segments": RowOptions,
    "compare": CompareOptions,
    "counters": WindowOptions,
    "watch": EstimateOptions,
}


@pytest.mark.parametrize(("name", "options"), OPTIONS.items(), ids=str)
def test_a_reader_names_its_options(name: str, options: type) -> None:
    """Every method, each with its type: none takes whatever it is given."""
    assert get_type_hints(getattr(Reader, name))["options"] == Unpack[options]
    hints = get_type_hints(options)
    assert {"from_", "to", "last", "last_epoch", "segment", "doubtful"} <= hints.keys()
    assert Any not in hints.values()
    if options is not WindowOptions:
        assert set(get_args(hints["target"])) == {"population", "reporting"}


def test_an_option_that_is_not_there_is_refused_with_those_that_are(reader: Reader) -> None:
    """Before anything is asked: what is misspelt is not taken for what is left out."""
    with pytest.raises(TypeError, match=r"options are from_, to, last.*, weights, not confidense$"):
        reader.estimates(collection="editor", confidense=0.99)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"options are from_, .*, not confidence$"):
        reader.counters(collection="editor", confidence=0.99)  # type: ignore[call-arg]
