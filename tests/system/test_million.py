"""A whole fleet, simulated on the SDK's own channels, comes through StreamReports into counters in good time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from deniable_aggregator import demo
from support.commands import deniable, serving

ROOM = Path(demo.__file__).parent
LIMIT = 120.0
"""Seconds for a million devices on two cores."""


@pytest.mark.parametrize(
    "devices", [60_000, pytest.param(1_000_000, marks=[pytest.mark.deep, pytest.mark.timeout(600)])]
)
def test_a_fleet_is_counted_in_two_minutes(tmp_path: Path, devices: int) -> None:
    """Every simulated device is counted once, a million of them in two minutes."""
    with serving(tmp_path, ROOM / "metrics.toml") as endpoint:
        start = time.monotonic()
        shown = deniable(
            "simulate", ROOM / "metrics.toml", "--devices", str(devices), "--truth", ROOM / "truth.toml",
            "--endpoint", endpoint, timeout=600,
        )  # fmt: skip
        seconds = time.monotonic() - start
        assert shown.returncode == 0, shown.stderr
        table = deniable("estimates", "--endpoint", endpoint, "--metric", "dark_mode", "--format", "csv")
        assert f",{devices}" in table.stdout
        assert seconds < LIMIT
