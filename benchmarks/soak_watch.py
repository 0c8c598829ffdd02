"""Who watches over a soak: a Prometheus with the rules of deploy/, in which a minute is a second; and memory.

words:
  hurried  rules whose spans of minutes, hours and days are a sixtieth as long
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.processes import memory_bytes, tree

__all__ = ["HURRY", "firing", "free_port", "hurried", "memory", "watching"]

HURRY = 60
_RULES = Path(__file__).resolve().parent.parent / "deploy" / "prometheus"
_SECONDS = {"m": 60, "h": 3600, "d": 86400}
_SPAN = re.compile(r"(for: |\[|offset )(\d+)([mhd])\b")
_READY_SECONDS = 60.0


def hurried(text: str) -> str:
    """Rules whose spans are a sixtieth as long. Windows of less than five looks have five."""

    def shorter(span: re.Match[str]) -> str:
        seconds = int(span[2]) * _SECONDS[span[3]] // HURRY
        return f"{span[1]}{max(seconds, 5 if span[1] == '[' else 1)}s"

    return _SPAN.sub(shorter, text)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
        return port


@contextlib.contextmanager
def watching(room: Path, page: str) -> Iterator[str]:
    """A Prometheus that looks at an aggregator every second; its address."""
    room.mkdir()
    for name in ("rules.yml", "alerts.yml"):
        (room / name).write_text(hurried((_RULES / name).read_text()))
    each = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    targets = [{"targets": [page.removeprefix("http://")]}]
    config = {
        "global": each,
        "rule_files": [str(room / "rules.yml"), str(room / "alerts.yml")],
        "scrape_configs": [{"job_name": "deniable", "static_configs": targets}],
    }
    (room / "prometheus.yml").write_text(json.dumps(config))  # YAML, too
    found, port = shutil.which("prometheus"), free_port()
    if found is None:
        raise RuntimeError("no prometheus here: `make system-tools` installs it, or says how")
    command = [
        found, f"--config.file={room / 'prometheus.yml'}", f"--storage.tsdb.path={room / 'series'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=error",
    ]  # fmt: skip
    with subprocess.Popen(command, env=os.environ | {"GOMAXPROCS": "1"}, stdin=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address)
            yield address
        finally:
            process.terminate()


def _wait_for(address: str) -> None:
    end = time.monotonic() + _READY_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/-/ready", timeout=5) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise RuntimeError("Prometheus is not ready")


def firing(address: str) -> set[str]:
    """The alerts that fire now."""
    with urllib.request.urlopen(f"{address}/api/v1/alerts", timeout=30) as answer:
        alerts: list[dict[str, Any]] = json.load(answer)["data"]["alerts"]
    return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}


def memory(pid: int) -> dict[str, float]:
    """Megabytes of an aggregator's processes by what they are called, with the one of it itself."""
    found: dict[str, float] = {}
    for each in tree(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            name = "supervisor" if each == pid else Path(f"/proc/{each}/comm").read_text().strip()
            found[name] = found.get(name, 0.0) + memory_bytes({each}) / 1e6
    return found
