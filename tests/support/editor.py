"""The collection that many tests ask about: an editor's, of which each takes what it needs."""

from __future__ import annotations

from deniable import Collection
from support.collection_files import head, metric
from support.site import Running

__all__ = ["BROWSER", "DARK", "HEAD", "MINUTES", "filled"]

HEAD = head("editor", 5.0, platform=["linux", "windows"])
BROWSER = metric("browser", "category", "The default browser", values=["chrome", "edge", "firefox", "safari"])
DARK = metric("dark", "boolean", "The dark theme is on")
MINUTES = metric("minutes", "number", "Minutes in the foreground", range=[0, 480], unit="minutes")


def filled(aggregator: Running, collection: Collection, last: int, days: int) -> None:
    """So many days of reports from both platforms, the last ones of that day; some numbers differ from day to day."""
    for ago in range(days):
        for segment in (0, 1):
            counters = {"browser": [340 + ago, 280, 220, 180], "dark": [450, 550 + ago]}
            counters["minutes"] = [1000, 1_153_000, 1_767_000_000, 0]
            aggregator.put(collection, last - ago, counters, segment, batches=10)
