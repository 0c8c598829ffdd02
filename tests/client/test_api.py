"""What `import deniable` gives, and what it takes."""

from __future__ import annotations
import __future__

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import deniable

PACKAGE = Path(deniable.__file__).parent.parent


def imported(*flags: str) -> set[str]:
    """The top-level modules that `import deniable` adds to a fresh interpreter."""
    program = f"""
import json, sys
sys.path.insert(0, {str(PACKAGE)!r})
before = set(sys.modules)
import deniable
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    run = subprocess.run(
        [sys.executable, *flags, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return {name.split(".")[0] for name in json.loads(run.stdout)}


def test_importing_it_loads_nothing_but_the_standard_library() -> None:
    """Where grpc is installed, it is not touched before the first upload."""
    assert imported() - {"deniable"} <= sys.stdlib_module_names


def test_it_imports_where_nothing_else_is_installed() -> None:
    """With site-packages out of reach there is nothing but the standard library to load, and that is enough."""
    assert "deniable" in imported("-I", "-S")


def test_its_public_names_are_those_of_its_list() -> None:
    """`__all__` names everything that is there for others, nothing else, in order."""
    public = {
        name
        for name, what in vars(deniable).items()
        if not name.startswith("_") and not isinstance(what, ModuleType | __future__._Feature)
    }
    assert public == set(deniable.__all__)
    assert list(deniable.__all__) == sorted(deniable.__all__)


def test_every_public_name_says_what_it_is() -> None:
    """Each has a docstring of its own."""
    for name in deniable.__all__:
        assert vars(getattr(deniable, name)).get("__doc__"), name
