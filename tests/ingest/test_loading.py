"""What ingest loads: what it needs, and nothing of what makes answers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import EDITOR

ANSWERING = (
    "deniable_aggregator.answers", "deniable_aggregator.consistency", "deniable_aggregator.estimators",
    "deniable_aggregator.telling", "deniable_aggregator.web", "deniable_aggregator.planning",
    "deniable_aggregator.analysis.query", "scipy", "pandas", "polars", "pyarrow", "aiohttp",
)  # fmt: skip

SERVING = """
import contextlib, io, json, sys
from deniable_aggregator.commands import main
sys.argv = ["deniable", "serve", sys.argv[1], "--check", "--http", "off", "--data", sys.argv[2]]
with contextlib.redirect_stdout(io.StringIO()):
    main()
print(json.dumps(list(sys.modules)))
"""


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


def test_who_shows_no_page_loads_none(tmp_path: Path) -> None:
    """The page's libraries take half of the time in which an aggregator starts."""
    command = [sys.executable, "-c", SERVING, str(EDITOR), str(tmp_path / "data")]
    loaded = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert "deniable_aggregator.commands.serve" in loaded
    assert not [name for name in loaded if name.startswith(("deniable_aggregator.web", "aiohttp"))]
