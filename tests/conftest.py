"""What holds for all tests."""

from __future__ import annotations

import gc
import os
import sys

from hypothesis import settings

# Each process of a run has a processor at most: further threads of numpy's would wait for it, and spin meanwhile.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A hundred interpreters are started, some of which would compile all that they import: what one has compiled is kept,
# also where the environment says otherwise.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Machines are shared: no test fails for being slow. At the gate the same examples are tried every time.
settings.register_profile("deniable", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("deniable")


def pytest_collection_finish() -> None:
    """Thousands of tests, and the modules that they are in, stay until the end: the collector need not look again."""
    gc.collect()
    gc.freeze()
