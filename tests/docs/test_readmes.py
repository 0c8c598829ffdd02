"""Every block of code in the READMEs does what it is there for, in a directory of its own, with a real aggregator.

words:
  block   fenced code with a language: python and sh are run, toml is loaded, text is what something has printed
  shown   what `deniable init` writes: the collection of all READMEs, and what the first one shows is in it
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import deniable
from deniable import Client, Collection
from deniable_aggregator.planning.start import FIRST, start
from deniable_aggregator.telling.tables import COLUMNS
from support.commands import ROOT, serving
from support.commands import deniable as deniable_command
from support.waiting import PATIENCE

READMES = ("README.md", "client/README.md", "aggregator/README.md")
MADE = (*READMES, "CONTRIBUTING.md", "examples/README.md")
_FENCE = re.compile(r"^( *)```(.+)\n((?:(?! *```).*\n)*?)^\1```$", re.MULTILINE)
_INDENTED = re.compile(r"^\n((?:    .*\n)+)", re.MULTILINE)


class Block(NamedTuple):
    """Some code of a page."""

    where: str
    """The page and the line."""
    language: str
    """As the fence says it."""
    code: str
    """What is between the fences."""


def blocks(page: str) -> list[Block]:
    """Those of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(f"{page}:{text.count(chr(10), 0, found.start()) + 1}", found[2], textwrap.dedent(found[3]))
        for found in _FENCE.finditer(text)
    ]


@pytest.fixture(scope="module")
def shown() -> str:
    """The collection that the READMEs are about."""
    text = start("shown", FIRST, "metrics.toml")
    for block in blocks("README.md"):
        assert block.language != "toml" or block.code in text, block.where
    return text


@pytest.fixture(scope="module")
def endpoint(shown: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An aggregator of it."""
    directory = tmp_path_factory.mktemp("aggregator")
    (directory / "metrics.toml").write_text(shown)
    with serving(directory / "data", directory / "metrics.toml") as address:
        yield address


class Reader:
    """Who follows a README, block by block, on a machine where an aggregator listens."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._clients: list[Client] = []

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        if block.language == "python":
            self._run(block)
        elif block.language == "sh":
            for line in block.code.splitlines():
                if words := shlex.split(line, comments=True):
                    self._command(block.where, words)

    def _run(self, block: Block) -> None:
        code = block.code.replace("telemetry.example.org:443", self._endpoint)
        code = code.replace("127.0.0.1:8470", self._endpoint)
        exec(compile(code, block.where, "exec"), self._names)
        client = self._names.get("client")
        if isinstance(client, Client) and client not in self._clients:
            self._clients.append(client)
            assert client.flush(PATIENCE), client.status()

    def _command(self, where: str, words: list[str]) -> None:
        program, *rest = words
        if program == "make":
            assert set(rest) <= targets(), f"{where}: make {rest}"
        elif words[:2] == ["deniable", "serve"]:
            with serving(Path("own"), *[word for word in rest[1:] if word not in {"--data", "./data"}]):
                pass
        elif words == ["python3", "-m", "venv", "mine"] or words == [".", "mine/bin/activate"]:
            pass  # an environment with both packages is what this runs in; tools/first_hour.py begins without
        elif program == "pip":
            assert all((ROOT / word / "pyproject.toml").exists() for word in rest[1:]), f"{where}: {rest}"
        elif words[:2] == ["deniable", "init"]:
            self._ended(where, deniable_command(*rest, "--name", "shown"))
        elif program == "deniable":
            more = ["--endpoint", self._endpoint] if rest[0] in {"estimates", "compare", "publish"} else []
            self._ended(where, deniable_command(*rest, *more))
        else:
            assert words[:3] == ["python", "-m", "deniable"], f"{where}: nobody knows how to run {words}"
            state = str(deniable.state_path("my-application"))
            agreed = ["--yes"] if "forget" in rest else []
            command = [sys.executable, *[state if word == "STATE" else word for word in rest], *agreed]
            ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self._ended(where, ran)

    @staticmethod
    def _ended(where: str, ran: subprocess.CompletedProcess[str]) -> None:
        assert (ran.returncode, ran.stderr) == (0, ""), f"{where}: {ran.args}: {ran.stderr}"
        assert ran.stdout

    def end(self) -> None:
        """Close what is open."""
        for client in self._clients:
            client.close()


def targets() -> set[str]:
    """What `make` can make."""
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return set(phony.split())


@pytest.mark.parametrize("page", READMES)
def test_every_block_of_a_readme_runs(
    page: str, shown: str, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first to the last, each with what those before it have made."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BROWSER", "true")
    if page != "README.md":  # which makes it itself
        (tmp_path / "metrics.toml").write_text(shown)
    reader = Reader(endpoint)
    try:
        for block in blocks(page):
            reader.follow(block)
        assert Collection.load("metrics.toml").digest == Collection.loads(shown).digest
    finally:
        reader.end()


@pytest.mark.parametrize("page", MADE)
def test_every_block_says_what_it_is(page: str) -> None:
    """No code without a language, and none that is only indented: it would not be run."""
    text = (ROOT / page).read_text(encoding="utf-8")
    languages = {block.language for block in blocks(page)}
    assert languages <= {"python", "sh", "toml", "text"}
    assert text.count("```") == 2 * len(blocks(page))
    assert not _INDENTED.findall(_FENCE.sub("", text))


@pytest.mark.parametrize("page", MADE)
def test_what_a_page_has_made_can_be_made(page: str) -> None:
    """Every target that is named in the text or in a block is one of the Makefile's."""
    named = re.findall(r"`make ([a-z-]+)", (ROOT / page).read_text(encoding="utf-8"))
    named += [word for block in blocks(page) for word in re.findall(r"^make ([a-z-]+)", block.code, re.MULTILINE)]
    assert set(named) <= targets()
    if page in {"README.md", "CONTRIBUTING.md"}:
        assert named


def test_every_file_that_a_page_leads_to_is_there() -> None:
    """Links within the repository, and their headings."""
    for page in [*MADE, "CHANGELOG.md", *(str(each.relative_to(ROOT)) for each in (ROOT / "docs").rglob("*.md"))]:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text):
            path = (ROOT / page).parent / target if target else ROOT / page
            assert path.exists(), f"{page}: {target}"
            assert not heading or heading in headings(path), f"{page}: {target}#{heading}"


def headings(page: Path) -> set[str]:
    """How links name those of a page."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in found}


def test_every_column_of_a_table_is_explained() -> None:
    """What a reader in Python gets: each once, in the aggregator's README."""
    text = (ROOT / "aggregator" / "README.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(COLUMNS)
