"""Few reports are told as few: nobody is shown a number that can not be, and everybody is shown the same."""

from __future__ import annotations

import json
import math
import re
import time
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from deniable import Collection
from deniable_aggregator import Reader, estimate
from deniable_aggregator.answers import answer, ends
from deniable_aggregator.telling.few import TOO_FEW, readings
from support.asked import asked
from support.commands import told
from support.editor import BROWSER, DARK, HEAD, MINUTES
from support.site import Running, running
from support.waiting import PATIENCE

COLLECTION = Collection.loads(f"{HEAD}{BROWSER}{DARK}{MINUTES}")
TODAY = COLLECTION.epoch_at(time.time())
ONE = [
    ("boolean", "epsilon = 1", True),
    ("category", 'values = ["a", "b", "c"]\nepsilon = 1', "b"),
    ("ordinal", 'values = ["a", "b", "c"]\nepsilon = 1', "b"),
    ("number", "range = [0, 480]\nepsilon = 1", 30),
    ("number", 'range = [0, 480]\nepsilon = 1\nmechanism = "laplace"', 30),
    ("count", "max = 20\nepsilon = 1", 3),
    ("count", 'privacy_unit = "event"\nepsilon = 1', 3),
    ("distribution", "range = [0, 100]\nbuckets = 8\nepsilon = 1", 30),
    ("flags", 'flags = ["a", "b", "c"]\nepsilon = 1', ["a"]),
    ("set", 'values = ["a", "b", "c"]\nmax_items = 2\nepsilon = 1', ["a"]),
    ("tree", 'paths = ["a/x", "a/y", "b"]\nepsilon = 1', "b"),
    ("vector", 'dimensions = 2\nclip = 1\nnorm = "l1"\nepsilon = 1', [0.5, 0.5]),
]


@pytest.mark.parametrize(
    ("kind", "more", "value"), ONE, ids=[f"{kind} {more.count(chr(10))}" for kind, more, _ in ONE]
)
@pytest.mark.parametrize("reports", [1, 2, 5, 50])
def test_no_number_is_told_that_can_not_be(kind: str, more: str, value: Any, reports: int) -> None:
    """Of a single report nothing is told of any row; of some what is told lies within what is possible, and so does
    its text: no share is above 100% or below 0%."""
    metric = asked(kind, more)
    found = estimate(metric, [metric.randomize(value) for _ in range(reports)])
    read = readings(metric, found)
    for heading, row, own, (least, most) in zip(found.headings, found.rows, read, ends(metric, found).T, strict=True):
        assert own.few == (own.text == TOO_FEW), row
        assert not own.few or row.high - row.low >= 0.95 * (most - least) or math.isinf(row.high)
        assert own.value is None or least <= own.value <= most
        assert "-" not in own.text or heading.span is None or least < 0, own.text
        if reports == 1 and heading.name not in {"histogram", "curve"}:
            assert own.value is None, row


def test_what_is_told_of_enough_reports_is_told() -> None:
    """Of many reports every row: also a share that nobody has, as far as it can be."""
    metric = asked("category", 'values = ["a", "b", "c"]\nepsilon = 1')
    found = answer(metric, [np.array([5_000, 3_000, 2_000])])
    assert found.rows[2].value < 0
    assert [own.text for own in readings(metric, found)][2] == "0.00%"
    assert not any(own.few for own in readings(metric, found))


def test_without_reports_there_is_nothing_to_be_few() -> None:
    """A dash, as before."""
    metric = asked("boolean", "epsilon = 1")
    assert [(own.text, own.value, own.few) for own in readings(metric, estimate(metric, []))] == [("–", None, False)]


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_the_threshold_is_what_nobody_needs_a_report_for(confidence: float) -> None:
    """Whoever takes all that is possible for as likely says with a confidence that it lies within such a part of it:
    an interval that is no shorter tells nothing, one that is tells something."""
    metric = asked("boolean", "epsilon = 1")
    few = []
    for reports in range(1, 60):
        found = answer(metric, [np.array([reports - reports // 2, reports // 2])], confidence)
        (row,), (own,) = found.rows, readings(metric, found)
        assert own.few == (row.high - row.low >= confidence)
        few.append(own.few)
    assert few[0]
    assert not few[-1]


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """A day of a single device, which says no and means nothing; and of a metric of which a thousand have told."""
    with running(COLLECTION) as started:
        started.put(COLLECTION, TODAY, {"dark": [0, 1], "browser": [500, 250, 240, 10]})
        yield started


def body(aggregator: Running, path: str) -> str:
    """What is said over HTTP."""
    with urllib.request.urlopen(aggregator.url + path, timeout=PATIENCE) as response:
        found: bytes = response.read()
    return found.decode()


def test_the_api_has_both(aggregator: Running) -> None:
    """What is read, whether it is too few, and the number as it came out with its digits."""
    path = f"/api/v1/collections/editor/estimates?last_epoch={TODAY}"
    every = json.loads(body(aggregator, path))["estimates"]
    rows = {each["metric"]: each["series"][0]["rows"] for each in every}
    (dark,) = rows["dark"]
    assert (dark["text"], dark["tooFew"], dark["rawText"]) == ("too few to tell", True, "158.20%")
    assert dark["value"] > 1
    assert "cut" not in dark
    assert (dark["lowText"], dark["highText"]) == ("0.00%", "100.00%")
    least = rows["browser"][-1]
    assert (least["text"], least["cut"], least["tooFew"]) == ("0.00%", 0, False)
    assert least["value"] < 0
    assert least["rawText"].startswith("-")


def test_the_terminal_and_python_say_the_same_and_raw_numbers_on_request(aggregator: Running) -> None:
    """No number in place of which there is none; `--raw` has all as they came out."""
    asking: Sequence[str] = ("estimates", "--endpoint", aggregator.endpoint, "--last-epoch", str(TODAY))
    plain, raw = told(*asking).stdout, told(*asking, "--raw").stdout
    assert re.search(r"^dark: yes +too few to tell +0\.00% to 100\.00% ", plain, re.MULTILINE)
    assert re.search(r"^dark: yes +158\.20% +0\.00% to 100\.00% ", raw, re.MULTILINE)
    assert re.search(r"^browser: \S+ +0\.00% ", plain, re.MULTILINE)
    assert re.search(r"^browser: \S+ +-\d+\.\d\d% ", raw, re.MULTILINE)
    assert "-" not in "".join(re.findall(r"^browser: .*%", plain, re.MULTILINE))
    with Reader(aggregator.endpoint) as reader:
        rows = reader.estimates(last_epoch=TODAY)
    (dark,) = (row for row in rows if row["metric"] == "dark")
    assert (dark["text"], dark["too_few"], dark["cut"], dark["raw_text"]) == (TOO_FEW, True, None, "158.20%")
    assert "too few to tell" in repr(rows)


def test_a_comparison_with_few_is_told_as_few(aggregator: Running) -> None:
    """Of both sides what is read of either; no difference of what is not told."""
    aggregator.put(COLLECTION, TODAY - 1, {"dark": [400, 600]})
    with Reader(aggregator.endpoint) as reader:
        (row,) = reader.compare("dark", last_epoch=TODAY)
    assert (row["before_text"][:2], row["after_text"], row["text"], row["too_few"]) == ("71", TOO_FEW, TOO_FEW, True)


def test_prometheus_keeps_the_raw_number_and_tells_what_can_be_told(aggregator: Running) -> None:
    """What is added and alerted on is always there and never no number; what people are shown is cut, and not there
    where reports are too few."""
    lines = body(aggregator, "/metrics").splitlines()
    values = {
        name: {
            re.findall(r'key="([^"]*)"', line)[0]: float(line.rsplit(" ", 1)[1])
            for line in lines
            if line.startswith(f"{name}{{")
        }
        for name in ("deniable_estimate", "deniable_estimate_told", "deniable_estimate_lower_bound")
    }
    raw, cut = values["deniable_estimate"], values["deniable_estimate_told"]
    assert raw["yes"] > 1
    assert "yes" not in cut
    assert raw.keys() == values["deniable_estimate_lower_bound"].keys() == cut.keys() | {"yes"}
    assert min(raw.values()) < 0 <= min(cut.values())
