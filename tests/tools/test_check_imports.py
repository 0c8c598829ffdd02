"""The import rules forbid what they say: each of them is broken in a tree that has the same rooms, and found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.check_imports import AGGREGATOR, CLIENT, DOORS, ONLY_THERE, ROOMS, ROOT, RULES

from support.waiting import PATIENCE

HOUSES = (CLIENT / "deniable", AGGREGATOR / "deniable_aggregator")


def forbidden() -> Iterator[tuple[str, str]]:
    """A room, and what it must not import: of every rule, and of every pair of rooms in a house."""
    for part, names, _ in RULES:
        inside = part / "deniable" if part.name == "client" else part
        yield from ((str(inside.relative_to(ROOT)), name) for name in sorted(names))
    for house in HOUSES:
        inside, rooms = house.relative_to(ROOT), ROOMS[house.name]
        for room in sorted(rooms):
            for other in sorted({*rooms, *DOORS[house.name]} - rooms[room] - {room}):
                yield str(inside / room), f"{house.name}.{other}"
            for name, allowed, _ in ONLY_THERE:
                if house.is_relative_to(AGGREGATOR) and f"{room}/" not in allowed:
                    yield str(inside / room), name


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree's rooms, of which each has its first file alone, and the check."""
    tree = tmp_path_factory.mktemp("tree")
    for part in ("client/deniable", "aggregator/deniable_aggregator"):
        for file in (ROOT / part).rglob("__init__.py"):
            place = tree / file.relative_to(ROOT)
            place.parent.mkdir(parents=True)
            shutil.copy(file, place)
    (tree / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "check_imports.py", tree / "tools")
    return tree


def checked(tree: Path) -> subprocess.CompletedProcess[str]:
    """What the check of a tree says of it."""
    command = [sys.executable, str(tree / "tools" / "check_imports.py")]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_the_tree_is_well() -> None:
    """As it is here, whole."""
    well = checked(ROOT)
    assert (well.returncode, well.stdout) == (0, "import rules hold\n")


def test_every_rule_that_is_broken_is_found(bare: Path) -> None:
    """A file of its own for each: all are told, with their line, and nothing else is."""
    planted = []
    for number, (room, name) in enumerate(forbidden()):
        file = bare / room / f"planted_{number}.py"
        file.write_text(f"import {name}\n")
        planted.append((file, f"{file.relative_to(bare)}:1: imports {name}: "))
    found = checked(bare)
    for file, _ in planted:
        file.unlink()
    assert found.returncode
    assert [where for _, where in planted if where not in found.stdout] == []
    assert len(planted) > 100
    assert all("planted_" in line for line in found.stdout.splitlines())


@pytest.mark.parametrize("house", HOUSES, ids=lambda house: str(house.name))
def test_a_room_that_is_not_known_is_found(bare: Path, house: Path) -> None:
    """It has to say of which rooms it may know."""
    room = bare / house.relative_to(ROOT) / "attic"
    room.mkdir()
    (room / "__init__.py").write_text("")
    found = checked(bare)
    shutil.rmtree(room)
    assert found.returncode
    assert "attic/ is a room that ROOMS does not have" in found.stdout


@pytest.mark.parametrize("house", HOUSES, ids=lambda house: str(house.name))
def test_no_room_knows_of_one_that_knows_of_it(house: Path) -> None:
    """There is an order in which all rooms could be built; and every door is there."""
    rooms = ROOMS[house.name]
    known: set[str] = set()
    while known < {*rooms}:
        ready = {room for room, others in rooms.items() if others <= known} - known
        assert ready, f"a circle among {sorted({*rooms} - known)}"
        known |= ready
    assert known == {path.parent.name for path in house.glob("*/__init__.py")}
    assert {path.stem for path in house.glob("*.py")} >= DOORS[house.name]
