"""The API: protobuf's JSON, tables as CSV, cache headers, errors in words."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from email.message import Message
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf.json_format import Parse

from deniable import Collection
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable_aggregator import Reader
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.serving.server import layout_of
from deniable_aggregator.store import StoreUnavailable
from support.editor import BROWSER, DARK, HEAD, MINUTES, filled
from support.site import Running, running
from support.waiting import PATIENCE

TODAY = 20_000
TEXT = f"""\
{HEAD}{BROWSER}{DARK}memoize = true
{MINUTES}mechanism = "laplace"
"""
COLLECTION = Collection.loads(TEXT)


class Told(NamedTuple):
    """An answer over HTTP."""

    status: int
    headers: Message
    body: str

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def ask(url: str, **headers: str) -> Told:
    """What is answered, errors too."""
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return Told(response.status, response.headers, response.read().decode())
    except urllib.error.HTTPError as error:
        return Told(error.code, error.headers, error.read().decode())


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """Ten days of reports from two platforms."""
    with running(COLLECTION) as started:
        filled(started, COLLECTION, TODAY, 10)
        yield started


def at(aggregator: Running, path: str, **headers: str) -> Told:
    """Ask about the collection, up to the day that has reports."""
    joint = "&" if "?" in path else "?"
    return ask(f"{aggregator.url}/api/v1/collections/editor/{path}{joint}last_epoch={TODAY}", **headers)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("estimates/dark?last=7", pb.GetEstimateResponse),
        ("estimates?last=7", pb.ListEstimatesResponse),
        ("estimates/browser/epochs?last=7", pb.ListEpochEstimatesResponse),
        ("estimates/browser/segments/platform?last=7", pb.ListSegmentEstimatesResponse),
        ("overview?last=7&trend=10", pb.GetOverviewResponse),
    ],
)
def test_json_is_the_message_that_grpc_answers(aggregator: Running, path: str, message: Any) -> None:
    """The JSON of every question, read back as its message, is the message that EstimateService gives."""
    query = pb.Query(epochs=7, last_epoch=TODAY)
    names: dict[str, Any] = {"collection": "editor", "query": query}
    with grpc.insecure_channel(aggregator.endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        answers: dict[Any, Callable[[], Any]] = {
            pb.GetEstimateResponse: lambda: service.GetEstimate(pb.GetEstimateRequest(metric="dark", **names)),
            pb.ListEstimatesResponse: lambda: service.ListEstimates(pb.ListEstimatesRequest(**names)),
            pb.ListEpochEstimatesResponse: lambda: service.ListEpochEstimates(
                pb.ListEpochEstimatesRequest(metric="browser", **names)
            ),
            pb.ListSegmentEstimatesResponse: lambda: service.ListSegmentEstimates(
                pb.ListSegmentEstimatesRequest(metric="browser", segment="platform", **names)
            ),
            pb.GetOverviewResponse: lambda: service.GetOverview(pb.GetOverviewRequest(trend_epochs=10, **names)),
        }
        answered = answers[message]()
    told = at(aggregator, path)
    assert told.status == 200, told.body
    assert Parse(told.body, message()) == answered


def test_an_answer_is_sent_again_only_when_it_has_changed(aggregator: Running) -> None:
    """With its ETag an answer is not sent again until a batch has changed it; browsers are told to ask every time."""
    first = at(aggregator, "estimates/dark")
    assert first.headers["Cache-Control"] == "no-cache"
    assert at(aggregator, "estimates/dark", If_None_Match=first.headers["ETag"]).status == 304
    assert at(aggregator, "estimates/dark?confidence=0.9", If_None_Match=first.headers["ETag"]).status == 200
    before = int(first.json["estimate"]["reports"])
    aggregator.put(COLLECTION, TODAY, {"dark": [0, 1]})
    again = at(aggregator, "estimates/dark", If_None_Match=first.headers["ETag"])
    assert again.status == 200
    assert int(again.json["estimate"]["reports"]) == before + 1


def test_a_table_has_the_same_rows_as_csv_json_and_in_python(aggregator: Running) -> None:
    """CSV, JSON and `Reader` agree in every number and every digit."""
    rows = list(csv.DictReader(io.StringIO(at(aggregator, "estimates.csv?last=3").body)))
    with Reader(aggregator.endpoint) as reader:
        table = reader.estimates(last=3, last_epoch=TODAY)
    listed = [
        (each["metric"], row)
        for each in at(aggregator, "estimates?last=3").json["estimates"]
        for series in each["series"]
        for row in series["rows"]
    ]
    assert len(rows) == len(table) == len(listed)
    for read, own, (metric, row) in zip(rows, table, listed, strict=True):
        assert (read["metric"], read["key"]) == (own["metric"], own["key"]) == (metric, row["key"])
        assert float(read["value"]) == own["value"] == row["value"]
        assert read["text"] == own["text"] == row["text"]
        assert (read["low_text"], read["high_text"]) == (row["lowText"], row["highText"])
        assert (own["low"], own["high"]) == (row["low"], row["high"])


def test_who_has_an_answer_of_another_form_is_told_the_whole_of_it(aggregator: Running) -> None:
    """An answer's tag tells its form, too: what was kept before an upgrade is asked for anew."""
    path = f"/api/v1/collections/editor/estimates/dark?last_epoch={TODAY}"
    analyst = aggregator.analyst_of(aggregator.server.store)
    version = aggregator.wait_for(analyst.version("editor", Query(last_epoch=TODAY), 30))
    formless = hashlib.sha256(f"{version} {path}".encode()).hexdigest()[:16]
    told = ask(aggregator.url + path)
    assert ask(aggregator.url + path, If_None_Match=told.headers["ETag"]).status == 304
    assert ask(aggregator.url + path, If_None_Match=f'W/"{formless}"').status == 200


def test_files_are_named_for_what_they_hold(aggregator: Running) -> None:
    """A CSV file comes as one, with the name of its question."""
    for path, name in (("estimates/dark.csv", "dark.csv"), ("estimates/dark/epochs.csv", "epochs.csv")):
        told = at(aggregator, path)
        assert told.headers["Content-Type"] == "text/csv; charset=utf-8"
        assert told.headers["Content-Disposition"] == f'attachment; filename="{name}"'


def test_only_the_largest_rows_are_sent_where_that_is_asked(aggregator: Running) -> None:
    """Two of four rows, the larger first, and how many there are."""
    estimate = at(aggregator, "estimates/browser?rows=2").json["estimate"]
    assert [row["key"] for row in estimate["series"][0]["rows"]] == ["chrome", "edge"]
    assert estimate["series"][0]["rowCount"] == 4


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("estimates/dork", 404, "did you mean 'dark'?"),
        ("estimates/dark/segments/platfrom", 404, "known: platform"),
        ("estimates?segment.platform=amiga", 404, "linux|windows"),
        ("estimates?last=0x7", 400, "whole number"),
        ("estimates?last=99999999999", 400, "whole number"),
        ("estimates?last=100000", 400, "window has 1 to"),
        ("estimates?confidence=2", 400, "between 0 and 1"),
        ("estimates?confidence=nan", 400, "between 0 and 1"),
        ("estimates?confidence=much", 400, "between 0 and 1"),
        ("estimates?target=everyone", 400, "population or reporting"),
        ("estimates?lst=7", 400, "no parameter 'lst'"),
        ("nothing", 404, "no such question"),
    ],
)
def test_what_can_not_be_answered_says_why(aggregator: Running, path: str, status: int, words: str) -> None:
    """Errors are JSON with a status, a word and a sentence, and are not kept."""
    told = at(aggregator, path)
    assert told.status == status
    assert told.json["error"]["code"] == status
    assert words in told.json["error"]["message"]
    assert told.headers["Cache-Control"] == "no-store"


def test_a_collection_that_is_not_served_is_not_found(aggregator: Running) -> None:
    """A collection is known by its name, its digest, or both."""
    for name in ("editor", f"{COLLECTION.digest:016x}", f"editor@{COLLECTION.digest:016x}"):
        assert ask(f"{aggregator.url}/api/v1/collections/{name}/estimates").status == 200
    told = ask(f"{aggregator.url}/api/v1/collections/editr/estimates")
    assert told.status == 404
    assert "did you mean 'editor'?" in told.json["error"]["message"]


def test_every_answer_forbids_what_the_page_does_not_need(aggregator: Running) -> None:
    """Page, files, API, errors and metrics carry the policy: own scripts and styles, nothing inline, no frames."""
    page = ask(aggregator.url).body
    script = page.split('<script type="module" src="')[1].split('"')[0]
    for path in ("/", "/health", "/c/editor/dark", script, "/metrics", "/api/v1/collections", "/nowhere"):
        headers = ask(aggregator.url + path).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'"), path
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
    assert "<script>" not in page
    assert " style=" not in page


def test_files_are_kept_by_browsers_for_good_under_a_name_of_their_content(aggregator: Running) -> None:
    """The page is asked for every time, what it is made of once."""
    page = ask(aggregator.url)
    assert page.headers["Cache-Control"] == "no-cache"
    script = page.body.split('<script type="module" src="')[1].split('"')[0]
    charts = page.body.split('data-charts="')[1].split('"')[0]
    for path in (script, charts):
        told = ask(aggregator.url + path)
        assert told.status == 200
        assert "immutable" in told.headers["Cache-Control"]
        assert told.headers["Content-Type"].startswith("text/javascript")
    assert "plotly.js" in ask(aggregator.url + charts).body[:200]
    assert ask(aggregator.url + script.replace("main.js", "../site.py")).status == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8471", "127.0.0.1.evil.example", ""])
def test_a_name_that_is_made_to_point_here_is_not_answered(aggregator: Running, host: str) -> None:
    """Another site's script can not read answers by having its own name resolve to this machine."""
    assert ask(f"{aggregator.url}/api/v1/collections", Host=host).status in {400, 421}
    port = aggregator.url.rpartition(":")[2]
    for own in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}", "[::1]"):
        assert ask(f"{aggregator.url}/api/v1/collections", Host=own).status == 200


def test_an_aggregator_without_its_store_says_so(aggregator: Running) -> None:
    """With the store away the API answers 503, health says it, and both are well again afterwards."""
    with aggregator.without_store():
        told = at(aggregator, "estimates")
        assert told.status == 503
        assert told.json["error"]["message"] == "the store is away; try again"
        assert ask(f"{aggregator.url}/api/v1/health").json["store"] is None
        assert "deniable_store_up 0.0" in ask(f"{aggregator.url}/metrics").body
    assert at(aggregator, "estimates").status == 200
    assert ask(f"{aggregator.url}/api/v1/health").json["store"]["server"].startswith("valkey")


def test_whoever_asks_while_the_store_goes_is_told_so(aggregator: Running) -> None:
    """What waits for an answer of the store, and what comes next: a question ends with 503, whichever it meets."""
    store = aggregator.server.store

    async def waits() -> asyncio.Task[Any]:
        waiting = asyncio.create_task(store._servers.ask(b"nobody", ("BLPOP", "nobody", 0)))
        blocked = 0
        while not blocked:
            ((said,),) = await store._servers.ask_everywhere(("INFO", "clients"))
            blocked = int(said.partition(b"blocked_clients:")[2].split(b"\r", 1)[0])
        return waiting

    async def ended(waiting: asyncio.Task[Any]) -> BaseException | None:
        await asyncio.wait({waiting})
        return waiting.exception()

    for _ in range(3):
        waiting = aggregator.wait_for(waits())
        with aggregator.without_store():
            assert at(aggregator, "estimates").status == 503
            assert isinstance(aggregator.wait_for(ended(waiting)), StoreUnavailable)
            assert at(aggregator, "estimates").status == 503
        assert at(aggregator, "estimates").status == 200


def test_a_scrape_outlives_a_change_of_collections(aggregator: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection that is replaced while estimates are made is not told, the other one is."""
    catalog = aggregator.analyst_of(aggregator.server.store).catalog
    later = Collection.loads(TEXT.replace('"editor"', '"viewer"'))
    answers = Analyst.answers

    def serve(collection: Collection) -> None:
        catalog.replace([collection])
        aggregator.server.reload([layout_of(collection)])

    async def replaced_meanwhile(self: Analyst, *arguments: Any) -> Any:
        monkeypatch.setattr(Analyst, "answers", answers)
        found = await answers(self, *arguments)
        serve(later)
        return found

    monkeypatch.setattr(Analyst, "answers", replaced_meanwhile)
    try:
        told = ask(f"{aggregator.url}/metrics")
    finally:
        serve(COLLECTION)
    assert told.status == 200
    assert 'deniable_reports{collection="viewer",metric="dark"}' in told.body
