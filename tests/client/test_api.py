"""What `import deniable` gives, and what it takes."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import deniable
from support.commands import EDITOR
from support.waiting import PATIENCE

PACKAGE = Path(deniable.__file__).parent.parent


USE = f"""
for name in deniable.__all__:
    getattr(deniable, name)
collection = deniable.Collection.load({str(EDITOR)!r})
with deniable.Client(
    collection, consent=deniable.Consent.GRANTED, segment={{"platform": "linux"}}, endpoint="127.0.0.1:1"
) as client:
    client.record("dark_mode", True)
"""


def modules(*flags: str, use: str = "") -> set[str]:
    """The modules that importing it and using it adds to a fresh interpreter."""
    program = f"""
import json, sys
sys.path.insert(0, {str(PACKAGE)!r})
before = set(sys.modules)
import deniable
{use}
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    run = subprocess.run(
        [sys.executable, *flags, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return {str(name) for name in json.loads(run.stdout)}


def test_using_it_loads_nothing_but_the_standard_library() -> None:
    """Whatever is public can be used, and values recorded: grpc is not touched before the first upload."""
    loaded = {name.partition(".")[0] for name in modules(use=USE)}
    assert "deniable" in loaded
    assert loaded - {"deniable"} <= sys.stdlib_module_names


def test_it_works_where_nothing_else_is_installed() -> None:
    """With site-packages out of reach there is nothing but the standard library to load, and that is enough."""
    assert "deniable.client" in modules("-I", "-S", use=USE)


def test_importing_it_loads_no_part_of_it() -> None:
    """An application that imports it and never asks for anything pays for one small module."""
    loaded = modules()
    assert {name for name in loaded if name.startswith("deniable")} == {"deniable"}
    assert not loaded & {"sqlite3", "dataclasses", "logging", "json"}


def test_its_public_names_are_those_of_its_list() -> None:
    """`__all__` names everything that is there for others, nothing else, in order."""
    assert list(deniable.__all__) == sorted(deniable.__all__)
    rooms = {name for names in deniable._ROOMS.values() for name in names}
    assert rooms == set(deniable.__all__)
    for name in deniable.__all__:
        assert getattr(deniable, name) is getattr(deniable, name)
    with pytest.raises(AttributeError, match="no attribute 'Cleint'"):
        deniable.Cleint  # noqa: B018


def test_type_checkers_see_the_names_where_they_are_at_home() -> None:
    """What is imported for type checkers only is, name by name, what is found when it is used."""
    tree = ast.parse(Path(deniable.__file__).read_text())
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    seen = {str(node.module).partition(".")[2]: tuple(name.name for name in node.names) for node in imports}
    assert seen == deniable._ROOMS


def test_every_public_name_says_what_it_is() -> None:
    """Each has a docstring of its own."""
    for name in deniable.__all__:
        value = getattr(deniable, name)
        assert vars(value).get("__doc__") if isinstance(value, type) else value.__doc__, name
