"""What ingest loads: what it needs, and nothing of what makes answers."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

ANSWERING = (
    "deniable_aggregator.answers", "deniable_aggregator.consistency", "deniable_aggregator.estimators",
    "deniable_aggregator.telling", "deniable_aggregator.web", "deniable_aggregator.planning",
    "deniable_aggregator.analysis.query", "scipy", "pandas", "polars", "pyarrow", "aiohttp",
)  # fmt: skip


@pytest.mark.parametrize("room", ["deniable_aggregator.ingest", "deniable_aggregator.serving.worker"])
def test_a_worker_loads_nothing_of_what_answers(room: str) -> None:
    """Estimators, answers and the page take memory and time that each worker would take again."""
    program = (
        "import importlib, json, sys\nimportlib.import_module(sys.argv[1])\nprint(json.dumps(list(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", program, room], capture_output=True, text=True, check=True).stdout
    loaded = json.loads(told)
    assert room in loaded
    assert not [name for name in loaded if name.startswith(ANSWERING)]
