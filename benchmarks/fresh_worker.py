"""A worker that takes every batch as a new one: the load sends the same bytes again and again."""

from __future__ import annotations

from benchmarks.ingest_servers import take_as_new
from deniable_aggregator import workers

__all__: list[str] = []

if __name__ == "__main__":
    take_as_new()
    workers.be(workers._server)  # noqa: SLF001 - what a worker is, but for its batches
