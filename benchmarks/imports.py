"""What importing a telemetry library costs an application, beside others.

Every library is in an environment of its own, and every start is a fresh interpreter: the least of many, with
everybody taking turns, less that of an interpreter which imports nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers import ROOT, environment

__all__ = ["measure"]

TEXT = """\
# What importing the SDK costs

The least of {rounds} cold starts beyond an interpreter that imports nothing, everybody taking turns.

| library | what is run | milliseconds | MB |
|---|---|---|---|
{rows}

The wheel of deniable is {wheel:.0f} kB. gRPC and protobuf, which it needs to upload, are imported on its upload
thread when the first batch leaves.
"""
ROUNDS = 10
_PEAK = """
import sys
sys.stdout.write(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
_START = f"""
import deniable
collection = deniable.Collection.load({str(ROOT / "examples/editor.toml")!r})
counted = deniable.Settings(count_ci=True)
client = deniable.Client(
    collection, consent=deniable.Consent.GRANTED, segment={{"platform": "linux"}}, settings=counted
)
client.record("dark_mode", True)
"""


class Row(NamedTuple):
    """A line of the table."""

    library: str
    what: str
    program: str
    requirements: tuple[str, ...]
    """What is installed; nothing: the wheel of deniable alone."""


ROWS = (
    Row("deniable", "`import deniable`", "import deniable", ()),
    Row("deniable", "load a collection, make a client, record", _START, ()),
    Row("glean-sdk 71.0.0", "`import glean`", "import glean", ("glean-sdk==71.0.0",)),
    Row(
        "opentelemetry 1.45.1, OTLP over gRPC",
        "import of its metric exporter",
        "from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter",
        ("opentelemetry-exporter-otlp-proto-grpc==1.45.1",),
    ),
    Row("sentry-sdk 2.75.0", "`import sentry_sdk`", "import sentry_sdk", ("sentry-sdk==2.75.0",)),
    Row("posthog 7.91.1", "`import posthog`", "import posthog", ("posthog==7.91.1",)),
)


class Start(NamedTuple):
    """What one start took."""

    milliseconds: float
    kilobytes: int


@contextmanager
def installed() -> Iterator[tuple[Path, int]]:
    """The interpreter of a new environment with the wheel and nothing else, and the size of the wheel."""
    with tempfile.TemporaryDirectory() as directory:
        home, wheels = Path(directory) / "venv", Path(directory) / "wheels"
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
        subprocess.run(build, cwd=ROOT / "client", check=True, capture_output=True)
        (wheel,) = wheels.iterdir()
        venv.create(home)
        packages = sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)})
        with zipfile.ZipFile(wheel) as files:
            files.extractall(packages)
        yield home / "bin/python", wheel.stat().st_size


def started(interpreter: Path, program: str) -> Start:
    """Start it once."""
    before = time.perf_counter()
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [str(interpreter), "-c", program + _PEAK]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=kept)
    return Start((time.perf_counter() - before) * 1e3, int(ran.stdout))


def least(starts: list[Start]) -> Start:
    """The least of each."""
    return Start(min(each.milliseconds for each in starts), min(each.kilobytes for each in starts))


def measure() -> str:
    """The table."""
    with installed() as (own, wheel):
        found = [(row, interpreter) for row in ROWS
                 if (interpreter := environment(row.requirements) if row.requirements else own)]  # fmt: skip
        starts: list[tuple[list[Start], list[Start]]] = [([], []) for _ in found]
        for _ in range(ROUNDS + 1):
            for (row, interpreter), (bare, full) in zip(found, starts, strict=True):
                bare.append(started(interpreter, ""))
                full.append(started(interpreter, row.program))
    lines = []
    for (row, _), (bare, full) in zip(found, starts, strict=True):
        # The first of each also writes its bytecode.
        nothing, whole = least(bare[1:]), least(full[1:])
        milliseconds = whole.milliseconds - nothing.milliseconds
        megabytes = (whole.kilobytes - nothing.kilobytes) / 1024
        told = f"{milliseconds:.1f}" if milliseconds >= 1 else "< 1"  # starts differ by more
        lines.append(f"| {row.library} | {row.what} | {told} | {megabytes:.1f} |")
    return TEXT.format(rounds=ROUNDS, rows="\n".join(lines), wheel=wheel / 1e3)
