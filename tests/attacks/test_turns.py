"""Readers who ask without end: who else asks has a turn, and little waits."""

from __future__ import annotations

import asyncio

import pytest

from deniable_aggregator.analysis.prices import MOST
from deniable_aggregator.analysis.turns import BusyError, Turns


class Asking:
    """Questions that are held as long as a test wants, and the order in which they had their turns."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.begun: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._ends: dict[str, asyncio.Event] = {}

    async def ask(self, asker: str, name: str, price: int) -> None:
        """Ask, and do not wait for a turn."""
        self._ends[name] = asyncio.Event()

        async def question() -> None:
            async with self.turns.question(asker, price):
                self.begun.append(name)
                await self._ends[name].wait()

        self._tasks.append(asyncio.create_task(question()))
        await asyncio.sleep(0)

    async def end(self, name: str) -> None:
        """Have been answered."""
        self._ends[name].set()
        for _ in range(5):
            await asyncio.sleep(0)

    async def close(self) -> None:
        """End all."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert not self.turns._waiting
        assert not self.turns._running
        assert not self.turns._charged


def test_who_asks_for_much_waits_for_who_asks_for_little() -> None:
    """Of one asker two questions are answered at a time; of those that wait, cheap ones of others come first."""

    async def run() -> None:
        asking = Asking()
        for number in range(8):
            await asking.ask("mallory", f"much {number}", MOST)
        assert asking.begun == ["much 0", "much 1"]
        await asking.ask("alice", "little", 1000)
        assert asking.begun == ["much 0", "much 1", "little"]
        await asking.ask("bob", "some", MOST // 2)
        await asking.ask("carol", "more", MOST // 3)
        await asking.ask("carol", "little too", 1000)
        assert asking.begun[3:] == ["some"]
        await asking.end("much 0")
        assert asking.begun[4:] == ["more"]
        await asking.end("little")
        assert asking.begun[5:] == ["little too"]
        for name in ("some", "more", "little too", "much 1"):
            await asking.end(name)
        assert asking.begun[6:] == ["much 2", "much 3"]
        await asking.close()

    asyncio.run(run())


def test_who_asks_for_much_has_a_turn_at_last() -> None:
    """Cheap questions without end do not keep a dear one waiting for ever: those of an asker are charged to it."""

    async def run() -> None:
        asking = Asking()
        for number in range(4):
            await asking.ask(f"busy {number % 2}", f"first {number}", 1000)
        await asking.ask("alice", "much", 50_000)
        for number in range(1000):
            await asking.ask(f"busy {number % 2}", f"again {number}", 1000)
            await asking.end(asking.begun[number])
            if "much" in asking.begun:
                break
        assert "much" in asking.begun
        await asking.close()

    asyncio.run(run())


def test_few_questions_wait_and_of_one_asker_very_few() -> None:
    """What is more is refused at once, and leaves nothing behind; others are still heard."""

    async def run() -> None:
        asking = Asking()
        for asker in range(12):
            for number in range(12):
                await asking.ask(f"asker {asker}", f"{asker} {number}", 1000)
        assert len(asking.begun) == 4
        assert len(asking.turns._waiting) == 64
        with pytest.raises(BusyError, match="64 questions wait already"):
            async with asking.turns.question("alice", 1):
                pass
        await asking.close()
        asking = Asking()
        for number in range(100):
            await asking.ask("mallory", f"much {number}", MOST)
        assert len(asking.turns._waiting) == 8
        await asking.ask("alice", "little", 1)
        assert asking.begun == ["much 0", "much 1", "little"]
        await asking.close()

    asyncio.run(run())
