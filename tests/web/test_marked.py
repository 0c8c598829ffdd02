"""Marks of fakes are told with the answer: in Python, JSON, CSV and on /metrics, and nothing where there are none."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator

import numpy as np
import pytest

from deniable import Collection
from deniable_aggregator import Reader
from deniable_aggregator.answers import RATE
from deniable_aggregator.planning.simulate import simulate
from support.editor import BROWSER, DARK, HEAD, MINUTES
from support.site import Running, got, running

COLLECTION = Collection.loads(f'{HEAD}{BROWSER}{DARK}{MINUTES}mechanism = "laplace"')
TODAY = 20_000
WORDS = "shares beyond all that are possible"


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """Two days, of which the first has a thousand reports that say what nobody could say by chance."""
    generator, minutes = np.random.default_rng(5), COLLECTION.metrics["minutes"]
    with running(COLLECTION) as started:
        for ago in (1, 0):
            dark = np.array([1900, 100] if ago else [1000, 1000])
            counters = {"dark": [dark], "minutes": simulate(minutes, [30] * 2000, generator)}
            started.put(COLLECTION, TODAY - ago, counters, batches=2000)
        yield started


def test_an_answer_says_which_epoch_is_suspicious(aggregator: Running) -> None:
    """With the chance of an honest one, and as a note of each row."""
    room = "/api/v1/collections/editor/estimates"
    (one,) = json.loads(got(aggregator, f"{room}/dark?last_epoch={TODAY}&last=2"))["estimate"]["suspicions"]
    assert (one["epoch"], one["text"], one["what"]) == (TODAY - 1, "2024-10-03", WORDS)
    assert 0 <= one["chance"] < RATE
    (line,) = csv.DictReader(io.StringIO(got(aggregator, f"{room}/dark.csv?last_epoch={TODAY - 1}")))
    assert line["note"] == f"2024-10-03 is suspicious: {WORDS}"
    with Reader(aggregator.endpoint) as reader:
        assert {row["note"] for row in reader.estimates(last_epoch=TODAY)} == {""}
        assert [WORDS in row["note"] for row in reader.epochs("dark", last_epoch=TODAY, last=2)] == [True, False]


def test_metrics_count_marks_of_the_newest_epoch(aggregator: Running) -> None:
    """A gauge of each metric, also where there is none: an alert sees it rise."""
    now = COLLECTION.epoch_at(time.time())
    aggregator.put(COLLECTION, now, {"dark": [np.array([1000, 1000])]}, batches=2000)
    told = got(aggregator, "/metrics")
    assert 'deniable_reports{collection="editor",metric="dark"} 2000.0' in told
    assert 'deniable_suspicions{collection="editor",metric="dark"} 0.0' in told
    assert 'deniable_suspicions{collection="editor",metric="minutes"} 0.0' in told
    aggregator.put(COLLECTION, now, {"dark": [np.array([20_000, 0])]}, batches=2000)
    assert 'deniable_suspicions{collection="editor",metric="dark"} 1.0' in got(aggregator, "/metrics")
