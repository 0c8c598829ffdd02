"""What people look at: the page, the same answers as JSON and CSV, and /metrics."""

from __future__ import annotations

from deniable_aggregator.web.debug import DebugView
from deniable_aggregator.web.site import Site

__all__ = ["DebugView", "Site"]
