"""A real Prometheus, and an aggregator for it to look at."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support.aggregators import WORKER, started_by
from support.commands import COMMAND, ROOT
from support.ports import free_port
from support.programs import program
from support.waiting import PATIENCE, soon

__all__ = ["DEPLOY", "Served", "promtool", "query", "rules", "scraping", "served"]

DEPLOY = ROOT / "deploy" / "prometheus"


class Served(NamedTuple):
    """An aggregator in processes of its own."""

    endpoint: str
    page: str
    process: subprocess.Popen[str]

    def workers(self) -> list[int]:
        """The processes that take reports."""
        return [pid for pid, name in started_by(self.process.pid).items() if name == WORKER]


@contextlib.contextmanager
def served(data: Path, http: str, *arguments: str | Path) -> Iterator[Served]:
    """An aggregator, drained at the end."""
    command = [
        COMMAND,
        "serve",
        *arguments,
        "--data",
        data,
        "--listen",
        "127.0.0.1:0",
        "--http",
        http,
        "--grace",
        "2",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    assert process.stdout
    try:
        endpoint = process.stdout.readline().rsplit(" on ", 1)[1].strip()
        page = process.stdout.readline().rsplit(" at ", 1)[1].strip().rstrip("/")
        yield Served(endpoint, page, process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
        process.stdout.close()


def promtool(*arguments: str | Path, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run promtool."""
    return subprocess.run(
        [program("promtool"), *arguments], input=given, capture_output=True, text=True, timeout=PATIENCE
    )


@contextlib.contextmanager
def scraping(directory: Path, targets: Sequence[str], **more: Any) -> Iterator[str]:
    """A Prometheus with the rules of deploy/ that looks every second; its address. More is said of how it asks."""
    config = directory / "prometheus.yml"
    config.write_text(
        json.dumps(  # YAML, too
            {
                "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(DEPLOY / "rules.yml"), str(DEPLOY / "alerts.yml")],
                "scrape_configs": [{"job_name": "deniable", "static_configs": [{"targets": list(targets)}]} | more],
            }
        )
    )
    port = free_port()
    command = [
        program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={directory / 'series'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=error",
    ]  # fmt: skip
    with subprocess.Popen(command, env=os.environ | {"GOMAXPROCS": "1"}) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            soon(lambda: _ready(address), "Prometheus is ready")
            yield address
        finally:
            process.terminate()


def _ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/-/ready", timeout=PATIENCE) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def query(address: str, expression: str) -> list[tuple[dict[str, str], float]]:
    """What an expression is now; a query that is wrong is an error."""
    asked = urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(f"{address}/api/v1/query?{asked}", timeout=PATIENCE) as response:
            found = json.load(response)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{expression}: {error.read().decode()}") from error
    assert found["status"] == "success", found
    return [(each["metric"], float(each["value"][1])) for each in found["data"]["result"]]


def rules(address: str) -> list[dict[str, Any]]:
    """All rules, with their state."""
    with urllib.request.urlopen(f"{address}/api/v1/rules", timeout=PATIENCE) as response:
        groups = json.load(response)["data"]["groups"]
    return [rule for group in groups for rule in group["rules"]]
