"""How a process runs: work on the fastest loop there is, until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable

from deniable_aggregator.serving.server import fastest_loop

__all__ = ["run", "until_told"]


def run(work: Awaitable[None]) -> None:
    """Do it in a loop of its own, and return when it is done."""

    async def all_of_it() -> None:
        await work

    with asyncio.Runner(loop_factory=fastest_loop()) as runner:
        runner.run(all_of_it())


async def until_told(events: dict[signal.Signals, Callable[[], None]]) -> None:
    """Wait for SIGTERM or SIGINT, and do what belongs to other signals."""
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    for number, action in events.items():
        loop.add_signal_handler(number, action)
    await end.wait()
