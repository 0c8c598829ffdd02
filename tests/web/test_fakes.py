"""How far made-up reports can have moved an answer is said alike by Python, JSON, CSV and the command."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import numpy as np
import pytest

from deniable import Collection
from deniable_aggregator import Reader, RemoteError
from deniable_aggregator.commands import main
from deniable_aggregator.planning.leverage import gain
from deniable_aggregator.planning.simulate import simulate
from support.editor import BROWSER, DARK, HEAD, MINUTES, filled
from support.site import Running, got, running

COLLECTION = Collection.loads(f'{HEAD}{BROWSER}{DARK}{MINUTES}mechanism = "laplace"')
TODAY = 20_000


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """Two days of reports from two platforms."""
    with running(COLLECTION) as started:
        filled(started, COLLECTION, TODAY, 2)
        yield started


def test_a_reader_asks_for_fakes(aggregator: Running) -> None:
    """Of every row, in windows and segments too; who does not ask is told nothing."""
    with Reader(aggregator.endpoint) as reader:
        (one,) = reader.estimates("dark", last_epoch=TODAY, fakes=0.01)
        every = reader.estimates(last_epoch=TODAY, last=2, segment={"platform": "linux"}, fakes=0.02)
        plain = reader.estimates("dark", last_epoch=TODAY)
        least = (one["value"] - 0.01 * gain(COLLECTION.metrics["dark"]).row) / 0.99
        assert one["fakes_low"] == pytest.approx(least)
        assert one["fakes"] == 0.01
        assert all(row["fakes_low"] <= row["cut"] <= row["fakes_high"] for row in every)
        assert plain[0]["fakes"] is plain[0]["fakes_low"] is None
        for wrong in (1.0, -0.1, 2.0):
            with pytest.raises(RemoteError, match="a share of fakes lies between 0 and 1"):
                reader.estimates("dark", last_epoch=TODAY, fakes=wrong)
        weights = {"platform": {"linux": 0.5, "windows": 0.5}}
        with pytest.raises(RemoteError, match="estimates that are not weighted"):
            reader.estimates("dark", last_epoch=TODAY, fakes=0.01, weights=weights)


def test_json_csv_and_the_command_say_the_same(
    aggregator: Running, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """In numbers and in words."""
    room, query = "/api/v1/collections/editor/estimates/dark", f"?last_epoch={TODAY}&fakes=0.01"
    told = json.loads(got(aggregator, room + query))["estimate"]
    (row,) = told["series"][0]["rows"]
    (line,) = csv.DictReader(io.StringIO(got(aggregator, f"{room}.csv{query}")))
    assert told["fakes"] == 0.01
    assert float(line["fakes_low"]) == row["fakesLow"]
    assert (line["fakes_low_text"], line["fakes_high_text"]) == (row["fakesLowText"], row["fakesHighText"])
    command = ["estimates", "--endpoint", aggregator.endpoint, "--metric", "dark", "--last-epoch", str(TODAY)]
    main([*command, "--fakes", "1%"])
    shown = capsysbinary.readouterr().out.decode()
    assert "without 1% fakes" in shown
    assert f"{row['fakesLowText']} to {row['fakesHighText']}" in shown
    main(command)
    assert "fakes" not in capsysbinary.readouterr().out.decode()
    with pytest.raises(HTTPError, match="400"):
        got(aggregator, f"{room}?last_epoch={TODAY}&fakes=1")
    with pytest.raises(HTTPError, match="400"):
        got(aggregator, f"/api/v1/collections/editor/comparisons/dark?last_epoch={TODAY}&fakes=0.01")


def test_bounds_of_words_are_the_same_whichever_rows_are_told() -> None:
    """All words that are found count for what is found together, also where a few of them are told, or none."""
    text = '[metrics.said]\nkind = "text"\ndescription = "It"\nepsilon = 4\n'
    collection = Collection.loads(HEAD + text)
    counters = simulate(collection.metrics["said"], ["yes", "no", "perhaps"] * 2000, np.random.default_rng(3))
    with running(collection) as started:
        started.put(collection, TODAY, {"said": counters}, batches=6000)
        with Reader(started.endpoint) as reader:
            asked: list[dict[str, Any]] = [{}, {"rows": 1}, {"series": ["found"]}]
            whole, *parts = (reader.estimates("said", last_epoch=TODAY, fakes=0.02, **each) for each in asked)
    ends = {(row["series"], row["key"]): (row["fakes_low"], row["fakes_high"]) for row in whole}
    assert len(ends) >= 4
    for part in parts:
        assert len(part) < len(whole)
        for row in part:
            assert ends[row["series"], row["key"]] == (row["fakes_low"], row["fakes_high"])
