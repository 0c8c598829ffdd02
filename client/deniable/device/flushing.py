"""Flushes, as they are judged: a flush is true where all is stored that was recorded since the one before.

words:
  offered   something was given to `record`, and not taken: without consent, of a metric that has expired
  counted   the health counts, as the last flush has found them; what has come to be missing since then is in them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from deniable.device.keeping import PATIENCE, Keeper
from deniable.device.outlook import missing
from deniable.device.state import State, health

__all__ = ["Flushes", "Verdict"]


class Verdict(NamedTuple):
    """What is to be said of a flush."""

    stored: bool
    """Whether nothing is missing."""
    refused: list[str]
    """Which metrics were not answered, and why."""
    missing: list[str]
    """What else is missing, by the words of the health counts, or why it may be."""


class Flushes:
    """What the flushes of one client know of each other."""

    def __init__(self, state: State, keeper: Keeper) -> None:
        self._state = state
        self._keeper = keeper
        self._counted: Mapping[str, int] | None = None  # None where nobody could look
        self.offered = False
        """Whether something was recorded since the last flush, and not taken."""

    def look(self) -> None:
        """Find out what had happened before the first flush."""
        self._counted = self._state.run(health, PATIENCE)

    def judge(self, upload: Callable[[], bool]) -> Verdict:
        """Upload what waits, and find out what is missing."""
        before = self._state.run(health, PATIENCE) if self._counted is None else self._counted
        done = upload()
        self._counted = self._keeper.counts(self._state.run(health, PATIENCE))
        lost = missing(before, self._counted)
        refused, self._keeper.refused = self._keeper.refused, {}
        offered, self.offered = self.offered, False
        otherwise = lost or ["a metric has expired" if done else "it waits"]
        whole = done and not (lost or offered or refused)
        return Verdict(whole, [": ".join(each) for each in refused.items()], otherwise)
