"""A whole fleet, simulated on the SDK's own channels, comes through StreamReports into counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_aggregator import demo
from support.commands import deniable, serving

ROOM = Path(demo.__file__).parent


@pytest.mark.parametrize(
    "devices", [60_000, pytest.param(1_000_000, marks=[pytest.mark.deep, pytest.mark.timeout(600)])]
)
def test_a_fleet_is_counted(tmp_path: Path, devices: int) -> None:
    """Every simulated device is counted once."""
    with serving(tmp_path, ROOM / "metrics.toml", "--simulated") as endpoint:
        shown = deniable(
            "simulate", ROOM / "metrics.toml", "--devices", str(devices), "--truth", ROOM / "truth.toml",
            "--endpoint", endpoint, timeout=600,
        )  # fmt: skip
        assert shown.returncode == 0, shown.stderr
        table = deniable("estimates", "--endpoint", endpoint, "--metric", "dark_mode", "--format", "csv")
        assert f",{devices}" in table.stdout
