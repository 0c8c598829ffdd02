"""What a quantity is counted in reads the same everywhere, and is never what its privacy hides."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import pytest

from deniable import Collection
from deniable_aggregator import Reader
from deniable_aggregator.telling.terminal import estimates
from support.site import Running, got, running

TODAY = 20_000
COLLECTION = Collection.loads(
    """
[collection]
name = "units"
epoch = "1d"
owner = "a"
[budget]
epoch = 3
[metrics.named]
kind = "count"
description = "Crashes of the day"
unit = "crashes"
max = 50
mechanism = "geometric"
epsilon = 1
[metrics.plain]
kind = "count"
description = "Commands of the day"
max = 50
mechanism = "geometric"
epsilon = 1
[metrics.hidden]
kind = "count"
description = "Errors of the day"
privacy_unit = "event"
unit = "errors"
max = 50
epsilon = 1
"""
)
UNITS = {"named": "crashes", "plain": "", "hidden": "errors"}


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """A day of counts."""
    with running(COLLECTION) as started:
        counters = {name: [1000, 107_920, 16_320_836, 0] for name in UNITS} | {"hidden": [1000, 12_916, 193_500, 0]}
        started.put(COLLECTION, TODAY, counters, batches=10)
        yield started


def test_json_and_csv_name_what_is_counted(aggregator: Running) -> None:
    """The unit of the file; none where the file names none."""
    room, query = "/api/v1/collections/units/estimates", f"?last_epoch={TODAY}"
    told = json.loads(got(aggregator, room + query))["estimates"]
    assert {each["metric"]: each["series"][0]["heading"]["unit"] for each in told} == UNITS
    rows = list(csv.DictReader(io.StringIO(got(aggregator, f"{room}.csv{query}"))))
    assert {row["metric"]: row["unit"] for row in rows} == UNITS
    listed = json.loads(got(aggregator, "/api/v1/collections"))["collections"][0]["metrics"]
    assert {each["name"]: each.get("unit", "") for each in listed} == UNITS


def test_prometheus_names_what_is_counted(aggregator: Running) -> None:
    """As a label of what is asked."""
    told = got(aggregator, "/metrics")
    for name, unit in UNITS.items():
        (line,) = (
            line for line in told.splitlines() if line.startswith("deniable_metric_info") and f'"{name}"' in line
        )
        assert f'unit="{unit}"' in line


def test_the_terminal_and_python_name_what_is_counted(aggregator: Running) -> None:
    """Behind every number."""
    with Reader(aggregator.endpoint) as reader:
        found = reader.estimates(last_epoch=TODAY)
    for line in [*estimates(found).splitlines(), *repr(found).splitlines()]:
        for name, unit in UNITS.items():
            if line.startswith(name):
                assert unit in line or "too few to tell" in line
                assert "epoch" not in line
                assert "event" not in line
