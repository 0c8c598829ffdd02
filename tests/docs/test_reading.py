"""docs/reading.md says of windows what the analyst does."""

from __future__ import annotations

from deniable_aggregator.analysis import query
from support.commands import ROOT


def test_how_far_back_the_newest_epoch_is_looked_for() -> None:
    """In epochs, whatever their length."""
    said = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    assert f"any\n  other of the last {query._LOOK_BACK} epochs" in said
