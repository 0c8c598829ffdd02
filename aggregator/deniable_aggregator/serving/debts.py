"""Debts: what connections have sent of which no message came. Whoever sends much of that is closed.

words:
  received  the bytes that have come over a connection, as Linux counts them, read by gRPC or not
  credit    the bytes that have come to something (`conduct.py`)
  debt      what was received and not credited, as far as it has not been forgiven: it is, with time

A ping is 17 bytes long and takes 7 us of a processor's time (measured). gRPC decides to close a connection that pings
too often, but it waits for what it has to write, and reads on meanwhile: a million pings were read to the end, and
devices waited for seconds. The same goes for whatever else fills a line and is no call: settings, headers beyond what
is allowed, messages that are withheld. No call of ours hears of it. The system does.

Who keeps to HTTP/2 has little on the way at a time: a connection's window, so much of each call until its message
is asked for, and then that message. So no device, gateway or proxy is closed for its debt, however slow the loop is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

__all__ = ["Debts"]

_BORNE = 4 << 16
"""Bytes of debt that are borne: 4,096 of each of 32 calls were let come, a window of 65,536, and headers."""
_FORGIVEN = 1 << 17
"""Bytes of debt that are forgiven a second."""


class Debts:
    """Of the connections of one process, while it is looked at them."""

    def __init__(self) -> None:
        self._received: dict[str, int] | None = None
        self._owed: dict[str, float] = {}

    def forget(self) -> None:
        """Nobody looks any more."""
        self._received, self._owed = None, {}

    def look(
        self,
        received: Iterable[tuple[str, int]],
        credit: Mapping[str, int],
        seconds: float,
        on_way: Callable[[str], int] = lambda _: 0,
    ) -> set[str]:
        """Who owes more than is borne, when it was last looked so many seconds ago; messages that were asked for and
        are on their way may have had so many bytes."""
        before, self._received = self._received, dict(received)
        if before is None:
            return set()
        owed = {}
        for peer, now in self._received.items():
            came = now - before.get(peer, 0)
            debt = self._owed.get(peer, 0.0) + came - credit.get(peer, 0) - _FORGIVEN * seconds
            if debt > 0:
                owed[peer] = debt
        self._owed = owed
        return {peer for peer, debt in owed.items() if debt > _BORNE + on_way(peer)}
