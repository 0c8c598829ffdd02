"""The rules for time in tests: they judge behaviour, benchmarks judge speed.

A test that asserts seconds fails on a machine that is slower or busy, and so does one that waits for a fixed time and
then looks. What is found here:

  judged   an assertion, or a failure on a condition, on a time that was measured: on a difference of two readings
           of a clock, or on what a function of the tests returns that computes one; any use of the clocks that only
           serve to measure; and a loop that goes on for so long, after which is judged how far it got
  fixed    a sleep of a fixed length outside of a loop that looks whether what is waited for has come, or a wait for
           something else, whose outcome nobody looks at
  hurried  a bound on a wait that a slow machine could break: `support.waiting.PATIENCE` is there for that. Bounds of
           less than three seconds are taken for ones that are meant to run out, unless what is asserted is that
           they do not

Programs that tests run as text are looked at as well, and clocks by whatever name a file calls them.
`support/waiting.py` is where tests wait.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeGuard

ROOT = Path(__file__).resolve().parent.parent
WAITING = "support/waiting.py"
CLOCKS = {"monotonic", "monotonic_ns", "time", "time_ns", "now", "utcnow"}
"""What tells the time; that alone may be needed for what it is about."""
STOPWATCHES = {
    "perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "thread_time", "thread_time_ns",
    "getrusage", "timeit", "clock_gettime", "clock_gettime_ns", "cpu_times",
}  # fmt: skip
"""What only measures."""
MEANT, PATIENT = 3.0, 300.0
"""Bounds from the first on are there against a hang, and are to be at least the second: `waiting.PATIENCE`."""
BOUNDED = {"timeout": 0, "wait": 0, "join": 0, "result": 0, "wait_for": 1}
"""What takes a bound without its name, and at which place."""
IN_MILLISECONDS = "to_"
"""So begins what a browser expects, with bounds in milliseconds."""
PAUSES = {"wait", "join", "wait_for_timeout"}
"""What waits for nothing else than time, where nobody looks at its outcome."""


class Finding(NamedTuple):
    """Where a rule is broken, and how."""

    path: Path
    line: int
    what: str


class _Tree(NamedTuple):
    """A file, or a program that a file has as text."""

    path: Path
    first: int
    """The line of the file at which it begins."""
    body: ast.AST


@cache
def _nodes(part: ast.AST) -> list[ast.AST]:
    """All that is in a part of a file, which every rule looks at."""
    return list(ast.walk(part))


def _name(call: ast.expr) -> str:
    """The last name of what is called."""
    if isinstance(call, ast.Attribute):
        return call.attr
    return call.id if isinstance(call, ast.Name) else ""


def _is_clock(call: ast.Call) -> bool:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    named = _name(owner) if isinstance(owner, ast.expr) else ""
    return _name(call.func) in CLOCKS and named in {"", "time", "datetime", "dt", "loop", "get_running_loop"}


def _text(node: ast.AST) -> str | None:
    """What a text says; of one with places to fill in, with a name in each."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "filled" for part in node.values)
    return None


def _parsed(text: str) -> ast.Module:
    """A program in which clocks are called what the library calls them."""
    body = ast.parse(text)
    called: dict[str, str] = {}
    for node in ast.walk(body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            called |= {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.Assign) and _name(node.value) in CLOCKS - {"time"} | STOPWATCHES:
            called |= {_name(target): _name(node.value) for target in node.targets}
    called = {new: old for new, old in called.items() if new != old and old in CLOCKS | STOPWATCHES | {"datetime"}}
    for node in ast.walk(body) if called else ():
        if isinstance(node, ast.Name):
            node.id = called.get(node.id, node.id)
    return body


def trees(paths: Iterable[Path]) -> Iterator[_Tree]:
    """Every file, and every program in it."""
    for path in paths:
        body = _parsed(path.read_text())
        yield _Tree(path, 1, body)
        for node in _nodes(body):
            text = _text(node)
            if text and "\n" in text and "import " in text:
                try:
                    yield _Tree(path, node.lineno, _parsed(text))  # type: ignore[attr-defined]
                except SyntaxError:
                    continue


def _functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in _nodes(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


class _Times:
    """Which expressions of a function are times (readings of a clock), and which are lengths of time."""

    def __init__(self, scope: ast.AST, lengths: set[str]) -> None:
        self._lengths = lengths
        self._times: set[str] = set()
        self._measured: set[str] = set()
        for _ in range(3):  # names may be used before the line that tells what they are
            for node in _nodes(scope):
                if isinstance(node, ast.Assign):
                    self._learn(node.targets, node.value)
                elif isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None:
                    self._learn([node.target], node.value)
                elif isinstance(node, ast.Call) and _name(node.func) in {"append", "add"} and node.args:
                    owner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
                    self._learn([owner], node.args[0])

    def _learn(self, targets: list[ast.expr], value: ast.expr) -> None:
        names = {found.id for target in targets for found in _nodes(target) if isinstance(found, ast.Name)}
        if self.measured(value):
            self._measured |= names
        elif self._told(value):
            self._times |= names

    def _told(self, value: ast.AST) -> bool:
        """Whether the time is in it."""
        return any(
            (isinstance(node, ast.Call) and _is_clock(node))
            or (isinstance(node, ast.Name) and node.id in self._times)
            for node in _nodes(value)
        )

    def measured(self, value: ast.AST) -> bool:
        """Whether a length of time that was measured is in it."""
        for node in _nodes(value):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                if self._told(node.left) and self._told(node.right):
                    return True
            elif (isinstance(node, ast.Name) and node.id in self._measured) or (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._lengths
            ):
                return True
        return False

    def judged(self, test: ast.AST) -> bool:
        """Whether an assertion is about how long something took, or about being in time."""
        return self._late(test) or self.measured(test)

    def bounding(self, loop: ast.While) -> bool:
        """Whether a loop ends when it has gone on for long enough."""
        compared = [node for node in _nodes(loop.test) if isinstance(node, ast.Compare)]
        return self._late(loop.test) or any(map(self.measured, compared))

    def _late(self, test: ast.AST) -> bool:
        return any(
            isinstance(node, ast.Compare)
            and sum(self._told(side) for side in (node.left, *node.comparators)) > 1
            and any(isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for operator in node.ops)
            for node in _nodes(test)
        )


def _tells(scope: ast.AST, lengths: set[str]) -> bool:
    """Whether a clock is read in it, or a length of time asked for: no time can be in what does neither."""
    return any(
        isinstance(node, ast.Call) and (_is_clock(node) or _name(node.func) in lengths) for node in _nodes(scope)
    )


def _returning(tree: ast.AST, known: set[str]) -> set[str]:
    """These functions, and those of a file that return a length of time, by their names."""
    lengths = set(known)
    if not _tells(tree, lengths):
        return lengths
    while True:
        before = len(lengths)
        for function in _functions(tree):
            if not _tells(function, lengths):
                continue
            times = _Times(function, lengths)
            returned = [node.value for node in _nodes(function) if isinstance(node, ast.Return) and node.value]
            if any(map(times.measured, returned)):
                lengths.add(function.name)
        if len(lengths) == before:
            return lengths


def _shared(root: Path, found: list[_Tree]) -> set[str]:
    """The functions that tests share and that return a length of time."""
    return set().union(
        *(_returning(tree.body, set()) for tree in found if tree.path.is_relative_to(root / "support"))
    )


def _judged(tree: _Tree, shared: set[str]) -> Iterator[tuple[int, str]]:
    if not _tells(tree.body, shared):
        return
    lengths = _returning(tree.body, shared)
    apart = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    outside = [statement for statement in getattr(tree.body, "body", []) if not isinstance(statement, apart)]
    for scope in [*_functions(tree.body), ast.Module(outside, [])]:
        if not _tells(scope, lengths):
            continue
        times = _Times(scope, lengths)
        for node in _nodes(scope):
            if _fails(node) and times.judged(node.test):
                yield node.lineno, "judges how long something took: assert what happened, or counted work"
            elif isinstance(node, ast.While) and times.bounding(node) and not _patient(scope):
                yield node.lineno, "goes on for so long: do so much, or until something has happened"


def _patient(scope: ast.AST) -> bool:
    """Whether only a hang reaches the bounds of a function."""
    return any(isinstance(node, ast.Name) and node.id.lower() == "patience" for node in _nodes(scope))


def _fails(node: ast.AST) -> TypeGuard[ast.Assert | ast.If]:
    """Whether a test fails by it, on a condition."""
    if isinstance(node, ast.If):
        raised = [each.value if isinstance(each, ast.Expr) else each for each in (*node.body, *node.orelse)]
        return any(
            isinstance(each, ast.Raise) or (isinstance(each, ast.Call) and _name(each.func) == "fail")
            for each in raised
        )
    return isinstance(node, ast.Assert)


def _stopwatches(tree: _Tree) -> Iterator[tuple[int, str]]:
    for node in _nodes(tree.body):
        if isinstance(node, ast.Attribute | ast.Name) and _name(node) in STOPWATCHES:
            yield node.lineno, f"{_name(node)} measures speed: benchmarks do that"


def _constant(node: ast.expr, constants: dict[str, float]) -> float | None:
    """The number that an expression always is."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def _constants(tree: ast.AST) -> dict[str, float]:
    return {
        target.id: float(node.value.value)
        for node in _nodes(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name) and isinstance(node.value.value, int | float)
    }


def _waits(tree: _Tree) -> Iterator[tuple[int, str]]:
    constants = _constants(tree.body)
    looked_after = {
        id(inner)
        for loop in _nodes(tree.body)
        if isinstance(loop, ast.While)
        for part in loop.body
        for inner in _nodes(part)
    }
    unheeded = {id(node.value) for node in _nodes(tree.body) if isinstance(node, ast.Expr)}
    for node in _nodes(tree.body):
        if not isinstance(node, ast.Call) or id(node) in looked_after:
            continue
        pauses = _name(node.func) == "sleep" or (_name(node.func) in PAUSES and id(node) in unheeded)
        given = [*node.args, *(keyword.value for keyword in node.keywords)][:1]
        if pauses and given and (length := _constant(given[0], constants)):
            yield node.lineno, f"waits for {length:g} whatever happens: wait for what is to happen"


def _given(node: ast.Call, constants: dict[str, float]) -> Iterator[float]:
    """The bounds of a call, in seconds."""
    given = [keyword.value for keyword in node.keywords if keyword.arg in {"timeout", "patience"}]
    if (place := BOUNDED.get(_name(node.func))) is not None:
        given += node.args[place : place + 1]
    for value in given:
        if (bound := _constant(value, constants)) is not None:
            yield bound / 1000 if _name(node.func).startswith(IN_MILLISECONDS) else bound


def _bounds(tree: _Tree) -> Iterator[tuple[int, str]]:
    constants = _constants(tree.body)
    wanted = {
        id(inner)
        for node in _nodes(tree.body)
        if isinstance(node, ast.Assert) and not any(isinstance(each, ast.Not) for each in _nodes(node.test))
        for inner in _nodes(node.test)
    }
    for node in _nodes(tree.body):
        if not isinstance(node, ast.Call):
            continue
        for seconds in _given(node, constants):
            if MEANT <= seconds < PATIENT or (0 < seconds < MEANT and id(node) in wanted):
                yield node.lineno, f"a bound of {seconds:g} s that a slow machine breaks: take waiting.PATIENCE"


def findings(root: Path) -> list[Finding]:
    """Everything that is wrong in the tests below a folder."""
    found = list(trees(path for path in sorted(root.rglob("*.py")) if not path.as_posix().endswith(WAITING)))
    shared = _shared(root, found)
    rules: list[Callable[[_Tree], Iterator[tuple[int, str]]]] = [
        lambda tree: _judged(tree, shared), _stopwatches, _waits, _bounds,
    ]  # fmt: skip
    wrong = {(tree, line, what) for tree in found for rule in rules for line, what in rule(tree)}
    return sorted({Finding(tree.path, tree.first + line - 1, what) for tree, line, what in wrong})


def main(root: Path = ROOT / "tests") -> int:
    """Print what is wrong; how it ended."""
    wrong = findings(root)
    for path, line, what in wrong:
        print(f"{path}:{line}: {what}")
    return bool(wrong)


if __name__ == "__main__":
    gc.disable()  # all nodes are kept until the end, and looked through again and again
    sys.exit(main(*map(Path, sys.argv[1:])))
