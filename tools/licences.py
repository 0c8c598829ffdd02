"""The licences of all that an installation brings, in docs/licences.md: python -m tools.licences --write

Names come from requirements/runtime.txt, which is what tests run with; licences from what each package says of itself
where it is installed.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from tools.page_parts import Part

__all__ = ["FREE", "PAGE", "licences", "page"]

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
_LOCKED = ROOT / "requirements" / "runtime.txt"
_PART = Part("<!-- licences: tools/licences.py -->", "<!-- end of licences -->")
_SAID_BY_FILE = {"protobuf": "BSD-3-Clause"}
"""What a package's metadata leaves out, and the licence file within it says."""
_NAMES = {
    "Apache Software License": "Apache-2.0",
    "Apache 2": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
FREE = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "MIT", "PSF-2.0", "Python-2.0", "Zlib"}
"""What asks no more of who ships it than to keep its notice."""


def licences() -> dict[str, str]:
    """The licence of every package, as an SPDX expression, by its name."""
    found = {}
    for name in re.findall(r"^([A-Za-z0-9._-]+)==", _LOCKED.read_text(encoding="utf-8"), re.MULTILINE):
        try:
            found[name] = _SAID_BY_FILE.get(name) or _said(metadata(name).json)
        except PackageNotFoundError:
            continue  # of another platform, or of an older Python
    return found


def page() -> str:
    """The page with the table of today."""
    rows = "\n".join(f"| {name} | {licence} |" for name, licence in sorted(licences().items()))
    return _PART.put(PAGE.read_text(encoding="utf-8"), f"| package | licence |\n|---|---|\n{rows}")


def _said(about: dict[str, str | list[str]]) -> str:
    if expression := about.get("license_expression"):
        return str(expression)
    classified = [str(each).rpartition(" :: ")[2] for each in about.get("classifier", ()) if "License ::" in each]
    words = classified or [str(about.get("license", "unknown"))]
    return " OR ".join(sorted({_NAMES.get(each, each) for each in words}))


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print("\n".join(f"{name}: {licence}" for name, licence in sorted(licences().items())))
