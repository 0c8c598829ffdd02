"""Which lines of the lectures are shown by tests that the house has anyway."""

from __future__ import annotations

__all__ = ["SHOWN"]

SHOWN: dict[str, str] = {}
"""Each id, and the test that shows it."""
