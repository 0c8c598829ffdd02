"""`buf breaking` against what is promised of the wire: proto/promised.json, an image that buf has built.

What may be added (fields, methods, messages) may be added at any time. What is changed or taken away breaks whoever
has been built on it, so it fails here. Where that is meant, `make promise` puts down the new promise, the changelog
says what breaks, and both are in the commit that does it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROMISED = Path("proto") / "promised.json"


def main() -> int:
    """Compare proto/ with the image."""
    buf = Path(sys.executable).parent / "buf"
    return subprocess.run([buf, "breaking", "--against", PROMISED], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
