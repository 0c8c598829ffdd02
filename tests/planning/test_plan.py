"""`deniable plan`: a collection and a fleet, metric by metric and as a whole; and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from deniable import Client, Collection
from deniable.kinds import Number
from deniable.testing import TestClient
from deniable_aggregator.planning.load import CODEWORD, VISIT, load
from deniable_aggregator.planning.plan import curves, plan
from deniable_aggregator.planning.widths import widths
from deniable_aggregator.telling.plots import Panel, page, plotted, svg
from support.commands import EDITOR, ROOT, told

COLLECTION = Collection.load(EDITOR)


def test_a_plan_has_every_metric_with_its_widths_and_what_else_could_ask() -> None:
    """The widths are those of `check`; no other mechanism beats the one that is chosen by more than `auto` lets it;
    one fake has its gain."""
    found = plan(COLLECTION, 10_000, 0.01, {})
    assert [own.metric.name for own in found.questions] == list(COLLECTION.metrics)
    for own in found.questions:
        assert own.widths == widths(own.metric, 10_000)
        assert own.worst is not None
        assert all(own.worst.half <= 1.05 * other.half for other in own.others)
        assert own.gain > 1
    others = {own.metric.name: [other.mechanism for other in own.others] for own in found.questions}
    assert [name for name in others["session_minutes"] if name in {"one_bit", "laplace"}] == ["one_bit", "laplace"]
    assert {*others["session_minutes"]} == {*Number.mechanisms} - {"hybrid"}
    assert others["dark_mode"] == []
    assert not found.refused


def test_what_is_white_noise_is_refused_with_what_it_would_take() -> None:
    """The exit code is 1, and the sentence has numbers."""
    shown = told("plan", EDITOR, "--devices", "20")
    assert shown.returncode == 1
    assert re.search(
        r"^- dark_mode: white noise: of 20 devices .*; ±1% .* takes 4\d,\d00 devices", shown.stdout, re.MULTILINE
    )
    assert told("plan", EDITOR, "--devices", "10000").returncode == 0


def test_a_plan_in_words() -> None:
    """A line a row, as `check --devices` has it, with the change that is seen; a line a metric; then the whole."""
    shown, checked = (told(name, EDITOR, "--devices", "10000").stdout for name in ("plan", "check"))
    assert re.search(r"^dark_mode: yes +±2\.12 points +4\.\d\d points$", shown, re.MULTILINE)
    assert re.search(r"^session_minutes: total +±98,\d\d\d minutes +–$", shown, re.MULTILINE)
    for line in checked.partition("half of a 95% interval.")[2].splitlines():
        if "±" in line:
            assert line in shown
    assert re.search(
        r"^session_minutes +hybrid +mean ±9\.83 minutes +one_bit ±10\.\d\d minutes, laplace ", shown, re.MULTILINE
    )
    assert "The store keeps 99 counters an epoch, of 401 epochs" in shown


def test_turned_round(tmp_path: Path) -> None:
    """The fleet that an epsilon takes, and the epsilon of a fleet, beside the curves too; without devices the fleet
    alone."""
    shown = told("plan", EDITOR, "--devices", "10000", "--for", "1%").stdout
    assert re.search(r"^dark_mode +yes +1 +45,000 +4\.59$", shown, re.MULTILINE)
    sheet = tmp_path / "a.html"
    told("plan", EDITOR, "dark_mode", "--devices", "10000", "--for", "1%", "--plot", sheet)
    assert "What it takes to tell the widest row to ±1% of what is possible." in sheet.read_text()
    found = json.loads(told("plan", EDITOR, "--for", "0.01", "--json").stdout)
    assert {own["name"]: own["devices_needed"]["least"] for own in found["metrics"]}["dark_mode"] == 45_000
    assert all(own["epsilon_needed"] is None for own in found["metrics"])


def test_a_metric_in_full_has_curves_and_json_has_all(tmp_path: Path) -> None:
    """In the terminal, as SVG and as a page; the metric stands on its own curve."""
    picture, sheet = tmp_path / "a.svg", tmp_path / "a.html"
    shown = told("plan", EDITOR, "dark_mode", "--devices", "10000", "--plot", picture).stdout
    assert "dark_mode against devices: ● ±2.12% at 10,000 devices" in shown
    assert "dark_mode against epsilon: ● ±2.12% at epsilon 1" in shown
    assert picture.read_text().count("<circle") == 2
    assert told("plan", EDITOR, "--devices", "10000", "--plot", sheet).returncode == 0
    assert sheet.read_text().count("<circle") == 8
    found = json.loads(told("plan", EDITOR, "--devices", "10000", "--json").stdout)
    assert found["metrics"][2]["rows"][0]["seen"]["apart"] < found["metrics"][2]["rows"][0]["seen"]["change"]
    assert found["load"]["message"] == 67
    over, against = curves(COLLECTION, COLLECTION.metrics["browser"], 10_000) or (None, None)
    assert over is not None
    assert against is not None
    assert dict(over.points)[10_000] == over.here[1] == dict(against.points)[1.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--devices N; or what is wanted: --for 1%"),
        (("--devices", "9", "--plot", "a.png"), "takes a FILE.svg or a FILE.html"),
        (("--for", "1%", "--plot", "a.svg"), "--plot goes with --devices N"),
        (("--for", "2"), "takes a number between 0 and 1"),
        (("dork_mode", "--devices", "9"), "did you mean 'dark_mode'?"),
    ],
)
def test_what_can_not_be_planned_is_one_line(arguments: tuple[str, ...], words: str) -> None:
    """And exit code 2."""
    shown = told("plan", EDITOR, *arguments)
    assert shown.returncode == 2
    assert words in shown.stderr.splitlines()[-1]


def test_pictures_need_nothing_else_and_say_what_they_show() -> None:
    """A title and a description, light and dark, no script, nothing from elsewhere, as wide as a telephone."""
    panel = Panel("a < b against devices", "devices", [(100.0, 0.2), (10_000.0, 0.02)], (1_000.0, 0.0632))
    drawn = svg([panel, panel], "How wide")
    assert '<title id="name">How wide</title>' in drawn
    assert "a &lt; b against devices: ±20% at 100 devices to ±2% at 10,000 devices; here ±6.32% at 1,000" in drawn
    assert 'viewBox="0 0 360 ' in drawn
    made = page([panel], "How wide", "one <two>")
    for text in (drawn, made):
        assert "prefers-color-scheme:dark" in text
        assert not re.search(r"<script|href|src=|url\(|@import", text)
    assert "one &lt;two&gt;" in made
    assert 'name="viewport"' in made


def test_a_panel_in_a_terminal() -> None:
    """Lines of the same axes, a dot a column, and the circle on the curve."""
    lines = plotted(Panel("a", "devices", [(10.0, 0.1), (1_000.0, 0.001)], (100.0, 0.01))).splitlines()
    assert len(lines) == 12
    assert lines[0] == "a: ● ±1% at 100 devices"
    assert lines[5].startswith("  ±1% │")
    assert lines[5].count("●") == 1
    assert lines[1].startswith(" ±10% │·")


def test_what_travels_is_what_a_device_sends() -> None:
    """To the byte: the message of a device that has answered everything."""
    with TestClient(COLLECTION, segment={"platform": "windows"}) as client:
        for name, value in (("dark_mode", True), ("crashed", False), ("session_minutes", 3), ("browser", "edge")):
            client.record(name, value)
        Client.flush(client)  # that of a test forgets what it would have sent
        rows = client._state.run(lambda state: state.execute("SELECT request FROM queue").fetchall())
    sent = [len(request) for (request,) in rows]
    assert sent == [load(COLLECTION, 1).message]


def test_what_is_kept_is_counted() -> None:
    """Counters of every column and segment, for 400 days and the one that lasts; 16 bytes an id for nine epochs."""
    found = load(COLLECTION, 1_000)
    columns = [column for metric in COLLECTION.metrics.values() for column in metric.columns]
    assert found.counters == 3 * sum(column.shape.counters for column in columns)
    assert (found.epochs, found.store) == (401, 8 * 401 * found.counters)
    assert (found.calls, found.ids) == (1, 16 * 9 * 1_000)


@pytest.mark.parametrize("figure", [VISIT, CODEWORD])
def test_figures_are_those_of_their_page(figure: object) -> None:
    """What was measured stands there, from the least to the most."""
    assert isinstance(figure, type(VISIT))
    text = (ROOT / figure.source).read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:]] for line in text.splitlines() if line.startswith("| ")]
    if figure is VISIT:
        taken = {row[0]: float(row[2].split()[0].replace(",", "")) for row in rows if "µs" in row[2]}
        assert taken["the aggregator"] == figure.least
        assert taken["the aggregator, one at a time"] == figure.most
    else:
        every = [float(row[5]) for row in rows if row[2] == "codewords"]
        assert (min(every), max(every)) == (figure.least, figure.most)
