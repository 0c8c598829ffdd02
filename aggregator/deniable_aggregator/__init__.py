"""The service that turns randomised reports into population estimates with intervals."""

from __future__ import annotations

from deniable_aggregator.answers import Estimate, Row, Target
from deniable_aggregator.offline import estimate

__all__ = ["Estimate", "Row", "Target", "estimate"]
