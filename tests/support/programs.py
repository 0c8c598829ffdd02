"""Programs that tests run and pip does not carry."""

from __future__ import annotations

import os
import shutil

import pytest

__all__ = ["program"]


def program(*names: str) -> str:
    """The first of them that is installed. The gate has to have one; elsewhere its tests are skipped."""
    for name in names:
        if found := shutil.which(name):
            return found
    missing = f"no {names[0]} here: `make system-tools` installs it, or says how"
    if "CI" in os.environ:
        pytest.fail(missing)
    pytest.skip(missing)
