"""A debug view in a thread of this process, and an account's place for it that no other test has."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deniable_aggregator.web import DebugView
from support.waiting import PATIENCE

__all__ = ["at_home", "viewing"]


@contextlib.contextmanager
def at_home() -> Iterator[Path]:
    """An account whose state is in a new directory, with a short name: those of sockets are."""
    with tempfile.TemporaryDirectory(prefix="home-") as directory, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", directory)
        yield Path(directory)


@contextlib.contextmanager
def viewing() -> Iterator[DebugView]:
    """A debug view that listens at the place of the account."""
    view, begun = DebugView(), threading.Event()
    ends: list[Callable[[], object]] = []

    async def listen() -> None:
        loop, ending = asyncio.get_running_loop(), asyncio.Event()
        ends.append(lambda: loop.call_soon_threadsafe(ending.set))
        async with view.listening():
            begun.set()
            await ending.wait()

    thread = threading.Thread(target=lambda: asyncio.run(listen()), daemon=True)
    thread.start()
    assert begun.wait(PATIENCE)
    try:
        yield view
    finally:
        ends[0]()
        thread.join()
