"""What is promised of the wire can not be broken by accident, and can be added to."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deniable.v1 import estimate_service_pb2
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


@pytest.mark.parametrize(
    ("message", "number", "was", "become"),
    [
        ("MetricInfo", 12, "decimals", None),
        ("MetricInfo", 13, "least", None),
        ("MetricInfo", 14, "most", None),
        ("EstimateRow", 1, "label", "key"),
        ("EstimateRow", 6, "measure", None),
        ("Estimate", 9, "rows", None),
        ("Estimate", 13, "unit", None),
        ("Estimate", 14, "row_count", None),
        ("Estimate", 15, "kind", "kind"),
        ("Trend", 1, "label", None),
    ],
)
def test_no_number_has_two_meanings(message: str, number: int, was: str, become: str | None) -> None:
    """A reader of before answers had series takes nothing for something else; a row's key reads as its label did."""
    found = estimate_service_pb2.DESCRIPTOR.message_types_by_name[message].fields_by_number.get(number)
    assert (found and found.name) == become, f"it was {was}"
