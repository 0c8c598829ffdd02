"""Runs a target for long, in an environment of its own: `make fuzz TARGET=batches GUIDED=1000000 CHANGED=9000000`.

What is found is in `build/fuzz/`: inputs that were judged wrongly, took too long or too much memory, and in NAME/
those that reach what no other does, with which the next run goes on. `log` has what became of how many. An input is
replayed by naming its file.

words:
  guided   by coverage, by atheris: what reaches code that nothing else has reached is kept, and changed further. A
           process of it ends in time, since it keeps some memory of each input (atheris 3.0.0: 200 bytes)
  changed  made of what was kept, by chance alone (`mutation.py`): faster, on every Python; and what memory the
           process has after a tenth of them and after all is the product's own
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from fuzzing.mutation import SAID, changed
from fuzzing.target import NAMES, WATCHED, Target, found, target

KEPT = Path(__file__).resolve().parents[2] / "build" / "fuzz"
_ROUND = 500_000
_SAID_EVERY = 1_000_000
_SLOW_SECONDS = 60
"""For one input that is a hang, also of a process that gives way to all others."""
_SLOW_ROUND_SECONDS = 600
"""For a thousand, of which each is changed by chance alone: most take a second, and questions ten."""
_MOST_MEMORY = 2048
"""Megabytes of a process."""
_GROWN = 16 << 20
"""So many bytes more after all inputs than after a tenth of them are a finding: a byte for each of millions is not
seen, sixteen are."""


class Tally:
    """Judges inputs, and counts what became of them."""

    def __init__(self, name: str, judge: Callable[[bytes], str], runs: int, *, guided: bool) -> None:
        self._name, self._judge, self._runs, self._guided = name, judge, runs, guided
        self._outcomes: Counter[str] = Counter()
        self._done = 0
        self._after_a_tenth = 0

    def __call__(self, data: bytes) -> None:
        """Judge an input."""
        self._outcomes[self._judge(data)] += 1
        self._done += 1
        if self._done == max(self._runs // 10, 1):
            self._after_a_tenth = resident()
        if self._done == self._runs or self._done % _SAID_EVERY == 0:
            self.say()

    def say(self) -> None:
        """What has become of inputs so far; an AssertionError where they have left memory behind."""
        became = ", ".join(f"{outcome} {number:,}" for outcome, number in self._outcomes.most_common())
        memory = resident()
        told = (
            f"{datetime.now(UTC):%Y-%m-%d %H:%M} {self._name}: {self._done:,} inputs, "
            f"{'guided' if self._guided else 'changed'}; "
            f"{self._after_a_tenth / 2**20:.1f} MB after a tenth of them, {memory / 2**20:.1f} after all; {became}"
        )
        with KEPT.joinpath("log").open("a") as log:
            log.write(told + "\n")
        sys.stdout.write(told + "\n")
        sys.stdout.flush()
        if not self._guided and memory - self._after_a_tenth > _GROWN:
            raise AssertionError("memory has grown, and nothing but what was judged can have it")


def resident() -> int:
    """The bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096


def main() -> int:
    """Run a target, or replay one input of it; how it ended."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__, allow_abbrev=False)
    parser.add_argument("target", choices=NAMES)
    parser.add_argument("--guided", type=int, default=100_000, metavar="N", help="inputs that coverage guides to")
    parser.add_argument("--changed", type=int, default=0, metavar="N", help="inputs that chance makes of those")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", type=Path, metavar="FILE", help="judge one input")
    parser.add_argument("--round", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    name, seed = options.target, options.seed
    if options.replay:
        sys.stdout.write(target(name).judge(options.replay.read_bytes()) + "\n")
        return 0
    if options.round:
        guide(loaded(), name, options.round, seed)
    for begun in range(0, options.guided, _ROUND):
        runs = min(_ROUND, options.guided - begun)
        command = [sys.executable, "-m", "fuzzing.run", name, f"--round={runs}", f"--seed={seed + begun}"]
        if ended := subprocess.run(command, check=False).returncode:
            return ended
    if options.changed:
        change(name, options.changed, seed)
    return 0


def change(name: str, runs: int, seed: int) -> None:
    """Judge so many inputs that are made of those that are kept."""
    own, chance = target(name), Random(seed)
    inputs = sorted({*own.seeds(), *found(name), *(path.read_bytes() for path in (KEPT / name).glob("*"))})
    tally = Tally(name, own.judge, runs, guided=False)
    for number in range(runs):
        data = changed(chance, inputs, own)
        if number % 1000 == 0:
            faulthandler.dump_traceback_later(_SLOW_ROUND_SECONDS, exit=True)
        try:
            tally(data)
        except BaseException:
            KEPT.joinpath(f"{name}.wrong").write_bytes(data)
            raise
    faulthandler.cancel_dump_traceback_later()


def guide(atheris: Any, name: str, runs: int, seed: int) -> None:
    """Judge so many inputs that coverage guides to; it does not return."""
    with atheris.instrument_imports(include=[*WATCHED[name]]):
        own = target(name)
    for each in (*own.seeds(), *found(name)):
        own.judge(each)  # what is loaded when it is first needed is no input's time
    kept = KEPT / name
    kept.mkdir(parents=True, exist_ok=True)
    for number, each in enumerate((*own.seeds(), *found(name))):
        (kept / f"begin-{number:03}").write_bytes(each)
    arguments = [
        f"-runs={runs}", f"-seed={seed}", f"-max_len={own.longest}", f"-timeout={_SLOW_SECONDS}", "-verbosity=0",
        f"-rss_limit_mb={_MOST_MEMORY}", *_words(name, own), f"-artifact_prefix={kept}.",
        "-print_final_stats=1", f"-only_ascii={int(own.text)}",
    ]  # fmt: skip
    tally = Tally(name, own.judge, runs, guided=True)
    if (otherwise := own.otherwise) is None:
        atheris.Setup([sys.argv[0], *arguments, str(kept)], tally)
    else:

        def mutated(data: bytes, most: int, number: int) -> bytes:
            chance = Random(number)
            if chance.random() < SAID and len(said := otherwise(chance, data)) <= most:
                return said
            return bytes(atheris.Mutate(data, most))

        atheris.Setup([sys.argv[0], *arguments, str(kept)], tally, custom_mutator=mutated)
    atheris.Fuzz()


def _words(name: str, own: Target) -> list[str]:
    """The fuzzer's dictionary; it takes no empty one."""
    words = KEPT / f"{name}.words"
    words.write_text("".join(f'"{_quoted(word)}"\n' for word in own.words))
    return [f"-dict={words}"] if own.words else []


def _quoted(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


def loaded() -> Any:
    """The fuzzer, where there is one."""
    try:
        return importlib.import_module("atheris")
    except ImportError:
        sys.exit(
            f"no atheris here: there are wheels of it for Linux (x86_64) and Python 3.11, and this is "
            f"{sys.version.split()[0]} on {sys.platform}; the short version needs none: make test"
        )


if __name__ == "__main__":
    sys.exit(main())
