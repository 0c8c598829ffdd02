"""A crowd of connections that come and go: python -m benchmarks.soak_crowd PORT CONNECTIONS SECONDS

Some say nothing, some begin as HTTP/2 does, some ping. Each stays for some seconds, and another one comes in its
place.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import resource
import sys
import time

from benchmarks.hostile_wire import PREFACE, frame

__all__ = ["main"]

_STAY_SECONDS = 10.0
_PING = frame(6, 0, 0, bytes(8))
_WORDS = (b"", PREFACE, PREFACE + _PING)


async def _come_and_go(port: int, end: float) -> int:
    """One place in the crowd; how many have had it."""
    came = 0
    await asyncio.sleep(random.uniform(0.0, 2.0))
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            came += 1
            writer.write(random.choice(_WORDS))
            await asyncio.sleep(min(random.expovariate(1 / _STAY_SECONDS), max(end - time.monotonic(), 0.0)))
            writer.close()
        await asyncio.sleep(0.01)
    return came


async def _crowd(port: int, connections: int, seconds: float) -> int:
    end = time.monotonic() + seconds
    return sum(await asyncio.gather(*(_come_and_go(port, end) for _ in range(connections))))


def main() -> None:
    """Be the crowd, and print how many came."""
    port, connections, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(asyncio.run(_crowd(port, connections, seconds)))


if __name__ == "__main__":
    main()
