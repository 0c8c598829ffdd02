"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from support.gate import AT_GATE, leave_to_tests

# Each process of a run has a processor at most: further threads of numpy's would wait for it, and spin meanwhile.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A hundred interpreters are started, some of which would compile all that they import: what one has compiled is kept,
# also where the environment says otherwise.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Machines are shared: no test fails for being slow. At the gate the same examples are tried every time.
settings.register_profile("deniable", deadline=None, derandomize=AT_GATE)
settings.load_profile("deniable")

leave_to_tests()

_FOLDERS = sorted(path for path in Path(__file__).parent.iterdir() if any(path.rglob("test_*.py")))
"""All tests are in these."""

_LOOKS_EVERY = 20_000
"""So many objects more than have gone: what tests make and drop is looked through as seldom as it is worth it."""

# What is collected stays until the end: the collector would look through all of it again and again, and find nothing.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """No test may need another one to have run before it: any order will do."""
    parser.addoption(
        "--shuffled", type=int, metavar="SEED", help="run files, and the tests of each, in a random order"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The processes of a run read the folders from different places on. What one has compiled the others then find:
    in a new clone each would compile all of it, at the same time."""
    if config.args != ["tests"] or "PYTEST_XDIST_WORKER" not in os.environ:
        return
    number, of = int(os.environ["PYTEST_XDIST_WORKER"][2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    folders = [path for path in _FOLDERS for _ in path.rglob("test_*.py")]
    first = _FOLDERS.index(folders[number * len(folders) // of])
    config.args = [str(path) for path in (*_FOLDERS[first:], *_FOLDERS[:first])]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file's tests stay together, and the files of a folder that share more: what they share is made once."""
    items.sort(key=lambda item: _FOLDERS.index(next(path for path in item.path.parents if path in _FOLDERS)))
    if (seed := config.getoption("--shuffled")) is None:
        return
    order = random.Random(seed)
    paths = sorted({item.path for item in items})
    folders = {path: path.parent if (path.parent / "conftest.py").exists() else path for path in paths}
    places = {each: order.random() for each in dict.fromkeys([*folders.values(), *paths])}
    order.shuffle(items)
    items.sort(key=lambda item: (places[folders[item.path]], places[item.path]))


def pytest_collection_finish() -> None:
    """Thousands of tests, and the modules that they are in, stay until the end: the collector need not look again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_LOOKS_EVERY)  # hypothesis is told of every look, in Python
    gc.enable()
