"""An application with a client: its collection, its clock, and the client of a device."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from deniable import Client, Collection, Consent, Settings
from support.collection_files import head, metric

__all__ = ["COLLECTION", "HOUR", "Clock", "client"]

HOUR = 3600
TEXT = (
    head("client", 5, epoch="1h", platform=["linux", "macos"])
    + metric("dark", "boolean")
    + metric("minutes", "count", max=100000)
    + metric("until", "boolean", expires=date(1970, 1, 2))
)
COLLECTION = Collection.loads(TEXT)
FAST = Settings(write_behind=0.01, leeway=0.0, deadline=5.0)


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = 100.5 * HOUR) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time that it shows."""
        return self.now


def client(path: Path | None = None, settings: Settings = FAST, **options: Any) -> Client:
    """A client of a device in its segment."""
    given: dict[str, Any] = {"consent": Consent.GRANTED, "segment": {"platform": "macos"}, "strict": True} | options
    return Client(COLLECTION, state=path, settings=settings, **given)
