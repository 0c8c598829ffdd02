"""An aggregator as a process of its own: python aggregator_main.py DATA_DIR PORT, in ENVIRONMENT.

Prints its port and the kind of its event loop when it is ready.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, cast

from deniable_aggregator import server
from support.aggregator_server import LAYOUT

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
"""It finds the modules that the tests find."""


def ready(started: server.Server) -> None:
    """Say where it listens, and on which loop."""
    sys.stdout.write(f"{started.port} {type(asyncio.get_running_loop()).__module__}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    data_dir, port = sys.argv[1:]
    cast("Any", server).layout_of = lambda layout: layout  # the tests' layout is no collection's
    settings = server.Settings(listen=f"127.0.0.1:{port}", data_dir=Path(data_dir))
    server.serve(settings, cast("Any", [LAYOUT]), ready=ready)
