"""Takes batches in: check, accumulate, store, acknowledge."""

from __future__ import annotations

from deniable_aggregator.ingest.admission import Admission, Calendar
from deniable_aggregator.ingest.batcher import Batcher, FlushSettings
from deniable_aggregator.ingest.layout import Layout
from deniable_aggregator.ingest.service import NAME, ReportService
from deniable_aggregator.ingest.stats import Board, Histogram, IngestStats

__all__ = [
    "NAME",
    "Admission",
    "Batcher",
    "Board",
    "Calendar",
    "FlushSettings",
    "Histogram",
    "IngestStats",
    "Layout",
    "ReportService",
]
