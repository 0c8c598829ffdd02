"""The SDK as applications get it: a wheel, in an environment with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.commands import EDITOR, ROOT, deniable, serving
from support.waiting import PATIENCE

BIN = Path(sys.executable).parent
APPLICATION = """
import sys
import deniable
assert not {name.partition(".")[0] for name in sys.modules} & {"grpc", "google", "numpy"}, "imported too early"
client = deniable.Client(
    deniable.Collection.load(sys.argv[1]), endpoint=sys.argv[2], state=sys.argv[3],
    consent=deniable.Consent.GRANTED, segment={"platform": "macos"}, strict=True,
)
client.record("dark_mode", True)
assert client.flush(20.0), client.status()
client.close()
print(deniable.__file__)
"""


def test_the_wheel_alone_records_and_uploads(tmp_path: Path) -> None:
    """In a new environment with only the wheel and its two dependencies, an application reports and is counted."""
    python = tmp_path / "venv" / "bin" / "python"
    wheels = tmp_path / "wheels"
    build: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels]
    subprocess.run(build, cwd=ROOT / "client", check=True, capture_output=True)
    (wheel,) = wheels.iterdir()
    assert wheel.stat().st_size < 240_000, "the wheel is meant to stay under 240 kB"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    install: list[str | Path] = [BIN / "uv", "pip", "install", "--quiet", "--python", python, wheel]
    subprocess.run(install, check=True, capture_output=True, env=os.environ)
    installed = subprocess.run(
        [BIN / "uv", "pip", "list", "--python", python], check=True, capture_output=True, text=True
    )
    names = {line.split()[0] for line in installed.stdout.splitlines()[2:]}
    assert names == {"deniable", "grpcio", "protobuf", "typing-extensions"}
    with serving(tmp_path / "data", EDITOR) as endpoint:
        ran = subprocess.run(
            [python, "-I", "-c", APPLICATION, EDITOR, endpoint, tmp_path / "device.db"],
            capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        assert str(tmp_path) in ran.stdout
        rows = deniable("estimates", "--endpoint", endpoint, "--metric", "dark_mode", "--format", "csv").stdout
    assert ",1," in rows.splitlines()[1]
