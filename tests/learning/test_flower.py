"""A course through Flower, in an environment of its own: Flower needs an older protobuf than the house's has."""

from __future__ import annotations

import subprocess

import pytest

from support.commands import ROOT
from support.waiting import PATIENCE

PYTHON = ROOT / ".venv-flower" / "bin" / "python"
_OPTIONS = ("-p", "no:cacheprovider", "-W", "default::DeprecationWarning")
"""Of what Flower is made of some parts are deprecated by others."""


@pytest.mark.deep
def test_a_course_runs_through_flower() -> None:
    """All of in_flower.py passes; `make test-deep` makes the environment."""
    assert PYTHON.exists(), "make .venv-flower/.ready"
    ran = subprocess.run(
        [PYTHON, "-m", "pytest", "-q", *_OPTIONS, "tests/learning/in_flower.py"],
        capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout
