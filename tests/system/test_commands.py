"""The `deniable` command, end to end."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

import deniable as sdk
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable_aggregator.commands import main
from support.commands import COMMAND, EDITOR, deniable, serving, told
from support.debugging import at_home
from support.waiting import PATIENCE, soon

TRUTH = """
[dark_mode]
values = [true]
[crashed]
values = [true, false]
weights = [1, 3]
[session_minutes]
values = [10, 30]
[browser]
values = ["firefox", "safari"]
"""


def fetched(url: str) -> str:
    """What a page says."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as response:
        text: str = response.read().decode()
    return text


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An aggregator to which 300 devices have reported."""
    directory = tmp_path_factory.mktemp("aggregator")
    truth = directory / "truth.toml"
    truth.write_text(TRUTH)
    with serving(directory / "data", EDITOR, "--simulated") as endpoint:
        simulated = told("simulate", EDITOR, "--devices", "300", "--truth", truth, "--endpoint", endpoint)
        assert simulated.returncode == 0, simulated.stderr
        assert "300 of 300" in simulated.stderr
        yield endpoint


def test_the_command_serves_as_it_is_installed(tmp_path: Path) -> None:
    """Started by its name, with nothing loaded: it says where it serves, and SIGTERM ends it."""
    command: list[str | Path] = [
        COMMAND,
        "serve",
        EDITOR,
        "--data",
        tmp_path / "data",
        "--listen",
        "127.0.0.1:0",
        "--http",
        "off",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline().startswith("serving editor on 127.0.0.1:")
            process.terminate()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


def test_the_demo_ends_with_a_table_of_truth_and_estimates() -> None:
    """`deniable demo --once` shows a row an answer, whose intervals hold the truth as often as 95% should, and what
    its fleet has learned."""
    shown = deniable("demo", "--once", "--devices", "2000", timeout=PATIENCE)
    assert shown.returncode == 0, shown.stderr
    assert "2,000 devices answered" in shown.stdout
    assert "2,000 of 2,000" in shown.stderr
    held = re.search(r"(\d+) of (\d+) intervals hold the truth", shown.stdout)
    assert held is not None
    # Rows of one metric miss together: of some 60 two miss on average, with a deviation of 1.8 (60 demos), so that a
    # third of them is ten deviations off.
    assert int(held[2]) >= 50
    assert int(held[2]) - int(held[1]) < int(held[2]) / 3
    # What the model guesses right, a round a day: its devices, and how often it did at the beginning, as it is told.
    rounds = re.findall(r"^round \d +([\d.]+)% .* ([\d,]+)$", shown.stdout, re.MULTILINE)
    assert [devices for _, devices in rounds] == ["500"] * 7 + ["2,000"]
    assert rounds[0][0] == "42.86"


def test_the_demo_goes_on_with_a_page_that_moves_and_shows_the_truth(tmp_path: Path) -> None:
    """Until Ctrl-C: earlier days and more devices report, and each answer comes with what it should be, which is what
    the table says; what one device records is shown beside what it would report."""
    command: list[str | Path] = [
        COMMAND,
        "demo",
        "--devices",
        "400",
        "--listen",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
    ]
    with (
        at_home(),
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as demo,
    ):
        try:
            assert demo.stdout
            shown = []
            while "The page is at" not in (line := next(demo.stdout)):
                shown.append(line)
            assert next(demo.stdout).strip() in {f"{name} estimates --watch" for name in ("deniable", COMMAND)}
            while not next(demo.stdout).startswith("What one device records, beside what it would report"):
                pass
            debugging = next(demo.stdout).strip().replace("/debug", "/api/v1/debug")
            page = line.split(" at ")[1].split(",")[0].rstrip("/")
            assert 'data-demo="true"' in fetched(page)
            asked = f"{page}/api/v1/collections/editor"
            dark = f"{asked}/estimates/dark_mode"  # all metrics take a hundred times as long
            soon(
                lambda: len(json.loads(fetched(f"{dark}/epochs?last=8"))["estimates"]) == 8,
                "seven earlier days have reported",
            )
            overview = json.loads(fetched(f"{asked}/overview"))
            assert len(overview["trends"][0]["epochs"]) == 8
            before = overview["estimates"]
            row = next(each for each in before if each["metric"] == "dark_mode")["series"][0]["rows"][0]
            assert row["truthText"] == "62.00%"
            on_page = {
                (each["metric"], own["key"]): own["truthText"] for each in before for own in each["series"][0]["rows"]
            }
            in_table = re.findall(
                r"^(browser|crashed|dark_mode|languages): (\S+) +(\S+) ", "".join(shown), re.MULTILINE
            )
            assert len(in_table) == 13
            assert [truth for *where, truth in in_table] == [on_page[metric, key] for metric, key, _ in in_table]
            soon(lambda: json.loads(fetched(debugging))["showings"], "a device is shown")
            (*_, first) = json.loads(fetched(debugging))["showings"]
            assert first["collection"] == "editor"
            assert "browser" in [report["metric"] for report in first["reports"]]
            # 400 devices at epsilon 1: the standard error is 0.05; seven of them are exceeded once in 10^11 times.
            assert row["value"] == pytest.approx(row["truth"], abs=0.35)
            day = f"{dark}?last_epoch={before[0]['lastEpoch'] - 1}"
            yesterday = json.loads(fetched(day))["estimate"]["series"][0]["rows"][0]
            assert (
                yesterday["truth"] < 0.45
            )  # what comparisons are to find: the dark theme was made the default today
            (reports,) = (int(each["reports"]) for each in before if each["metric"] == "dark_mode")
            soon(lambda: int(json.loads(fetched(dark))["estimate"]["reports"]) > reports, "more devices report")
            demo.send_signal(signal.SIGINT)
            assert demo.wait(PATIENCE) == 0
        finally:
            demo.kill()  # where it has not ended by itself


def test_estimates_come_as_a_table_json_and_csv(endpoint: str) -> None:
    """The three formats have the same rows, and the table shows the number of reports."""
    table = deniable("estimates", "--endpoint", endpoint)
    assert "dark_mode: yes" in table.stdout
    assert "300" in table.stdout
    rows = json.loads(told("estimates", "--endpoint", endpoint, "--format", "json").stdout)
    read = list(csv.DictReader(io.StringIO(told("estimates", "--endpoint", endpoint, "--format", "csv").stdout)))
    assert [row["key"] for row in rows] == [row["key"] for row in read]
    assert [float(row["value"]) for row in read] == [row["value"] for row in rows]
    yes = next(row for row in rows if row["metric"] == "dark_mode")
    assert yes["reports"] == 300
    # All 300 devices are dark: at epsilon 1 the estimate misses 1 by 0.5 less than once in 10^8 times.
    assert yes["value"] == pytest.approx(1.0, abs=0.5)
    assert yes["low"] <= yes["value"]
    assert yes["high"] <= 1.0


def test_segments_add_up_to_the_whole(endpoint: str) -> None:
    """The reports of the three platforms are the reports of all."""
    reports = []
    for platform in ("linux", "macos", "windows"):
        shown = told(
            "estimates", "--endpoint", endpoint, "--format", "json", "--metric", "browser", "--segment",
            f"platform={platform}",
        )  # fmt: skip
        reports.append(json.loads(shown.stdout)[0]["reports"])
    assert sum(reports) == 300
    assert min(reports) > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--metric", "dark_mood"), "did you mean 'dark_mode'?"),
        (("--collection", "editr"), "did you mean 'editor'?"),
        (("--segment", "platform=amiga"), "linux|macos|windows"),
        (("--segment", "platform"), "NAME=VALUE"),
        (("--confidence", "1.5"), "between 0 and 1"),
        (("--endpoint", "127.0.0.1:1"), "is the aggregator running there?"),
    ],
)
def test_what_can_not_be_answered_is_one_line_and_exit_code_2(
    endpoint: str, arguments: tuple[str, ...], words: str
) -> None:
    """Mistakes end in one line that tells the next step."""
    shown = told("estimates", "--endpoint", endpoint, *arguments)
    assert shown.returncode == 2
    assert words in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_a_collection_is_checked(tmp_path: Path) -> None:
    """`check` shows what is asked and what it costs, and names every mistake of a file that does not load."""
    shown = told("check", EDITOR)
    assert shown.returncode == 0
    assert "The dark theme is on" in shown.stdout
    assert "spends at most 4.099" in shown.stdout
    broken = tmp_path / "metrics.toml"
    broken.write_text(EDITOR.read_text().replace("epsilon = 1.0", "epsilom = 1.0"))
    refused = told("check", broken)
    assert refused.returncode == 2
    assert f"{broken}: metrics.browser.epsilom: unknown key; did you mean 'epsilon'?" in refused.stderr


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` of every subcommand ends with an example."""
    listed = deniable("--help").stdout
    commands = re.findall(r"^    ([a-z]+)\s", listed, flags=re.MULTILINE)
    assert {"demo", "serve", "estimates", "check", "simulate"} <= set(commands)
    for command in commands:
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
        assert "example:" in capsys.readouterr().out


def test_collections_are_listed_and_answers_are_watched(tmp_path: Path) -> None:
    """EstimateService lists collections, and a watch sends again only when an answer has changed."""
    collection = sdk.Collection.load(EDITOR)
    with serving(tmp_path, EDITOR) as endpoint, grpc.insecure_channel(endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        (listed,) = service.ListCollections(pb.ListCollectionsRequest(), timeout=PATIENCE).collections
        assert listed.digest == f"{collection.digest:016x}"
        assert [metric.name for metric in listed.metrics] == sorted(collection.metrics)
        watch = service.WatchEstimates(pb.WatchEstimatesRequest(collection="editor"), timeout=PATIENCE)
        before = next(iter(watch)).estimates
        client = sdk.Client(collection, endpoint=endpoint, consent=sdk.Consent.GRANTED, segment={"platform": "linux"})
        client.record("dark_mode", True)
        assert client.flush(PATIENCE)
        client.close()
        after = next(iter(watch)).estimates
        watch.cancel()

    def reports(estimates: list[pb.Estimate]) -> dict[str, int]:
        return {estimate.metric: estimate.reports for estimate in estimates}

    assert reports(list(after)) == reports(list(before)) | {"dark_mode": reports(list(before))["dark_mode"] + 1}
