"""Programs that tests run and pip does not carry."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import deniable
from support.gate import AT_GATE

__all__ = ["deploys", "fuzzes", "isolated", "program"]

_SERVERS = f"{os.pathsep}/usr/sbin"
"""Where Debian puts servers, which are in not everybody's path."""
_DEPLOYS = Path(__file__).resolve().parents[2] / ".venv-deploy" / "bin"
_FUZZES = Path(__file__).resolve().parents[2] / ".venv-fuzz" / "bin"


def program(*names: str) -> str:
    """The first of them that is installed. The gate has to have one; elsewhere its tests are skipped."""
    for name in names:
        if found := shutil.which(name, path=os.environ.get("PATH", os.defpath) + _SERVERS):
            return found
    raise _missing(f"no {names[0]} here: `make system-tools` installs it, or says how")


def deploys(name: str) -> Path:
    """A program that checks or runs what is in deploy/, of the environment that `make test` sets up for it."""
    if not (_DEPLOYS / name).exists():
        raise _missing(f"no {name} here: `make .venv-deploy/.ready` installs it, where there is one for this machine")
    return _DEPLOYS / name


def fuzzes(name: str) -> Path:
    """A program that makes up inputs, of the environment that `make test` sets up for it."""
    if not (_FUZZES / name).exists():
        raise _missing(f"no {name} here: `make .venv-fuzz/.ready` installs it")
    return _FUZZES / name


def _missing(what: str) -> BaseException:
    return pytest.fail.Exception(what) if AT_GATE else pytest.skip.Exception(what)


def isolated(source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program with the SDK and the standard library, and nothing else that is installed in reach."""
    package = Path(deniable.__file__).parent.parent
    program = f"import sys\nsys.path.insert(0, {str(package)!r})\n{source}"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, *arguments], capture_output=True, text=True, check=True
    )
