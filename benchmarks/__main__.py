"""Runs benchmarks and prints what they measured.

python -m benchmarks                     all of them
python -m benchmarks mechanisms          one of them
python -m benchmarks mechanisms --write  ... into docs/benchmarks/mechanisms.md
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
import sys
from pathlib import Path

import benchmarks

PAGES = Path(__file__).resolve().parent.parent / "docs/benchmarks"


def found() -> list[str]:
    """The modules that are benchmarks, by name."""
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "__main__"]
    return [name for name in names if hasattr(importlib.import_module(f"benchmarks.{name}"), "measure")]


def machine() -> str:
    """Where it was measured."""
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


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
    return 0


if __name__ == "__main__":
    sys.exit(main())
