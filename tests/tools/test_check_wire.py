"""What is promised of the wire can not be broken by accident, and can be added to."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import ROOT
from support.waiting import PATIENCE

FILE = Path("proto") / "deniable" / "v1" / "report_service.proto"


def changed(room: Path, before: str, after: str) -> subprocess.CompletedProcess[str]:
    """The check, in a copy in which the wire has been changed."""
    for part in ("proto", "buf.yaml"):
        source = ROOT / part
        copied = shutil.copytree(source, room / part) if source.is_dir() else shutil.copy(source, room / part)
        assert copied
    (room / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "check_wire.py", room / "tools")
    text = (room / FILE).read_text()
    assert before in text
    (room / FILE).write_text(text.replace(before, after, 1))
    command = [sys.executable, str(room / "tools" / "check_wire.py")]
    return subprocess.run(command, cwd=room, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("bytes rows = 5;", "string rows = 5;", 'changed type from "bytes" to "string"'),
        ("bytes rows = 5;", "bytes lines = 5;", 'changed name from "rows" to "lines"'),
        ("bytes rows = 5;", "bytes rows = 55;", "deleted"),
    ],
    ids=["another type", "another name", "another number"],
)
def test_what_was_promised_can_not_be_changed(tmp_path: Path, before: str, after: str, said: str) -> None:
    """The type, the name and the number of a field: each is told, with its file."""
    found = changed(tmp_path, before, after)
    assert found.returncode
    assert said in found.stdout
    assert FILE.name in found.stdout


def test_what_is_new_breaks_nothing(tmp_path: Path) -> None:
    """A field beside the others."""
    found = changed(tmp_path, "bytes rows = 5;", "bytes rows = 5;\n  // New.\n  bytes more = 77;")
    assert (found.returncode, found.stdout) == (0, "")
