"""Runs a command on a machine that is busy: beside an endless loop for each processor that it may use.

    python tools/busy.py pytest -n 2

The loops end with this process, however it ends. The exit code is the command's.
"""

from __future__ import annotations

import os
import subprocess
import sys

LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"


def main(command: list[str]) -> int:
    """Run a command beside the loops."""
    loops = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in os.sched_getaffinity(0)]
    try:
        return subprocess.run(command, check=False).returncode
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
