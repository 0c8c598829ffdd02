"""Answers as tables: on the terminal, in files, in Python."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import Collection
from deniable_aggregator import Reader, RemoteError, Table
from deniable_aggregator.telling.tables import COLUMNS
from support.commands import COMMAND, ROOT, told
from support.editor import BROWSER, DARK, HEAD, MINUTES, filled
from support.site import Running, running
from support.waiting import PATIENCE

COLLECTION = Collection.loads(f'{HEAD}{BROWSER}{DARK}{MINUTES}mechanism = "laplace"')
TODAY = int(time.time() // 86400)


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """Three days of reports from two platforms."""
    with running(COLLECTION) as started:
        filled(started, COLLECTION, TODAY, 3)
        yield started


@pytest.fixture
def reader(aggregator: Running) -> Iterator[Reader]:
    """Of that aggregator."""
    with Reader(aggregator.endpoint) as reader:
        yield reader


def test_a_reader_asks_for_metrics_epochs_and_segments(reader: Reader) -> None:
    """Each is a table with a row for every line of every answer."""
    assert [info.name for info in reader.collections()] == ["editor"]
    table = reader.estimates()
    assert [row["key"] for row in table if row["metric"] == "browser"] == ["chrome", "edge", "firefox", "safari"]
    assert set(table[0]) == set(COLUMNS)
    epochs = reader.epochs("dark", last=3)
    assert [row["start"].date().toordinal() - 719163 for row in epochs] == [TODAY - 2, TODAY - 1, TODAY]
    segments = reader.segments("dark", "platform")
    assert [row["segment"] for row in segments] == ["platform=linux", "platform=windows"]
    assert [row["reports"] for row in segments] == [1000, 1000]
    (one,) = reader.estimates("dark", last=3, segment={"platform": "linux"}, confidence=0.9, target="reporting")
    assert (one["reports"], one["confidence"], one["target"]) == (3003, 0.9, "reporting")


def test_data_frames_have_the_same_rows(reader: Reader) -> None:
    """pandas, polars and Arrow hold what the plain rows hold, and know times and numbers as such."""
    import pandas as pd  # a second for every process that only looks for tests
    import polars as pl

    table = reader.estimates()
    values = [row["value"] for row in table]
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(COLUMNS)
    assert frame["value"].tolist() == values
    assert frame["start"].dt.tz is not None
    other = table.to_polars()
    assert isinstance(other, pl.DataFrame)
    assert other.columns == list(COLUMNS)
    assert other["value"].to_list() == values
    assert other.schema["start"].is_temporal()
    arrow = table.to_arrow()
    assert arrow.column("value").to_pylist() == values
    assert arrow.column("consistent").to_pylist() == [row["consistent"] for row in table]


def test_an_empty_table_has_its_columns(reader: Reader) -> None:
    """No reports in any epoch: no rows, but tables that other tools take."""
    table = reader.epochs("dark", last_epoch=5)
    assert len(table) == 0
    assert list(table.to_pandas().columns) == list(COLUMNS)
    assert table.to_polars().columns == list(COLUMNS)
    assert table.to_arrow().column_names == list(COLUMNS)
    assert table.to_csv() == ",".join(COLUMNS) + "\n"


def test_parquet_is_written_by_the_command_and_read_by_others(aggregator: Running, tmp_path: Path) -> None:
    """`--format parquet --output FILE` and the same through a pipe."""
    import pyarrow.parquet as pq

    file = tmp_path / "answers.parquet"
    arguments = ("estimates", "--endpoint", aggregator.endpoint, "--format", "parquet")
    assert told(*arguments, "--output", file).returncode == 0
    written = pq.read_table(file)
    with Reader(aggregator.endpoint) as reader:
        assert written.column("text").to_pylist() == [row["text"] for row in reader.estimates()]
    piped = subprocess.run([COMMAND, *arguments], capture_output=True, timeout=PATIENCE)
    assert pq.read_table(io.BytesIO(piped.stdout)).equals(written)


def test_without_pyarrow_parquet_says_what_to_install(aggregator: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line and exit code 2, and the name of the extra."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    shown = told("estimates", "--endpoint", aggregator.endpoint, "--format", "parquet")
    assert shown.returncode == 2
    assert "pip install 'deniable-aggregator[parquet]'" in shown.stderr


def test_the_terminal_shows_intervals_as_lines_with_the_value_on_them(aggregator: Running) -> None:
    """A line an answer: its digits, its interval in digits and as a picture, its reports."""
    shown = told("estimates", "--endpoint", aggregator.endpoint).stdout.splitlines()
    assert shown[0].split() == ["answer", "estimate", "interval", "reports"]
    with Reader(aggregator.endpoint) as reader:
        rows = reader.estimates()
    for line, row in zip(shown[2:-1], rows, strict=True):
        unit = f" {row['unit']}" if row["measure"] != "share" else ""
        start = f"{row['metric']}: {row['key']}"
        assert line.startswith(start)
        assert f"{row['text']}{unit}  " in line
        assert f"{row['low_text']} to {row['high_text']}" in line
        assert re.search(r"─*●─*", line)
        assert line.endswith(f"{row['reports']:,}")


def test_watching_shows_the_table_again_when_an_answer_has_changed() -> None:
    """Two tables: one at once, one after a report."""
    with running(COLLECTION) as aggregator:
        aggregator.put(COLLECTION, TODAY, {"dark": [450, 550]})
        command = [str(COMMAND), "estimates", "--endpoint", aggregator.endpoint, "--metric", "dark", "--watch"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONUNBUFFERED": "1"}) as watching:
            assert watching.stdout
            lines = iter(watching.stdout)
            before = next(line for line in lines if line.startswith("dark: yes"))
            aggregator.put(COLLECTION, TODAY, {"dark": [0, 1]})
            after = next(line for line in lines if line.startswith("dark: yes"))
            watching.terminate()

    def reports(line: str) -> int:
        return int(line.rsplit(maxsplit=1)[-1].replace(",", ""))

    assert (reports(before), reports(after)) == (1000, 1001)


@pytest.mark.parametrize(
    ("choices", "error", "words"),
    [
        ({"metric": "dork"}, RemoteError, "did you mean 'dark'"),
        ({"target": "everybody"}, ValueError, "population, reporting"),
        ({"segment": {"platform": "amiga"}}, RemoteError, "linux|windows"),
    ],
)
def test_what_can_not_be_answered_is_an_error_with_words(
    reader: Reader, choices: dict[str, Any], error: type[Exception], words: str
) -> None:
    """A reader says what it would have known."""
    with pytest.raises(error, match=re.escape(words)):
        reader.estimates(**choices)


def test_nobody_at_the_other_end_is_said_so() -> None:
    """With the next step."""
    with (
        Reader("127.0.0.1:1", timeout=PATIENCE) as reader,
        pytest.raises(RemoteError, match="is the aggregator running"),
    ):
        reader.estimates()


def test_a_notebook_shows_a_table_safely() -> None:
    """As HTML, in which a label is text whatever it looks like."""
    row = dict.fromkeys(COLUMNS, "") | {"key": "<script>", "metric": "m", "reports": 3, "text": "61.12%"}
    shown = Table([row])._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "61.12%" in shown


def test_the_notebook_example_runs(aggregator: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of examples/answers.ipynb, one after another, against an aggregator that has reports."""
    notebook = json.loads((ROOT / "examples" / "answers.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 4
    room: dict[str, Any] = {"__name__": "notebook"}
    for cell in cells:
        exec(cell.replace("127.0.0.1:8470", aggregator.endpoint).replace("dark_mode", "dark"), room)
    assert isinstance(room["answers"], Table)
    assert np.isfinite(room["frame"]["value"]).all()
