"""A reader who polls in a quiet hour: what the difference of two answers tells, and what it does not."""

from __future__ import annotations

import math
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray

from deniable import Collection
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable.v1.report_service_pb2_grpc import ReportServiceStub
from deniable_aggregator import Reader
from deniable_aggregator.estimators import frequencies
from support.aggregator_server import request
from support.editor import DARK, HEAD
from support.site import Running, running
from support.waiting import PATIENCE

COLLECTION = Collection.loads(
    f"""
{HEAD}[metrics.browser]
kind = "category"
description = "The default browser"
values = ["chrome", "edge", "firefox"]
epsilon = 1.0
mechanism = "randomized_response"
{DARK}"""
)


def _nothing(counters: int) -> NDArray[np.int64]:
    return np.zeros(counters, dtype=np.int64)


def supports(reader: Reader, metric: str, epoch: int) -> dict[str, float]:
    """How many reports say what, from an answer alone."""
    column = COLLECTION.metrics[metric].columns[0]
    found = frequencies(column.mechanism, _nothing(column.shape.counters))
    rows = reader.estimates(metric, last_epoch=epoch)
    return {
        row["key"]: row["reports"] * (found.q + row["value"] * (found.p - found.q)) if row["reports"] else 0.0
        for row in rows
    }


def sent(aggregator: Running, batch: SubmitReportsRequest) -> None:
    """Be a device that reports."""
    with grpc.insecure_channel(aggregator.endpoint) as channel:
        ReportServiceStub(channel).SubmitReports(batch, timeout=PATIENCE)


def test_counters_tell_what_estimates_tell_and_no_more() -> None:
    """Who may ask for raw counters learns nothing that could not be computed back from estimates, to the last report;
    of the segment and the epoch that were asked for, as estimates are."""
    with running(COLLECTION) as aggregator, Reader(aggregator.endpoint) as reader:
        epoch = aggregator.server.calendar.accepted(aggregator.server.layouts[0])[-1] - 1
        about: dict[str, Any] = {"epoch": epoch, "collection_digest": COLLECTION.digest}
        for segment, said in ((0, (0, 1)), (0, (2, 0)), (1, (2, 1))):
            sent(aggregator, request((0, said[0]), (1, said[1]), segment=segment, **about))
        told = {name: supports(reader, name, epoch) for name in ("browser", "dark")}
        counted = {
            name: [row["count"] for row in reader.counters(name, last_epoch=epoch)] for name in ("browser", "dark")
        }
        linux = reader.counters("browser", last_epoch=epoch, segment={"platform": "linux"})
    assert [round(each, 6) for each in told["browser"].values()] == counted["browser"] == [1, 0, 2]
    assert round(told["dark"]["yes"], 6) == counted["dark"][1] == 2
    assert [row["count"] for row in linux] == [1, 0, 1]


def test_a_reader_who_polls_sees_randomised_reports_and_nothing_else() -> None:
    """The difference of two answers is what one batch says, as its device has randomised it: which docs/privacy.md
    tells. It is no more than everybody on the line could have seen, and whatever the device's answer is, no report is
    more than e^epsilon times likelier than under another answer."""
    with running(COLLECTION) as aggregator:
        epoch = aggregator.server.calendar.accepted(aggregator.server.layouts[0])[-1] - 1
        about: dict[str, Any] = {"epoch": epoch, "collection_digest": COLLECTION.digest}
        with Reader(aggregator.endpoint) as reader:
            sent(aggregator, request((0, 0), (1, 1), segment=0, **about))
            before = {name: supports(reader, name, epoch) for name in ("browser", "dark")}
            sent(aggregator, request((0, 2), (1, 0), segment=1, **about))
            after = {name: supports(reader, name, epoch) for name in ("browser", "dark")}
    told = {
        name: {label: round(after[name][label] - before[name][label], 6) for label in after[name]} for name in after
    }
    assert told == {"browser": {"chrome": 0, "edge": 0, "firefox": 1}, "dark": {"yes": 0}}
    for metric in COLLECTION.metrics.values():
        column = metric.columns[0]
        found = frequencies(column.mechanism, _nothing(column.shape.counters))
        assert found.p / found.q <= math.exp(float(metric.epsilon)) * (1 + 1e-12)
