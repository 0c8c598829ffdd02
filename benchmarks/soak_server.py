"""The aggregator of a soak, as `deniable serve` has it, by a clock that can be moved while it serves.

python -m benchmarks.soak_server DIRECTORY LISTEN HTTP WORKERS    prints its port, then the address of its page
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from deniable import Collection
from deniable_aggregator.analysis.query import analyst_of
from deniable_aggregator.ingest import Calendar
from deniable_aggregator.serving.answering import answering
from deniable_aggregator.serving.server import Settings
from deniable_aggregator.serving.sources import Sources
from deniable_aggregator.serving.supervisor import Program, Supervisor, serve
from deniable_aggregator.web import Site

__all__ = ["COLLECTION", "DATA", "DAY", "move_clock"]

DAY = 86400
DATA = "data"
"""Where in its directory the store is: another file system may be mounted there."""
_OFFSET = "offset"
_TEXT = """
[collection]
name = "soak"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 3.0
[segments]
platform = ["linux", "macos", "windows"]
[metrics.dark]
kind = "boolean"
description = "Whether it is dark"
epsilon = 1.0
[metrics.browser]
kind = "category"
description = "The browser"
mechanism = "randomized_response"
epsilon = 2.0
values = ["a", "b", "c", "d"]
"""
COLLECTION = Collection.loads(_TEXT)
"""Both columns have a counter for each symbol: what is sent says which of them grow."""


@dataclass(frozen=True)
class _Moved:
    """The machine's clock, moved by as many seconds as a file says."""

    file: Path

    def __call__(self) -> float:
        """The time."""
        return time.time() + float(self.file.read_text())


def move_clock(directory: Path, seconds: float) -> None:
    """Move the clock of the aggregator of a directory, in one step: nobody reads half a number."""
    fresh = directory / f"{_OFFSET}.fresh"
    fresh.write_text(str(seconds))
    fresh.replace(directory / _OFFSET)


def main() -> None:
    """Serve."""
    from benchmarks.soak_server import _Moved as Moved  # what is in __main__ is not found by who reads the orders

    directory, listen, http, workers = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
    file, data = directory / "metrics.toml", directory / DATA
    file.write_text(_TEXT)
    clock = Moved(directory / _OFFSET)
    settings = Settings(listen=listen, data_dir=data, board=data / "board", calendar=Calendar(clock=clock), grace=5.0)
    supervisor = Supervisor(Program(settings, Sources((file,)), answering), workers)
    site = Site(http, analyst_of(supervisor.catalog))
    supervisor.attach(site.beside)

    def ready() -> None:
        print(supervisor.port, flush=True)
        print(site.url.rstrip("/"), flush=True)

    serve(supervisor, ready)


if __name__ == "__main__":
    main()
