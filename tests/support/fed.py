"""A collection with a metric that is fed: a theme, a browser, and both together."""

from __future__ import annotations

from deniable import Collection
from support.collection_files import head, metric

__all__ = ["BOTH", "BROWSER", "COUNT", "DARK", "HEAD", "OF", "TEXT", "VALUES", "asked"]

HEAD = head("fed", 40, epoch="1h")
DARK = metric("dark", "boolean", "The dark theme is on", reduce="any")
BROWSER = metric("browser", "category", "The browser", epsilon=2, values=["a", "b", "c"])
BOTH = metric("both", "pair", "The browser and the theme", epsilon=30, of=["browser", "dark"])
COUNT = metric("count", "count", max=9)
OF = 'of = ["browser", "dark"]'
TEXT = HEAD + DARK + BROWSER + BOTH
VALUES = {"dark": True, "browser": "c"}


def asked(text: str = TEXT) -> Collection:
    """The collection, while its kinds are there."""
    return Collection.loads(text)
