"""Whoever sits at the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.person import Person


@pytest.fixture
def person(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Person:
    """With a home in which nothing is found, and a directory for pages."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return Person(capsys)
