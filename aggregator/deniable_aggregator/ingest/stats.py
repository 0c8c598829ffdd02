"""What has happened at ingest since this process began, as plain numbers for whoever shows them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from deniable_aggregator.ingest.refusal import Refusal

__all__ = ["IngestStats"]


@dataclass(slots=True)
class IngestStats:
    """Counts of batches, and of what was done for them."""

    accepted: int = 0
    """Batches that were stored."""
    reports: int = 0
    """Reports of the batches that were stored."""
    duplicate: int = 0
    """Batches that had been stored before."""
    refused: Counter[str] = field(default_factory=Counter)
    """Batches that were refused, by reason."""
    flushes: int = 0
    """Times that waiting batches were stored together."""
    store_errors: Counter[str] = field(default_factory=Counter)
    """Flushes that the store did not take, by kind of error."""
    waiting: int = 0
    """Batches that wait now."""

    def refuse(self, refusal: Refusal) -> None:
        """Count a refused batch."""
        self.refused[refusal.reason] += 1
