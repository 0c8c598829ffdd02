"""Which figures of docs are older than the code that they are about: each is marked with what it was made from.

python -m tools.figures                        which are, and what makes them anew; 0, as to make them takes hours
python -m tools.figures --strict               ... and 1 where any is: before a release
python -m tools.figures --made tools.vectors   they have been made anew, from the code as it is

words:
  figures   the tables of a page that one command makes, where that takes long: what is quickly made is held against
            its command by a test of its own, and can not be old
  rooms     the files whose code the figures depend on, beside the command's own and what that takes from its side
  code      what a module does. Comments, docstrings, formats, imports, annotations, `__all__` and what errors say are
            none: no figure is of them
  mark      a comment at a page's end: when its figures were made, and a hash of the code that they depended on then,
            for each directory, to say in which it has changed
  stale     of figures: what they depend on is another code today
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["FIGURES", "Figures", "code", "depends", "hashed", "mark", "marked", "stale"]

ROOT = Path(__file__).resolve().parent.parent
_BESIDE = re.compile(r"^from (?:tools|benchmarks|examples)[.\w]* import [^\n]*", re.MULTILINE)
_MARK = re.compile(r"<!-- figures of ([\w.]+): (\d{4}-\d\d-\d\d), from ([\w= ]+) -->\n")
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
    "benchmarks.soak": Figures("docs/benchmarks/soak.md", SERVED),
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


class _Bare(ast.NodeTransformer):
    """Takes away what is no code."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [each for each in body if not _says(each)]  # type: ignore[attr-defined]
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.copy_location(ast.Raise(exc=None, cause=None), node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.copy_location(ast.arg(arg=node.arg), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        named = ast.Constant("")  # that there is such a field is code
        return ast.AnnAssign(target=node.target, annotation=named, value=node.value, simple=node.simple)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _says(node: ast.AST) -> bool:
    """Whether it is a docstring, an import, or the list of names."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


@cache
def code(text: str) -> str:
    """What a module does, without what it says."""
    return ast.dump(_Bare().visit(ast.parse(text)))


def _read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _files(room: str) -> list[str]:
    return [each.relative_to(ROOT).as_posix() for each in ROOT.glob(room)]


def _own(path: str, read: Callable[[str], str], files: Callable[[str], Iterable[str]]) -> dict[str, str]:
    """A command's module, and those beside it that it takes something from."""
    texts, waiting = dict[str, str](), [path]
    while waiting:
        each = waiting.pop()
        texts[each] = read(each)
        for line in _BESIDE.findall(texts[each]):
            _, module, _, *names = line.replace(",", " ").replace("(", " ").split()
            folder = module.replace(".", "/")
            named = [f"{folder}.py", *(f"{folder}/{name}.py" for name in names)]
            waiting += [own for one in named for own in files(one) if own not in texts]
    return texts


def depends(
    command: str, read: Callable[[str], str] = _read, files: Callable[[str], Iterable[str]] = _files
) -> dict[str, str]:
    """The files that its figures depend on, with the code of each."""
    start = command.replace(".", "/") + ".py"
    rooms = {path: read(path) for room in FIGURES[command].rooms for path in files(room)}
    return {path: code(text) for path, text in {**rooms, **_own(start, read, files)}.items()}


def hashed(found: Mapping[str, str]) -> str:
    """What files do, by the directories that they are in: a hash each."""
    rooms: dict[str, str] = {}
    for path, text in sorted(found.items()):
        rooms.setdefault(path.split("/")[-2], "")
        rooms[path.split("/")[-2]] += f"{path}\0{text}\0"
    return " ".join(f"{room}={hashlib.sha256(own.encode()).hexdigest()[:12]}" for room, own in sorted(rooms.items()))


def mark(command: str, day: str, made_from: str) -> str:
    """What a page says of its figures to this command."""
    return f"<!-- figures of {command}: {day}, from {made_from} -->\n"


def marked() -> dict[str, tuple[str, str]]:
    """When each command's figures were made, and from what, as their pages say it."""
    pages = sorted({each.page for each in FIGURES.values()})
    return {command: (day, made_from) for page in pages for command, day, made_from in _MARK.findall(_read(page))}


def stale() -> dict[str, tuple[str, list[str]]]:
    """Of all figures that are older than their code the day of which they are, and the directories that have
    changed."""
    found = {}
    for command, (day, made_from) in marked().items():
        if command in FIGURES and (now := hashed(depends(command))) != made_from:
            changed = {each.partition("=")[0] for each in set(now.split()) ^ set(made_from.split())}
            found[command] = day, sorted(changed)
    return found


def made(command: str) -> None:
    """Mark a page's figures as made today, from the code as it is."""
    path = ROOT / FIGURES[command].page
    kept = [each[0] for each in _MARK.finditer(path.read_text(encoding="utf-8")) if each[1] != command]
    text = _MARK.sub("", path.read_text(encoding="utf-8")).rstrip("\n")
    own = mark(command, f"{datetime.now(UTC):%Y-%m-%d}", hashed(depends(command)))
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
    for command, (day, changed) in found.items():
        module, _, name = command.partition(".")
        again = f"-m benchmarks {name} --write" if module == "benchmarks" else f"-m {command}"
        print(
            f"{FIGURES[command].page}: {command}, of {day}, is older than its code in {', '.join(changed)}: "
            f".venv/bin/python {again}"
        )
    print(f"{len(marked()) - len(found)} of {len(marked())} figures are of today's code")
    return int(bool(found) and options.strict)


if __name__ == "__main__":
    sys.exit(main())
