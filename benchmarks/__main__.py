"""Runs benchmarks and prints what they measured.

python -m benchmarks                     all of them
python -m benchmarks mechanisms          one of them
python -m benchmarks mechanisms --write  ... into docs/benchmarks/mechanisms.md
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import pkgutil
import platform
import re
import sys
import tempfile
from functools import cache
from pathlib import Path

import benchmarks
from benchmarks.ingest_servers import batch
from benchmarks.processes import Running
from benchmarks.raw_load import Calls
from tools import figures

PAGES = Path(__file__).resolve().parent.parent / "docs/benchmarks"


def found() -> list[str]:
    """The modules that are benchmarks, by name."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "__main__"]
    return [name for name in names if hasattr(importlib.import_module(f"benchmarks.{name}"), "measure")]


def processor() -> str:
    """The processor's name, as far as the system says."""
    with contextlib.suppress(OSError):
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found[1]
    return platform.processor() or platform.machine()


@cache
def speed() -> float:
    """How fast this host is: microseconds of processor time that a bare gRPC server takes for a call here."""
    bodies = (batch(20).SerializeToString().hex(),)
    with tempfile.TemporaryDirectory() as room:
        server = Running("benchmarks.duress_servers", "bare", room, "1")
        try:
            Calls(server.port, 2000, bodies).run()
            before = server.cpu_seconds()
            seen = Calls(server.port, 10_000, bodies).run()
            return 1e6 * (server.cpu_seconds() - before) / seen.acknowledged
        finally:
            server.end()


def machine() -> str:
    """Where it was measured."""
    return (
        f"{processor()}, {platform.machine()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}; a bare gRPC server takes {speed():.0f} µs of its time for a call"
    )


def main() -> int:
    """Run some benchmarks, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(found())}")
    parser.add_argument("--write", action="store_true", help=f"into {PAGES.relative_to(PAGES.parent.parent)}")
    options = parser.parse_args()
    names = options.names or found()
    if unknown := set(names) - set(found()):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(found())}")
    for name in names:
        print(f"{name}...", file=sys.stderr, flush=True)
        text = importlib.import_module(f"benchmarks.{name}").measure()
        page = f"{text.rstrip()}\n\nMeasured by `.venv/bin/python -m benchmarks {name}` on {machine()}.\n"
        print(page)
        if options.write:
            PAGES.mkdir(exist_ok=True)
            (PAGES / f"{name}.md").write_text(page, encoding="utf-8")
            figures.made(f"benchmarks.{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
