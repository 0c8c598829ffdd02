"""The service that turns randomised reports into population estimates with intervals."""

from __future__ import annotations

from deniable_aggregator.answers import Estimate, Row, Target
from deniable_aggregator.offline import estimate
from deniable_aggregator.remote import Reader, RemoteError
from deniable_aggregator.tables import Table

__all__ = ["Estimate", "Reader", "RemoteError", "Row", "Table", "Target", "estimate"]
