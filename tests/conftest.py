"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import random
import sys

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

_LOOKS_EVERY = 20_000
"""So many objects more than have gone: what tests make and drop is looked through as seldom as it is worth it."""

# What is collected stays until the end: the collector would look through all of it again and again, and find nothing.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """No test may need another one to have run before it: any order will do."""
    parser.addoption(
        "--shuffled", type=int, metavar="SEED", help="run files, and the tests of each, in a random order"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file's tests stay together, and the files of a folder that share more: what they share is made once."""
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
