"""Benchmarks send one body again and again: what is measured is counting it, and not knowing it again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from benchmarks import codewords_servers, ingest_servers

from deniable import Collection
from deniable.v1.report_service_pb2 import OtherBatch, SubmitReportsRequest
from deniable_aggregator.ingest import ReportService
from deniable_aggregator.ingest.admission import Calendar
from deniable_aggregator.serving import server as servers
from support.aggregator_server import serving


@pytest.mark.parametrize(
    ("service", "collection", "body"),
    [
        (ingest_servers._FreshReportService, ingest_servers.COLLECTION, ingest_servers.batch(20)),
        (codewords_servers._FreshReportService, codewords_servers._COLLECTION, codewords_servers.made(True, True)),
    ],
    ids=["ingest", "codewords"],
)
def test_every_call_of_one_body_is_a_new_batch(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    service: type[ReportService],
    collection: Collection,
    body: SubmitReportsRequest,
) -> None:
    """In calls and in streams: all are counted, and an acknowledgement has nothing to say."""
    monkeypatch.setattr(servers, "ReportService", service)

    async def sent() -> None:
        own = servers.layout_of(collection)
        async with serving(tmp_path / "data", own, calendar=Calendar()) as (server, client):
            assert [await client.send(body.SerializeToString()) for _ in range(2)] == [b"", b""]
            assert await client.forward([body] * 3, 3) == [OtherBatch()] * 3
            assert server.stats.accepted == 5

    asyncio.run(sent())
