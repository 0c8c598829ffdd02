"""Libraries to compare with, each in an environment of its own, and workers in which work is timed turn by turn.

words:
  peer     a library, installed under .cache/benchmarks as its users would: once, and left out where that fails
  worker   a process in a peer's environment, or in ours, that waits until it is told to do some work
  task     what a worker can do some number of times

A worker tells the processor time of its work, so that other work on the machine does not count.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

__all__ = ["OPENDP", "PURE_LDP", "Worker", "medians", "workers"]

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache/benchmarks"
PURE_LDP = ("pure-ldp==1.2.0", "scikit-learn", "statsmodels", "xxhash<4")
"""Its wheel names neither scikit-learn nor statsmodels, which it imports, nor the xxhash that it works with."""
OPENDP = ("opendp==0.16.0",)
_ROUNDS = 9


def environment(requirements: Sequence[str]) -> Path | None:
    """The interpreter of an environment that has the requirements; None where they can not be had now."""
    if not requirements:
        return Path(sys.executable)
    home = CACHE / requirements[0].replace("==", "-")
    interpreter, ready = home / "bin/python", home / ".ready"
    if not ready.exists():
        print(f"installing {requirements[0]}...", file=sys.stderr, flush=True)
        venv.create(home, clear=True, with_pip=True)
        install = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        if subprocess.run(install, check=False, capture_output=True).returncode:
            print(f"{requirements[0]} can not be installed: it is left out", file=sys.stderr, flush=True)
            return None
        ready.touch()
    return interpreter


class Worker:
    """A process that does work and tells how long it took."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def time(self, task: str, times: int) -> float:
        """Nanoseconds of processor time that one of so many times took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{task} {times}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker for {task} has ended")
        return float(line)


@contextmanager
def workers(modules: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Worker]]:
    """A worker for each module of benchmarks.workers that has what it requires, in an environment of its own."""
    with ExitStack() as stack:
        found = {}
        for module, requirements in modules.items():
            interpreter = environment(requirements)
            if interpreter is None:
                continue
            process = subprocess.Popen(
                [str(interpreter), "-m", f"benchmarks.workers.{module}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            stack.enter_context(process)
            found[module] = Worker(process)
        yield found


def medians(turns: Sequence[tuple[Worker, str, int]], rounds: int = _ROUNDS) -> list[float]:
    """For each worker's task, done so many times at its turn, the median over the rounds."""
    times: list[list[float]] = [[] for _ in turns]
    for _ in range(rounds):
        for own, (worker, task, count) in zip(times, turns, strict=True):
            own.append(worker.time(task, count))
    return [median(own) for own in times]
