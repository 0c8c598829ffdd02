"""Requests over HTTP, led by the API's own description: each is answered as it says, and none is a server error.

Schemathesis has an environment of its own (`.venv-fuzz`), which `make test` sets up.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable import Collection
from deniable_aggregator.telling.questions import Questions
from support.editor import BROWSER, HEAD, MINUTES
from support.programs import fuzzes
from support.site import Running, running
from support.waiting import PATIENCE

TODAY = 20_000
COLLECTION = Collection.loads(f"{HEAD}{BROWSER}{MINUTES}")
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance"
)
KNOWN = """
[parameters]
"path.collection" = "editor"
"path.metric" = ["browser", "minutes"]
"path.segment" = "platform"
"""
"""What there is: chance alone would be told of each that it is not known."""


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """An aggregator with a few reports."""
    with running(COLLECTION) as started:
        started.put(COLLECTION, TODAY, {"browser": [20, 30, 40]})
        yield started


def tried(aggregator: Running, directory: Path, *options: str, known: bool = True) -> tuple[bool, str]:
    """Whether all that was asked was answered as described, and what was said of it."""
    config = directory / "schemathesis.toml"
    config.write_text(KNOWN if known else "")
    always = ["--checks", CHECKS, "--seed", "1", "--no-color", "--generation-database", "none", "--no-shrink"]
    command: list[str | Path] = [fuzzes("st"), "--config-file", config, "run", f"{aggregator.url}/api/openapi.json"]
    command += [*always, *options]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode in {0, 1}, ran.stdout + ran.stderr
    assert "Tested: " in ran.stdout, ran.stdout
    return ran.returncode == 0, ran.stdout


def test_requests_are_answered_as_described(aggregator: Running, tmp_path: Path) -> None:
    """Every route, with parameters of all sorts, some of them as no parameter can be."""
    passed, told = tried(aggregator, tmp_path, "--phases", "fuzzing", "--max-examples", "3")
    assert passed, told


@pytest.mark.deep
@pytest.mark.parametrize("known", [True, False])
def test_thousands_of_requests_are_answered_as_described(aggregator: Running, tmp_path: Path, known: bool) -> None:
    """The same for longer, and each parameter at its ends and beyond them; of what there is, and of what is not."""
    passed, told = tried(aggregator, tmp_path, "--max-examples", "100", known=known)
    assert passed, told


def test_a_server_error_is_found(aggregator: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a fault planted in what answers, the requests do not pass."""

    async def counters(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Questions, "counters", counters)
    path = "/api/v1/collections/{collection}/counters"
    chosen = ("--include-path", path, "--phases", "fuzzing", "--max-examples", "20", "--mode", "positive")
    passed, told = tried(aggregator, tmp_path, *chosen)
    assert not passed
    assert "Server error" in told
