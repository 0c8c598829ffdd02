"""Which figures of docs are older than the code that they are about: each is marked with what it was made from.

python -m tools.figures                        which are, and what makes them anew; 0, as to make them takes hours
python -m tools.figures --strict               ... and 1 where any is: before a release
python -m tools.figures --made tools.vectors   they have been made anew, from the code as it is

words:
  figures   the tables of a page that one command makes, where that takes long: what is quickly made is held against
            its command by a test of its own, and can not be old
  rooms     the files whose code the figures depend on
  mark      a comment at a page's end: when its figures were made, and a hash of the rooms as they were then
  stale     of figures: their rooms' code is another one today. Comments, docstrings and formats are not code
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["FIGURES", "Figures", "code", "hashed", "mark", "marked", "rooms_of", "stale"]

ROOT = Path(__file__).resolve().parent.parent
_MARK = re.compile(r"<!-- figures of ([\w.]+): (\d{4}-\d\d-\d\d), from ([0-9a-f]{16}) -->\n")
CLIENT, AGGREGATOR = "client/deniable", "aggregator/deniable_aggregator"
CHANNELS = (f"{CLIENT}/mechanisms/*.py", f"{CLIENT}/epsilon.py")
ANSWERS = (f"{AGGREGATOR}/estimators/*.py", f"{AGGREGATOR}/answers/*.py")
SIMULATED = (*CHANNELS, *ANSWERS, f"{CLIENT}/kinds/*.py", f"{AGGREGATOR}/planning/twins/*.py")
WINDOWS = (*SIMULATED, f"{AGGREGATOR}/analysis/windows.py")
SIDES = (
    *SIMULATED,
    *(f"{AGGREGATOR}/analysis/{name}.py" for name in ("sides", "comparison", "discoveries", "anytime")),
)
SERVED = tuple(f"{AGGREGATOR}/{room}/*.py" for room in ("ingest", "store", "serving"))
TOLD = (*ANSWERS, *(f"{AGGREGATOR}/{room}/*.py" for room in ("analysis", "telling")))
DEVICE = tuple(f"{CLIENT}/{room}*.py" for room in ("", "collection/", "device/", "kinds/", "mechanisms/", "wire/"))


class Figures(NamedTuple):
    """Tables of a page."""

    page: str
    """Where they are."""
    rooms: tuple[str, ...]
    """What they depend on, beside the command itself."""


FIGURES: dict[str, Figures] = {
    "benchmarks.answers": Figures("docs/benchmarks/answers.md", TOLD),
    "benchmarks.client": Figures("docs/benchmarks/client.md", DEVICE),
    "benchmarks.codewords": Figures(
        "docs/benchmarks/codewords.md",
        (f"{CLIENT}/mechanisms/codewords.py", f"{CLIENT}/codebook.py", f"{AGGREGATOR}/ingest/*.py"),
    ),
    "benchmarks.duress": Figures("docs/benchmarks/duress.md", SERVED),
    "benchmarks.estimation": Figures("docs/benchmarks/estimation.md", (*ANSWERS, f"{AGGREGATOR}/ingest/*.py")),
    "benchmarks.flushes": Figures("docs/benchmarks/flushes.md", (f"{AGGREGATOR}/ingest/*.py",)),
    "benchmarks.hierarchies": Figures("docs/benchmarks/hierarchies.md", (f"{AGGREGATOR}/consistency/*.py",)),
    "benchmarks.imports": Figures("docs/benchmarks/imports.md", DEVICE),
    "benchmarks.ingest": Figures("docs/benchmarks/ingest.md", SERVED),
    "benchmarks.ingest_costs": Figures("docs/benchmarks/ingest_costs.md", SERVED[:2]),
    "benchmarks.mechanisms": Figures("docs/benchmarks/mechanisms.md", CHANNELS),
    "benchmarks.questions": Figures("docs/benchmarks/questions.md", TOLD),
    "benchmarks.vectors": Figures("docs/benchmarks/vectors.md", (*CHANNELS, f"{AGGREGATOR}/ingest/*.py")),
    "benchmarks.views": Figures("docs/benchmarks/views.md", (*TOLD, f"{AGGREGATOR}/web/*.py")),
    "benchmarks.visits": Figures("docs/benchmarks/visits.md", SERVED),
    "tools.anytime_coverage": Figures("docs/comparisons.md", SIDES),
    "tools.bounded_coverage": Figures("docs/statistics.md", SIMULATED),
    "tools.comparison_coverage": Figures("docs/comparisons.md", SIDES),
    "tools.curve_accuracy": Figures("docs/distribution-accuracy.md", (*CHANNELS, *ANSWERS)),
    "tools.interval_statistics": Figures("docs/statistics.md", SIMULATED),
    "tools.joints": Figures("docs/joints.md", SIMULATED),
    "tools.learning_price": Figures("docs/price.md", (*SIMULATED, "examples/learning/**/*.py")),
    "tools.level_statistics": Figures("docs/statistics.md", SIMULATED),
    "tools.mean_accuracy": Figures("docs/means.md", CHANNELS),
    "tools.new_words": Figures("docs/words.md", SIDES),
    "tools.plan_power": Figures("docs/planning.md", (*SIDES, f"{AGGREGATOR}/planning/*.py")),
    "tools.rounds": Figures("docs/learning.md", (*SIMULATED, "examples/learning/*.py")),
    "tools.sampled_fleets": Figures("docs/statistics.md", SIMULATED),
    "tools.vectors": Figures("docs/vectors.md", CHANNELS),
    "tools.width_accuracy": Figures("docs/widths.md", (*SIMULATED, f"{AGGREGATOR}/planning/*.py")),
    "tools.window_coverage": Figures("docs/statistics.md", WINDOWS),
    "tools.word_discovery": Figures("docs/words.md", SIMULATED),
}
"""By the command that makes them."""


def rooms_of(command: str) -> list[str]:
    """The files that its figures depend on, the command's own first."""
    found = {each.relative_to(ROOT).as_posix() for room in FIGURES[command].rooms for each in ROOT.glob(room)}
    return [command.replace(".", "/") + ".py", *sorted(found)]


@cache
def code(text: str) -> str:
    """What a module does, without what it says of itself."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            said = [each for each in body if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)]
            node.body = [each for each in body if each not in said]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def hashed(paths: Iterable[str], read: Callable[[str], str] = _read) -> str:
    """A hash of the code of some files, by their names."""
    found = hashlib.sha256()
    for path in paths:
        found.update(f"{path}\0{code(read(path))}\0".encode())
    return found.hexdigest()[:16]


def mark(command: str, day: str, made_from: str) -> str:
    """What a page says of its figures to this command."""
    return f"<!-- figures of {command}: {day}, from {made_from} -->\n"


def marked() -> dict[str, tuple[str, str]]:
    """When each command's figures were made, and from what, as their pages say it."""
    pages = sorted({each.page for each in FIGURES.values()})
    return {command: (day, made_from) for page in pages for command, day, made_from in _MARK.findall(_read(page))}


def stale() -> dict[str, str]:
    """The day on which they were made, of all figures that are older than their code."""
    return {
        command: day
        for command, (day, made_from) in marked().items()
        if command in FIGURES and hashed(rooms_of(command)) != made_from
    }


def made(command: str) -> None:
    """Mark a page's figures as made today, from the code as it is."""
    path = ROOT / FIGURES[command].page
    kept = [each[0] for each in _MARK.finditer(path.read_text(encoding="utf-8")) if each[1] != command]
    text = _MARK.sub("", path.read_text(encoding="utf-8")).rstrip("\n")
    own = mark(command, f"{datetime.now(UTC):%Y-%m-%d}", hashed(rooms_of(command)))
    path.write_text(f"{text}\n\n{''.join(sorted([*kept, own]))}", encoding="utf-8")


def main() -> int:
    """Say what is stale, or that something has been made anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strict", action="store_true", help="1 where anything is stale")
    parser.add_argument("--made", metavar="COMMAND", choices=sorted(FIGURES), help="mark as made today")
    options = parser.parse_args()
    if options.made:
        made(options.made)
        return 0
    found = stale()
    for command, day in found.items():
        module, _, name = command.partition(".")
        again = f"-m benchmarks {name} --write" if module == "benchmarks" else f"-m {command}"
        print(f"{FIGURES[command].page}: {command}, of {day}, is older than its code: .venv/bin/python {again}")
    print(f"{len(marked()) - len(found)} of {len(marked())} figures are of today's code")
    return int(bool(found) and options.strict)


if __name__ == "__main__":
    sys.exit(main())
