"""`buf breaking` against the newest commit before this one that has a wire; a first commit has nothing to break."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Compare proto/ with what the parent of HEAD had, where there is one."""
    known = subprocess.run(
        ["git", "cat-file", "-e", "HEAD~1:proto/deniable/v1"], cwd=ROOT, capture_output=True, check=False
    )
    if known.returncode:
        print("no earlier wire to compare with")
        return 0
    buf = Path(sys.executable).parent / "buf"
    return subprocess.run([buf, "breaking", "--against", ".git#ref=HEAD~1"], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
