"""What is released, made twice and looked at: python -m tools.release DIRECTORY

words:
  materials  everything that an installation consists of, with licences, in CycloneDX's JSON

The directory has the wheels and source distributions of both packages then, and the materials of each. An error says
what is wrong with them, and nothing is left there: two builds that differ, a description that an index would not
show, a wheel that is not for every platform.

The tools that look have an environment of their own (requirements/release.txt), and so has each package whose
materials are told: with what requirements/runtime.txt locks, and nothing else.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

__all__ = ["differing", "main", "not_universal", "without_places"]

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
RELEASE_BIN = ROOT / ".venv-release" / "bin"
PACKAGES = {"deniable": ROOT / "client", "deniable-aggregator": ROOT / "aggregator"}
ANY_PLATFORM = "-py3-none-any.whl"


def main() -> None:
    """Make and look at a release."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tools.release DIRECTORY")
    into = Path(sys.argv[1])
    with TemporaryDirectory() as temporary:
        first, second = Path(temporary, "first"), Path(temporary, "second")
        for directory in (first, second):
            _build(directory)
        if wrong := differing(first, second):
            raise SystemExit(f"two builds of the same files differ: {', '.join(wrong)}")
        if wrong := not_universal(file.name for file in first.iterdir()):
            raise SystemExit(f"no wheel for every platform: {', '.join(wrong)}")
        _run(RELEASE_BIN / "twine", "check", "--strict", *sorted(first.iterdir()))
        for name, package in PACKAGES.items():
            _tell_materials(name, package, first, Path(temporary))
        shutil.rmtree(into, ignore_errors=True)
        shutil.copytree(first, into)
    for file in sorted(into.iterdir()):
        print(f"{file.stat().st_size:9,} bytes  {file}")


def differing(first: Path, second: Path) -> list[str]:
    """The names of files that are not in both directories with the same bytes."""
    names = {file.name for directory in (first, second) for file in directory.iterdir()}
    return sorted(name for name in names if _bytes(first / name) != _bytes(second / name))


def not_universal(names: Iterable[str]) -> list[str]:
    """Those of wheels that some platform, or some Python of ours, could not install."""
    return sorted(name for name in names if name.endswith(".whl") and not name.endswith(ANY_PLATFORM))


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def _build(into: Path) -> None:
    for package in PACKAGES.values():
        _run(BIN / "python", "-m", "hatchling", "build", "-d", into, cwd=package)


def _tell_materials(name: str, package: Path, built: Path, temporary: Path) -> None:
    environment, told = temporary / f"{name}-environment", built / f"{name}.cdx.json"
    wheels = sorted(built.glob("*.whl")) if name != "deniable" else sorted(built.glob("deniable-[0-9]*.whl"))
    _run(BIN / "python", "-m", "venv", "--without-pip", environment)
    locked = ROOT / "requirements" / "runtime.txt"
    _run(
        BIN / "uv", "pip", "install", "--quiet", "--python", environment / "bin" / "python", "--constraint", locked,
        *wheels,
    )  # fmt: skip
    _run(
        RELEASE_BIN / "cyclonedx-py", "environment", environment, "--pyproject", package / "pyproject.toml",
        "--mc-type", "library" if name == "deniable" else "application", "--output-reproducible", "--short-PURLs",
        "--output-file", told,
    )  # fmt: skip
    told.write_text(json.dumps(without_places(json.loads(told.read_text())), indent=2) + "\n")


def without_places(materials: dict[str, Any]) -> dict[str, Any]:
    """Materials that do not say where on this machine a wheel of ours was taken from."""
    for component in materials["components"]:
        found = component.pop("externalReferences", [])
        if kept := [each for each in found if not each["url"].startswith("file:")]:
            component["externalReferences"] = kept
    return materials


def _run(*command: str | Path, cwd: Path = ROOT) -> None:
    ran = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{ran.stdout}{ran.stderr}")


if __name__ == "__main__":
    main()
