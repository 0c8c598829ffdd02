"""When the next flush of a lane may begin: soon where flushes are cheap here, later where they are dear.

words:
  spent  the processor time of this process's own that a flush has taken, from its first batch to its last outcome
  room   the moment from which a flush that is full may begin
  due    the moment from which any flush may begin
  late   the moment up to which a flush that is due lets others come along while every turn of the loop brings some

Flushing takes time from the calls of one loop, and what a flush costs differs by an order of magnitude between
hosts, and again between flushes of one batch and of a hundred. So the time between flushes is a multiple of what the
last one has cost here: no number of milliseconds is right everywhere. It grows with what a flush costs, which grows
less than in proportion with its batches: so there is one interval at which the two agree, and it is reached from
wherever one begins. While the store answers, the loop is free: that is no cost, but the flushes of a lane follow
each other.

How large a multiple depends on what calls leave of the loop: time that nobody else wants may go into flushes, so that
batches need not wait for each other. Where calls want all of it they get nearly all.

Every number here is a share, or a bound on how long somebody waits; none is the speed of a host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["MOST_SHARE", "Lately", "Moments", "Pace", "meant_share"]

MOST_SHARE = 1 / 2
"""The most that flushing takes of a loop: half. Whatever flushes cost, the other half is for calls."""
_LEAST_SHARE = 1 / 20
"""What flushing is meant to take of a loop that has no time left, where nobody has to wait long for it."""
_SPARE_SHARE = 1 / 8
"""What flushing is meant to take of the time that calls leave of a loop."""
_PATIENCE = 0.005
"""Seconds: so long, at the most, flushes are kept apart for the sake of those shares."""
_NEWEST = 1 / 8
"""How much the last flush counts in what flushes were like lately."""
_CROWD = 2.0
"""Where calls come without pause they wait for each other anyway, and flushes may be so many times as far apart."""


class Moments(NamedTuple):
    """When the next flush may begin, on the clock of the one before."""

    room: float
    due: float
    late: float


class Lately(NamedTuple):
    """How the last flushes were, and the loop between them."""

    spent: float
    """What each has cost."""
    busy: float
    """The share of its time that the loop's thread ran for anything else."""

    def then(self, spent: float, busy: float) -> Lately:
        """And so was the next one. Only a few calls come between two flushes: one says little."""
        return Lately(self.spent + (spent - self.spent) * _NEWEST, self.busy + (busy - self.busy) * _NEWEST)


@dataclass(frozen=True, slots=True)
class Pace:
    """How far apart the flushes of a lane are."""

    lanes: int = 1
    """How many lanes share the loop."""
    least: float = 0.0
    """Seconds from the beginning of one flush to that of the next, at the least, unless that one is full."""

    def after(self, began: float, spent: float, lately: Lately | None = None) -> Moments:
        """What follows a flush that began then, and has cost so many seconds; and how things were lately."""
        usual, busy = lately or Lately(spent, 1.0)
        room = spent * self.lanes / MOST_SHARE
        meant = usual * self.lanes / meant_share(busy)
        crowded = max(self.least, room, min(usual * self.lanes / _LEAST_SHARE, _PATIENCE))
        due = max(self.least, room, min(meant, _PATIENCE))
        return Moments(began + room, began + due, began + _CROWD * crowded)


def meant_share(busy: float) -> float:
    """What flushing is meant to take of a loop that is so busy."""
    return max(_LEAST_SHARE, _SPARE_SHARE * (1 - busy))
