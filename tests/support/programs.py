"""Programs that tests run and pip does not carry."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import deniable
from support.gate import AT_GATE

__all__ = ["isolated", "program"]


def program(*names: str) -> str:
    """The first of them that is installed. The gate has to have one; elsewhere its tests are skipped."""
    for name in names:
        if found := shutil.which(name):
            return found
    missing = f"no {names[0]} here: `make system-tools` installs it, or says how"
    if AT_GATE:
        pytest.fail(missing)
    pytest.skip(missing)


def isolated(source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the SDK and the standard library, and nothing else that is installed in reach."""
    package = Path(deniable.__file__).parent.parent
    program = f"import sys\nsys.path.insert(0, {str(package)!r})\n{source}"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, *arguments], capture_output=True, text=True, check=True
    )
