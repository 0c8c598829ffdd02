"""The aggregator says what the vectors say: it reads their batches, and makes their estimates of their counters."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tools.porting import ROOT, near
from tools.porting_answers import dense, rows

from deniable import Collection, Report
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.analysis.offline import accumulate, added
from deniable_aggregator.answers import Target

LOADED = {
    own["name"]: Collection.load(ROOT / own["file"])
    for own in json.loads((ROOT / "collections.json").read_text("utf-8"))["collections"]
}
ANSWERS = json.loads((ROOT / "answers.json").read_text("utf-8"))


def test_batches_are_read_as_what_they_say() -> None:
    """By protobuf itself; and each metric's rows add up to what its reports do."""
    for own in json.loads((ROOT / "batches.json").read_text("utf-8"))["cases"]:
        collection = LOADED[own["collection"]]
        request = SubmitReportsRequest.FromString(bytes.fromhex(own["request"]))
        assert request.batch_id.hex() == own["batch_id"]
        assert f"{request.collection_digest:016x}" == own["digest"]
        assert (request.epoch, request.segment, request.rows.hex()) == (
            own["epoch"], own["segment_index"], own["rows"]
        )  # fmt: skip
        assert [[row.column, row.payload.hex()] for row in request.wide_rows] == own["wide_rows"]
        assert request.SerializeToString(deterministic=True).hex() == own["request"]
        reports = [Report(number, int(payload, 16)) for number, payload in own["reports"]]
        (name, *others) = {collection.columns[report.column].metric for report in reports}
        metric = collection.metrics[name]
        if not others and not metric.columns[0].number:
            wide = [(row.column, row.payload) for row in request.wide_rows]
            counted = zip(added(metric, request.rows, wide), accumulate(metric, reports), strict=True)
            assert all((one == other).all() for one, other in counted)


@pytest.mark.parametrize("name", {case["metric"]: None for case in ANSWERS["cases"]})
def test_counters_become_these_estimates(name: str) -> None:
    """Every row's value, interval and standard error, as near as the file says."""
    for case in ANSWERS["cases"]:
        if case["metric"] == name:
            metric = LOADED[case["collection"]].metrics[name]
            columns = zip(case["counters"], metric.columns, strict=True)
            counters = [dense(counted, column.shape.counters) for counted, column in columns]
            about: dict[str, Any] = {"confidence": case["confidence"], "target": Target(case["target"])}
            told = rows(metric, counters, **about, simultaneous=case["simultaneous"])
            assert near(case["rows"], told, ANSWERS["tolerance"])
