"""Comparisons of a running aggregator: over gRPC, HTTP, in Python and at a terminal."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.json_format import Parse
from redis import Redis

from deniable import Collection
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable_aggregator import Reader, RemoteError
from deniable_aggregator.analysis.changes import SIDES_TIMES, Before, changes
from deniable_aggregator.analysis.prices import Price
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.telling.change_tables import CHANGE_COLUMNS
from deniable_aggregator.telling.questions import Questions
from support.commands import told
from support.editor import DARK, HEAD, MINUTES
from support.site import Running, running
from support.waiting import PATIENCE
from web.test_api import ask

TODAY = 20_000
COLLECTION = Collection.loads(
    f"""
{HEAD}{DARK}{MINUTES}mechanism = "laplace"
"""
)


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """A week in which the dark theme spreads, after a week in which it did not; a little more so on windows."""
    with running(COLLECTION) as started:
        for ago in range(14):
            for segment in (0, 1):
                yes = 500 + (50 if ago < 7 else 0) + 10 * segment
                counters = {"dark": [1_000 - yes, yes], "minutes": [1000, 700_000, 510_000_000, 0]}
                started.put(COLLECTION, TODAY - ago, counters, segment, batches=10)
        yield started


@pytest.fixture
def reader(aggregator: Running) -> Iterator[Reader]:
    """Asks it."""
    with Reader(aggregator.endpoint) as reader:
        yield reader


def asked(aggregator: Running, path: str, **headers: str) -> Any:
    """What the API says of a question about the last of the days."""
    joint = "&" if "?" in path else "?"
    url = f"{aggregator.url}/api/v1/collections/editor/comparisons{path}{joint}last_epoch={TODAY}"
    return ask(url, **headers)


def test_a_week_is_compared_with_the_week_before(reader: Reader) -> None:
    """The dark theme has spread, and is found; minutes have not changed, and are not."""
    rows = {row["metric"]: row for row in reader.compare(last=7, last_epoch=TODAY) if row["series"] != "total"}
    dark = rows["dark"]
    assert dark["difference"] == pytest.approx(0.05 / (2 * 0.7310585786 - 1), rel=1e-6)
    assert dark["found"]
    assert dark["p_value"] < 0.001
    assert 0 < dark["low"] < dark["difference"] < dark["high"]
    assert dark["text"] == "+10.82 points"
    assert dark["ratio_low"] < dark["after"] / dark["before"] == pytest.approx(dark["ratio"])
    assert (dark["reports"], dark["before_reports"]) == (14_000, 14_000)
    assert (dark["start"] - dark["before_end"]).days == 0
    assert (rows["minutes"]["difference"], rows["minutes"]["found"]) == (0, False)


def test_what_is_known_of_the_devices_makes_intervals_narrower(reader: Reader) -> None:
    """Nothing known, others, the same."""
    widths = []
    known: list[dict[str, Any]] = [{}, {"apart": True}, {"changed": 0.0}]
    for own in known:
        (dark,) = reader.compare("dark", last=7, last_epoch=TODAY, **own)
        widths.append(dark["high"] - dark["low"])
    assert widths[0] > widths[1] > widths[2]
    with pytest.raises(RemoteError, match="not both"):
        reader.compare("dark", last_epoch=TODAY, apart=True, changed=0.1)


def test_segments_of_one_epoch_have_devices_of_their_own(reader: Reader) -> None:
    """So that needs not be said. In a week a device can be in both: it was upgraded, and has another version."""
    platforms: dict[str, Any] = {"before": {"segment": {"platform": "linux"}}, "segment": {"platform": "windows"}}
    once = [reader.compare("dark", last_epoch=TODAY, apart=said, **platforms)[0] for said in (False, True)]
    assert once[0] == once[1]
    (plain,) = reader.compare("dark", last=7, last_epoch=TODAY, **platforms)
    (said,) = reader.compare("dark", last=7, last_epoch=TODAY, apart=True, **platforms)
    assert plain["high"] > said["high"] > said["low"] > plain["low"]
    assert (plain["segment"], plain["before_segment"]) == ("platform=windows", "platform=linux")
    assert plain["start"] == plain["before_start"]
    assert plain["difference"] == pytest.approx(0.01 / (2 * 0.7310585786 - 1), rel=1e-6)


def test_a_baseline_is_a_number_that_is_known(reader: Reader) -> None:
    """The estimate's own error is all there is."""
    (dark,) = reader.compare("dark", last_epoch=TODAY, baseline={"yes": 0.25})
    (estimate,) = reader.estimates("dark", last_epoch=TODAY)
    assert dark["difference"] == pytest.approx(estimate["value"] - 0.25)
    assert (dark["low"], dark["before_reports"]) == (pytest.approx(estimate["low"] - 0.25), 0)
    for wrong, words in (({"no": 0.2}, "no row shares/no"), ({"yes": 0.2}, "a baseline is of one metric")):
        with pytest.raises(RemoteError, match=words):
            reader.compare("dark" if "no" in wrong else "", last_epoch=TODAY, baseline=wrong)


@pytest.mark.parametrize(
    "path", ["?last=7", "/dark?last=7&with=3", "/dark?with.platform=linux&segment.platform=windows"]
)
def test_json_is_the_message_and_csv_the_table(aggregator: Running, path: str) -> None:
    """Nothing more, nothing less; and unchanged for who asks again."""
    answer = asked(aggregator, path)
    message = Parse(answer.body, pb.ListComparisonsResponse())
    assert message.comparisons
    assert asked(aggregator, path, If_None_Match=answer.headers["ETag"]).status == 304
    head, question, choices = path.partition("?")
    rows = list(csv.DictReader(io.StringIO(asked(aggregator, f"{head}.csv{question}{choices}").body)))
    assert list(rows[0]) == list(CHANGE_COLUMNS)
    told_keys = [row.key for own in message.comparisons for series in own.series for row in series.changes]
    assert [row["key"] for row in rows] == told_keys


def test_an_answer_changes_with_the_window_before(aggregator: Running) -> None:
    """Its tag is of both sides."""
    path = "/dark?with_last_epoch=19000&apart=true&rate=0.1"
    tag = asked(aggregator, path).headers["ETag"]
    aggregator.put(COLLECTION, 19_000, {"dark": [400, 600]}, 0, batches=10)
    again = asked(aggregator, path, If_None_Match=tag)
    assert again.status == 200
    assert again.headers["ETag"] != tag


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("?with=7&last=3&with_last_epoch=19999", 400, "both sides have the reports of epochs 19998 to 19999"),
        ("/dark?changed=2", 400, "lies between 0 and 1"),
        ("/dark?changed=much", 400, "changed is a number between 0 and 1"),
        ("/dark?apart=yes", 400, "true or false"),
        ("/dark?rate=7", 400, "a false discovery rate lies between 0 and 1"),
        ("/dark?with=7&baseline.yes=0.3", 400, "not with both"),
        ("/dark?baseline.yes=1e243", 400, "a baseline lies between"),
        ("/dark?baseline.yes=nan", 400, "a baseline lies between"),
        ("/dark?rate=0", 400, "rate is above 0; leave it out"),
        ("/dark?with_last_epoch=0", 400, "with_last_epoch is 1 or more; leave it out"),
        ("/dork", 404, "did you mean"),
        ("/dark?other=1", 400, "no parameter"),
        ("/dark?with.platform=mac", 404, "no segment platform=mac"),
    ],
)
def test_what_can_not_be_compared_is_said(aggregator: Running, path: str, status: int, words: str) -> None:
    """One reason, in words."""
    answer = asked(aggregator, path)
    assert answer.status == status, answer.body
    assert words in answer.json["error"]["message"]


def test_estimates_hold_at_every_look_where_that_is_asked_for(aggregator: Running, reader: Reader) -> None:
    """Wider for it, by what is told; the same value."""
    ordinary, growing, every = (
        reader.estimates("dark", last=7, last_epoch=TODAY, anytime=looks)[0] for looks in ("", "growing", "any")
    )
    widths = [row["high"] - row["low"] for row in (ordinary, growing, every)]
    assert widths == sorted(widths)
    assert widths[1] > 1.5 * widths[0]
    assert ordinary["value"] == growing["value"] == every["value"]
    told_looks = ask(f"{aggregator.url}/api/v1/collections/editor/estimates/dark?anytime=any").json["estimate"][
        "looks"
    ]
    assert told_looks == "LOOKS_ANY"
    wrong = ask(f"{aggregator.url}/api/v1/collections/editor/estimates/dark?anytime=ever")
    assert (wrong.status, "growing or any" in wrong.body) == (400, True)
    with pytest.raises(ValueError, match="growing or any"):
        reader.estimates(anytime="ever")  # type: ignore[arg-type]
    where = ("--endpoint", aggregator.endpoint, "--last-epoch", str(TODAY), "--last", "7", "--format", "json")
    shown = json.loads(told("estimates", "--anytime", "growing", *where).stdout)
    assert shown[0]["low"] == growing["low"]


def test_comparisons_hold_at_every_look_where_that_is_asked_for(aggregator: Running, reader: Reader) -> None:
    """Over HTTP, at a terminal and in Python; growing windows only where a baseline stays."""
    one, every = (reader.compare("dark", last=7, last_epoch=TODAY, anytime=looks)[0] for looks in ("", "any"))
    assert one["difference"] == every["difference"]
    assert every["low"] < one["low"] < one["high"] < every["high"]
    assert every["p_value"] > 300 * one["p_value"]
    over_http = asked(aggregator, "/dark?last=7&anytime=any").json["comparisons"][0]
    assert (over_http["looks"], over_http["series"][0]["changes"][0]["low"]) == ("LOOKS_ANY", every["low"])
    where = ("--endpoint", aggregator.endpoint, "--last-epoch", str(TODAY), "--last", "7", "--format", "json")
    assert json.loads(told("compare", "dark", "--anytime", *where).stdout)[0]["low"] == every["low"]
    growing = asked(aggregator, "/dark?last=7&anytime=growing")
    assert (growing.status, "compared with a baseline" in growing.json["error"]["message"]) == (400, True)
    fixed = [
        asked(aggregator, f"/dark?last=7&baseline.yes=0.5{looks}").json["comparisons"][0]["series"][0]["changes"][0]
        for looks in ("", "&anytime=growing", "&anytime=any")
    ]
    assert fixed[0]["low"] > fixed[1]["low"] > fixed[2]["low"]


def test_comparisons_are_remembered_until_a_side_changes(aggregator: Running) -> None:
    """Who asks again is told what was found; of other counters something else is found."""
    analyst = aggregator.analyst_of(aggregator.server.store)
    query = Query(last_epoch=18_000)
    aggregator.put(COLLECTION, 18_000, {"dark": [500, 500]}, 0, batches=10)
    aggregator.put(COLLECTION, 17_999, {"dark": [600, 400]}, 0, batches=10)

    def asked_again() -> Any:
        return aggregator.wait_for(changes(analyst, "editor", query, Before(), metric="dark")).changed[0].comparison

    found = asked_again()
    assert asked_again() is found
    aggregator.put(COLLECTION, 17_999, {"dark": [0, 100]}, 0, batches=10)
    assert asked_again() is not found


def test_estimates_are_weighted_where_the_population_is_known(aggregator: Running, reader: Reader) -> None:
    """By shares of a segment's values, over gRPC, HTTP and at a terminal; what can not be is said."""
    alone = [reader.estimates("dark", last_epoch=TODAY, segment={"platform": own})[0] for own in ("linux", "windows")]
    weights = {"platform": {"linux": 0.25, "windows": 0.75}}
    (row,) = reader.estimates("dark", last_epoch=TODAY, weights=weights)
    assert row["value"] == pytest.approx(0.25 * alone[0]["value"] + 0.75 * alone[1]["value"])
    assert alone[0]["low"] < row["low"] < row["high"]
    path = f"{aggregator.url}/api/v1/collections/editor/estimates/dark?last_epoch={TODAY}"
    over_http = ask(f"{path}&weight.platform.linux=0.25&weight.platform.windows=0.75").json["estimate"]
    assert (over_http["series"][0]["rows"][0]["low"], over_http["weightedBy"]) == (row["low"], "platform")
    where = ("--endpoint", aggregator.endpoint, "--last-epoch", str(TODAY), "--metric", "dark", "--format", "json")
    shown = told("estimates", *where, "--weigh", "platform", "linux=0.25", "windows=0.75").stdout
    assert json.loads(shown)[0]["low"] == row["low"]
    for question, words in (
        ("&weight.platform.linux=0.5", "add up to 0.5"),
        ("&weight.platform.linux=1&segment.platform=linux", "none of its values can be asked for alone"),
        ("&weight.version.one=1", "no segment 'version'"),
        ("&weight.platform.linux=1&anytime=any", "at one look"),
    ):
        assert words in ask(path + question).json["error"]["message"]
    assert (
        "no parameter 'weight.platform.linux'"
        in asked(aggregator, "/dark?weight.platform.linux=1").json["error"]["message"]
    )
    nothing = ask(f"{path[: path.index('?')]}?last_epoch=12000&weight.platform.linux=1").json["error"]["message"]
    assert nothing == "dark has no reports of platform=linux, which is 100.0% of the population"


def test_prometheus_is_told_what_was_found_and_nothing_else(aggregator: Running) -> None:
    """Today against yesterday: a gauge for the row that has changed, none for one that has not."""
    today = COLLECTION.epoch_at(time.time())
    for epoch, yes in ((today, 600), (today - 1, 400)):
        counters = {"dark": [1_000 - yes, yes], "minutes": [1000, 700_000, 510_000_000, 0]}
        aggregator.put(COLLECTION, epoch, counters, 0, batches=10)
    told_changes = [
        line for line in ask(f"{aggregator.url}/metrics").body.splitlines() if line[:15] == "deniable_change"
    ]
    (line,) = told_changes
    assert line.startswith('deniable_change{collection="editor",key="yes",metric="dark",series="shares"} 0.43')


def test_parameters_of_comparisons_are_of_comparisons_alone(aggregator: Running) -> None:
    """Elsewhere they are unknown."""
    answer = ask(f"{aggregator.url}/api/v1/collections/editor/estimates/dark?with=3")
    assert (answer.status, "no parameter 'with'" in answer.body) == (400, True)


def test_the_price_is_that_of_both_windows() -> None:
    """Counted before anything is read, and no less than what is done: each side takes a few estimates."""
    metrics = list(COLLECTION.metrics.values())
    assert Price(COLLECTION, metrics, 14, times=SIDES_TIMES).counters > 3 * Price(COLLECTION, metrics, 7).counters


def test_grpc_says_what_is_compared(aggregator: Running) -> None:
    """With the windows, and how many rows were looked at: totals are none of them."""
    with grpc.insecure_channel(aggregator.endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        request = pb.ListComparisonsRequest(query=pb.Query(epochs=7, last_epoch=TODAY, rows=1))
        answer = service.ListComparisons(request, timeout=PATIENCE)
    assert (answer.looked_at, answer.false_discovery_rate) == (3, 0.05)
    dark = next(own for own in answer.comparisons if own.metric == "dark")
    assert (dark.before.first_epoch, dark.before.last_epoch) == (TODAY - 13, TODAY - 7)
    assert (dark.after.first_epoch, dark.after.last_epoch) == (TODAY - 6, TODAY)
    assert not dark.apart
    assert not dark.HasField("changed")


def test_the_command_shows_a_table_and_writes_files(aggregator: Running) -> None:
    """`deniable compare METRIC --last 7 --with 7`, two segments, a baseline."""
    where = ("--endpoint", aggregator.endpoint, "--last-epoch", str(TODAY))
    shown = told("compare", "dark", "--last", "7", "--with", "7", *where).stdout.splitlines()
    assert shown[0].split() == ["answer", "before", "after", "difference", "interval", "ratio", "p-value", "found"]
    assert "+10.82 points" in shown[2]
    assert shown[2].endswith("yes")
    rows = json.loads(told("compare", *where, "--last", "7", "--format", "json", "--apart").stdout)
    assert {row["metric"] for row in rows} == {"dark", "minutes"}
    both = told(
        "compare", "dark", *where, "--segments", "platform=linux", "platform=windows", "--format", "csv"
    ).stdout
    assert "platform=linux" in both
    assert "+2.16 points" in both
    fixed = told("compare", "dark", *where, "--baseline", "yes=0.25", "--format", "json").stdout
    assert json.loads(fixed)[0]["before"] == 0.25
    for wrong in (("--baseline", "yes"), ("--baseline", "yes=much"), ("--segments", "linux", "windows")):
        failed = told("compare", "dark", *where, *wrong)
        assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)


def statements(aggregator: Running, question: Callable[[Questions], Coroutine[Any, Any, object]]) -> tuple[int, int]:
    """How often a question has doubts read, and epochs looked for changes."""
    analyst = aggregator.analyst_of(aggregator.server.store)
    with Redis(unix_socket_path=str(aggregator.server._embedded.data_dir / "valkey.sock")) as store:  # type: ignore[union-attr]
        store.config_resetstat()
        aggregator.wait_for(question(Questions(analyst)))
        said = store.info("commandstats")
    doubts, epochs = (said.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("hgetall", "scard"))
    return doubts, epochs


def test_the_store_is_asked_once_a_question(aggregator: Running) -> None:
    """Whatever the number of metrics: for the doubts, and for what has changed in each epoch of what it is about."""
    week = pb.Query(last_epoch=TODAY, epochs=7)
    weighted = pb.Query(last_epoch=TODAY, epochs=7, weight_by="platform", weights={"linux": 0.5, "windows": 0.5})
    compared = pb.ListComparisonsRequest(collection="editor", query=week)
    assert statements(aggregator, lambda asks: asks.comparisons("me", compared)) == (1, 14)
    assert statements(aggregator, lambda asks: asks.comparisons_version(compared)) == (1, 14)
    assert statements(aggregator, lambda asks: asks.estimates("me", "editor", weighted)) == (1, 7)
    assert statements(aggregator, lambda asks: asks.counters("me", "editor", week)) == (1, 7)
    assert statements(aggregator, lambda asks: asks.estimates("me", "editor", week)) == (1, 7)
