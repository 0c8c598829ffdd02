"""Generates client/deniable/v1 from proto/; with --check, says whether what is checked in is what it would be."""

from __future__ import annotations

import argparse
import filecmp
import os
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKED_IN = ROOT / "client" / "deniable" / "v1"
INIT = '"""The wire: generated from proto/deniable/v1 by `make proto`, checked in."""\n'


def generate(target: Path) -> None:
    """Write the generated modules for every file of proto/ below the target."""
    protos = sorted(str(path) for path in (ROOT / "proto").rglob("*.proto"))
    outputs = [f"--{kind}_out={target}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")]
    well_known = files("grpc_tools") / "_proto"
    beside = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}  # protoc-gen-mypy
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"-I{well_known}"]
    subprocess.run([*command, *outputs, *protos], check=True, capture_output=True, env=os.environ | beside)
    (target / "deniable" / "v1" / "__init__.py").write_text(INIT)


def differences(fresh: Path) -> list[str]:
    """Names of the files that are not, byte for byte, what they would be."""
    names = {path.name for directory in (fresh, CHECKED_IN) for path in directory.glob("*.py*")}
    _, mismatch, errors = filecmp.cmpfiles(fresh, CHECKED_IN, names, shallow=False)
    return sorted(mismatch + errors)


def main() -> int:
    """Generate, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        fresh = Path(scratch) / "deniable" / "v1"
        if check:
            stale = differences(fresh)
            if stale:
                print(f"not what proto/ generates: {', '.join(stale)}; run `make proto`", file=sys.stderr)
            return len(stale) > 0
        for old in CHECKED_IN.glob("*.py*"):
            old.unlink()
        for new in fresh.glob("*.py*"):
            (CHECKED_IN / new.name).write_bytes(new.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
