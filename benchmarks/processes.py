"""Processes of a server, and the processor time that they use."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["Running", "apart", "cpu_seconds", "memory_bytes", "tree", "workers"]

_WORKER = "deniable-worker\n"
_TICK = 1 / os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    with suppress(FileNotFoundError):  # a process that has just ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError):  # a thread that has just ended
                for child in (task / "children").read_text().split():
                    yield from tree(int(child))


def workers(pid: int) -> set[int]:
    """The workers of an aggregator, of which one may have taken another's place by now; another server itself."""
    found = set()
    for each in tree(pid):
        with suppress(FileNotFoundError, ProcessLookupError):
            if Path(f"/proc/{each}/comm").read_text() == _WORKER:
                found.add(each)
    return found or {pid}


def memory_bytes(pids: set[int]) -> int:
    """What some processes have in memory together, as far as they are still there."""
    pages = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pids: set[int]) -> float:
    """Processor time of some processes since they began, in user and kernel mode."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks * _TICK


def apart(module: str, asked: DataclassInstance, seconds: float) -> dict[str, Any]:
    """What a module answers in a process of its own, which it reads from standard input: both as JSON."""
    command = [sys.executable, "-m", module]
    try:
        shown = subprocess.run(
            command, input=json.dumps(asdict(asked)), capture_output=True, text=True, timeout=seconds, check=True
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"{module} was not done within {seconds:g} seconds") from error
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"{module} has failed: {error.stderr}") from error
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


class Running:
    """A Python module as a server of its own: it prints its port when it is ready, and ends on SIGTERM."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
        )
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{module} {' '.join(arguments)} did not start")
        self.port = int(line)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def cpu_seconds(self) -> float:
        """Processor time of all its processes."""
        return cpu_seconds(set(tree(self._process.pid)))

    def end(self) -> None:
        """End it, and wait."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)
        assert self._process.stdout
        self._process.stdout.close()
