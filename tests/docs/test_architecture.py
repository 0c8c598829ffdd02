"""The architecture page names every module of the product once, by the path that it has."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

from support.commands import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
HOUSES = (ROOT / "client" / "deniable", ROOT / "aggregator" / "deniable_aggregator")
GENERATED = "v1/"
BESIDE = ("tests", "benchmarks", "examples", "tools")
"""Where Python is that is no part of the product."""


def modules() -> set[str]:
    """The paths of both packages' modules within them, but for what rooms begin with and what is generated."""
    paths = {path.relative_to(house).as_posix() for house in HOUSES for path in house.rglob("*.py")}
    return {path for path in paths if not path.endswith("__init__.py") and not path.startswith(GENERATED)}


def named(text: str) -> Counter[str]:
    """What a text names as a Python file, and how often; `{a,b}/c.py` names two."""
    spans = (re.split(r"[{}]", span) for span in re.findall(r"`([\w{},/]+\.py)`", text))
    return Counter(
        "".join(parts) for pieces in spans for parts in itertools.product(*(piece.split(",") for piece in pieces))
    )


def test_every_module_is_named_once() -> None:
    """Nothing is missing, nothing is named that is not there, and nothing has two places."""
    found = named(PAGE)
    ours = modules()
    assert len(ours) > 150
    assert not ours - found.keys(), f"docs/architecture.md does not name {sorted(ours - found.keys())}"
    assert sorted(name for name in found if name not in ours and not (ROOT / name).exists()) == []
    assert [name for name, times in found.items() if times > 1] == []


def test_braces_name_each_file() -> None:
    """As a shell reads them; what is no path of a Python file is not counted."""
    assert named("`{a,b/c}/d.py` and `e.py`, not `e.js` nor `f`") == {"a/d.py": 1, "b/c/d.py": 1, "e.py": 1}


def test_every_file_can_be_read_at_a_sitting() -> None:
    """Each module, and each file of tests and of what is beside the product, has less than 400 lines."""
    ours = [house / name for house in HOUSES for name in modules() if (house / name).exists()]
    beside = [path for room in BESIDE for path in (ROOT / room).rglob("*.py")]
    assert len(beside) > 300
    assert [str(path.relative_to(ROOT)) for path in (*ours, *beside) if lines(path) >= 400] == []


def lines(path: Path) -> int:
    """How many lines a file has."""
    return path.read_text(encoding="utf-8").count("\n")
