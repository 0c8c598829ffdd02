"""A server whose collection has a vector by codewords: python -m benchmarks.codewords_servers DIRECTORY

The aggregator with one worker, on an embedded store that syncs every change to disk. Its collection is that of
`ingest_servers.py`, and a vector of 1,024 entries. h2load repeats one body, so every batch gets an id of its own here
and one of a thousand contents: of as many reports as it came with.
"""

from __future__ import annotations

import itertools
import os
import secrets
import sys
from pathlib import Path
from typing import Any

from benchmarks.ingest_servers import COLLECTION_TEXT, METRICS, batch, nothing, say
from deniable import Collection
from deniable.payload import PAYLOAD_BITS, Codeword
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.ingest import ReportService
from deniable_aggregator.serving import server
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.supervisor import Program, Supervisor, serve

__all__ = ["OTHERS", "VECTOR", "made"]

VECTOR = """
[metrics.v]
description = "A vector"
kind = "vector"
dimensions = 1024
clip = 1
norm = "l2"
epsilon = 1.0
"""
OTHERS = 20
"""Reports of a batch besides."""
_TEXT = COLLECTION_TEXT.replace(f"epoch = {METRICS}.0", f"epoch = {METRICS + 1}.0") + VECTOR
_COLLECTION = Collection.loads(_TEXT)
_CONTENTS = 1000


def made(vector: bool, others: bool) -> SubmitReportsRequest:
    """A batch with a vector, with others, or with both. Every seed and number is as likely as every other one, so
    that no device is needed to draw them."""
    request = batch(OTHERS)
    rows = request.rows if others else b""
    if vector:
        (column,) = _COLLECTION.metrics["v"].columns
        assert isinstance(column.shape, Codeword)
        payload = secrets.randbelow(column.shape.seeds * column.shape.codewords)
        rows += (column.number << PAYLOAD_BITS | payload).to_bytes(8, "little")
    request.collection_digest, request.rows = _COLLECTION.digest, rows
    return request


class _FreshReportService(ReportService):
    """The service, for batches that are all new."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._prefix, self._number = os.urandom(8), itertools.count()
        self._batches: dict[int, Any] = {}
        for kind in ((True, False), (False, True), (True, True)):
            own = [made(*kind) for _ in range(_CONTENTS)]
            self._batches[len(own[0].rows)] = itertools.cycle(own)

    def admit(self, request: SubmitReportsRequest) -> Any:
        """Let a new batch in."""
        fresh: SubmitReportsRequest = next(self._batches[len(request.rows)])
        fresh.batch_id = self._prefix + next(self._number).to_bytes(8, "big")
        return super().admit(fresh)


def main() -> None:
    """Serve."""
    directory = Path(sys.argv[1])
    directory.mkdir()
    file = directory / "metrics.toml"
    file.write_text(_TEXT)
    replaced: Any = server
    replaced.ReportService = _FreshReportService  # workers are forked from this process
    settings = server.Settings(listen="127.0.0.1:0", data_dir=directory / "data")
    supervisor = Supervisor(Program(settings, Sources((file,)), nothing), 1)
    serve(supervisor, lambda: say(supervisor.port))


if __name__ == "__main__":
    main()
