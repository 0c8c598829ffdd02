"""Conduct: connections whose calls take time and bring nothing are closed while such calls are too many.

words:
  mark    a call that has brought nothing that could be a batch: malformed, given up before its message, or of another
          method, answered or not
  offence a mark that no device's call leaves: it was malformed, or without a message
  merit   a batch that a call has brought, and that is stored
  spell   the short time over which both are counted; then all are forgotten. It does not go on while the process
          wants to run and others do: what a tenth of the time is spent on is the same for a process that has a tenth
          of a processor, and there a flood is of ten times fewer calls
  credit  bytes that have come to something: those of a message that was handed over, whatever it was, with what goes
          along with a message, and more for a merit. Who sends much more than that sends what no call is made of
          (`serving/connections.py`)

A device has a connection of its own, and makes one call. Somebody who floods sends hundreds over a connection, and
each has its turn before a device's call that came later. While marks are few, nobody is closed for them, whatever
they do; while they are many, a connection that has more of them than a device ever will is closed: at its third mark,
or at its first offence if it has brought no batch. That ends all of its calls at once, also those that still wait in
gRPC and could only be ended one by one; those that come to light before it is gone are let go unread.

But behind a proxy one connection has the calls of many devices, and somebody who floods can be among them. One that
brings more batches than marks is not closed: who wants to be spared has to send batches, and these cost the same
with marks or without.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping

from deniable_aggregator.serving.processors import waited

__all__ = ["Conduct"]

_SPELL_SECONDS = 0.25
_LEAST_SECONDS, _LONGEST_SECONDS = 0.02, 10 * _SPELL_SECONDS
"""Until it is looked again whether a spell has ended; and how long one lasts at the most, by anybody's clock."""
_MANY = 100
"""Marks of a process in a spell: above that a tenth of what it can do is spent on them."""
_FEW = 2
"""Marks of a connection in a spell, of those that are kept while there are many."""

_ALONG = 8192
"""Bytes that go along with a message, at the most: headers are no longer than that."""
_MERIT = 1 << 16
"""Credit of a merit: where messages of one are withheld, a proxy brings the batches of others."""


class Conduct:
    """Of the connections of one process."""

    def __init__(
        self,
        close: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        kept: Callable[[], float] = waited,
    ) -> None:
        self._close = close
        self._clock = clock
        self._kept = kept
        """For how long this process has been kept from running."""
        self._began, self._kept_before = clock(), kept()
        self._ends = self._began + _SPELL_SECONDS
        self._marks: Counter[str] = Counter()
        self._merits: Counter[str] = Counter()
        self._credits: Counter[str] = Counter()
        self._all = 0
        self._closed: set[str] = set()
        """Those that were told so in this spell: calls of theirs may still come to light."""

    def mark(self, peer: str, *, offence: bool = False) -> None:
        """A call of this connection has brought nothing; closes it when that is too often."""
        self._look()
        self._all += 1
        self._marks[peer] += 1
        merits = self._merits[peer]
        if self._all > _MANY and (self._marks[peer] > _FEW + merits or (offence and not merits)):
            self.close(peer)

    def closed(self, peer: str) -> bool:
        """Whether a connection is being closed: nobody hears what its calls are answered."""
        return peer in self._closed

    def merit(self, peer: str) -> None:
        """A call of this connection has brought a batch that is stored."""
        self._look()
        self._merits[peer] += 1
        self._credits[peer] += _MERIT

    def handed(self, peer: str, message: object) -> None:
        """A message of this connection has come wholly."""
        self._credits[peer] += _ALONG + (len(message) if isinstance(message, bytes) else 0)

    def take_credits(self) -> Mapping[str, int]:
        """The credit of each connection since this was asked before."""
        taken, self._credits = self._credits, Counter()
        return taken

    def _look(self) -> None:
        """Forget everything at the end of a spell."""
        now = self._clock()
        if now < self._ends:
            return
        kept = self._kept()
        own = now - self._began - (kept - self._kept_before)
        if own < _SPELL_SECONDS and now - self._began < _LONGEST_SECONDS:
            self._ends = now + max(_SPELL_SECONDS - own, _LEAST_SECONDS)
            return
        self._began, self._kept_before, self._ends, self._all = now, kept, now + _SPELL_SECONDS, 0
        self._marks.clear()
        self._merits.clear()
        self._closed.clear()

    def close(self, peer: str) -> None:
        """Close a connection, if that has not been asked for already."""
        if peer not in self._closed:
            self._closed.add(peer)
            self._close(peer)
