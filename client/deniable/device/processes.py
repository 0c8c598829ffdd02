"""What happens to the clients of a process when it forks, and when it ends.

words:
  client   one of those that are not closed
  fork     no client may be at work during one: its lock would stay held, and its files and gRPC's threads be shared
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from typing import Protocol

from deniable.wire import gate

__all__ = ["close_with_multiprocessing", "look_after", "release"]


class _Client(Protocol):
    """What a client does then."""

    def close(self) -> None: ...
    def _before_fork(self) -> None: ...
    def _after_fork_in_parent(self) -> None: ...
    def _after_fork_in_child(self) -> None: ...


_clients: weakref.WeakSet[_Client] = weakref.WeakSet()
_forking: list[_Client] = []
_fork = threading.Lock()
"""Held by the thread that forks: two could fork at the same time."""


def look_after(client: _Client) -> None:
    """Tell a client of forks, and close it when the process ends."""
    _clients.add(client)


def release(client: _Client) -> None:
    """Forget a client that is closed."""
    _clients.discard(client)


def close_with_multiprocessing() -> None:
    """A forked process of multiprocessing ends without atexit, but runs its own finalizers."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, _close_all, exitpriority=0)


def _close_all() -> None:
    for client in list(_clients):
        client.close()


def _before_fork() -> None:
    _fork.acquire()
    gate.before_fork()
    _forking[:] = _clients
    for client in _forking:
        client._before_fork()  # noqa: SLF001


def _after_fork_in_parent() -> None:
    for client in _forking:
        client._after_fork_in_parent()  # noqa: SLF001
    _forking.clear()
    gate.after_fork_in_parent()
    _fork.release()


def _after_fork_in_child() -> None:
    global _fork  # noqa: PLW0603
    _fork = threading.Lock()
    for client in _forking:
        client._after_fork_in_child()  # noqa: SLF001
    _forking.clear()
    gate.after_fork_in_child()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
