"""The guide, docs/deploying.md, followed from top to bottom, in a room that stands for the machine.

What can not be run here (systemctl, containers, a cluster) is held against what the commands before have put there.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from deniable_aggregator.commands import _parser
from docs.test_readmes import Block, blocks
from support.commands import EDITOR, ROOT
from support.endpoints import TLS
from support.programs import deploys, program

GUIDE = "docs/deploying.md"
PAGE = (ROOT / GUIDE).read_text(encoding="utf-8")


class Follower:
    """Who follows the guide, in a clone of the repository on a machine of the tests' own."""

    def __init__(self, room: Path) -> None:
        self.machine = room / "machine"
        self.clone = room / "clone"
        self.clone.mkdir()
        (self.machine / "etc").mkdir(parents=True)
        shutil.copytree(ROOT / "deploy", self.clone / "deploy", symlinks=True)
        for name in ("client", "aggregator", "requirements", "examples"):
            (self.clone / name).symlink_to(ROOT / name)
        shutil.copy(EDITOR, self.clone / "metrics.toml")
        for kind in ("pem", "key"):
            shutil.copy(TLS / f"server.{kind}", self.clone)
        self._charts: list[str] = []
        self.done: list[str] = []
        """The programs of the commands that were followed."""

    def follow(self, line: str) -> None:
        """Do what a line says."""
        words = shlex.split(line)
        name = Path(words[0]).name
        ways: dict[str, Callable[[list[str]], None]] = {
            "openssl": self._run,
            "install": self._run,
            "cp": self._run,
            "sh": self._run,
            "python3": self._environment,
            "pip": self._installed,
            "systemd-sysusers": self._users,
            "systemctl": self._units,
            "nginx": self._nginx,
            "envoy": self._envoy,
            "docker": self._containers,
            "kubectl": self._cluster,
            "helm": self._chart,
            "deniable": self._deniable,
        }
        ways[name](words)
        self.done.append(name)

    def _there(self, word: str) -> str:
        """A path of the machine, where it is in the room."""
        return f"{self.machine}{word}" if word.startswith(("/etc/", "/opt/")) else word

    def _run(self, words: list[str]) -> None:
        own = [program(words[0]), *map(self._there, words[1:])]
        found = subprocess.run(own, cwd=self.clone, capture_output=True, text=True)
        assert found.returncode == 0, f"{words}: {found.stderr}"

    def _environment(self, words: list[str]) -> None:
        assert words == ["python3", "-m", "venv", "/opt/deniable"]

    def _installed(self, words: list[str]) -> None:
        assert words[:2] == ["/opt/deniable/bin/pip", "install"]
        assert all((self.clone / word).exists() for word in words[2:] if not word.startswith("-")), words

    def _users(self, words: list[str]) -> None:
        own = [program(words[0]), f"--root={self.machine}", *(str(self.clone / word) for word in words[1:])]
        assert subprocess.run(own, capture_output=True).returncode == 0
        assert "deniable-valkey" in (self.machine / "etc" / "passwd").read_text()

    def _units(self, words: list[str]) -> None:
        for word in words[2:]:
            known = (self.machine / "etc" / "systemd" / "system" / word).exists() or word == "nginx.service"
            assert known or word == "--now", f"{words}: no {word} was installed"

    def _nginx(self, words: list[str]) -> None:
        assert words == ["nginx", "-t"]
        here = self.machine / "etc" / "nginx"
        configured = here / "nginx.conf"
        configured.write_text(configured.read_text().replace("/etc/deniable", str(self.machine / "etc" / "deniable")))
        own = [program("nginx"), "-t", "-p", str(here), "-c", str(configured), "-g", f"pid {here / 'pid'};"]
        found = subprocess.run(own, capture_output=True, text=True)
        assert found.returncode == 0, found.stderr

    def _envoy(self, words: list[str]) -> None:
        own = self.machine / "etc" / "deniable"
        for name in ("envoy.yaml", "certificate.yaml"):
            text = (own / name).read_text()
            (own / name).write_text(text if str(own) in text else text.replace("/etc/deniable", str(own)))
        found = subprocess.run(
            [deploys("envoy"), "--mode", "validate", *map(self._there, words[-2:])], capture_output=True, text=True
        )
        assert found.returncode == 0, found.stderr

    def _containers(self, words: list[str]) -> None:
        file = self.clone / words[words.index("-f") + 1]
        assert file.exists(), words
        if words[1] == "build":
            assert (words[-1], (self.clone / "requirements" / "runtime.txt").exists()) == (".", True)
            return
        composed = yaml.safe_load(file.read_text())
        assert words[4] in {"up", "ps", "kill"}
        assert words[4] != "kill" or words[5:] == ["--signal", "HUP", "edge"]
        assert "edge" in composed["services"]
        assert all((file.parent / each["file"]).exists() for each in composed["secrets"].values())

    def _cluster(self, words: list[str]) -> None:
        for word in words:
            if word.startswith("--from-file="):
                file = self.clone / word.partition("=")[2]
                assert (words[3:7], file.name) == (
                    ["create", "secret", "generic", "deniable-store"],
                    "aggregator.url",
                )
                assert file.exists()
            if word.startswith("service/"):
                assert re.search(rf"name: {word.partition('/')[2]}$", self._charts[-1], re.MULTILINE), words

    def _chart(self, words: list[str]) -> None:
        assert words[:3] == ["helm", "upgrade", "--install"]
        found = subprocess.run(
            [deploys("helm"), "template", *words[3:]], cwd=self.clone, capture_output=True, text=True
        )
        assert found.returncode == 0, found.stderr
        self._charts.append(found.stdout)

    def _deniable(self, words: list[str]) -> None:
        address = re.search(r"\$\(cat (.*)\)", words[-1])
        assert address, words
        assert Path(self._there(address[1])).exists()
        _parser().parse_args([*words[1:-1], "redis://operator:any@valkey"])


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    """Somebody who begins."""
    return Follower(tmp_path)


def test_the_guide_can_be_followed(follower: Follower) -> None:
    """Every command, in order; what it leaves behind is what the next one needs."""
    written: list[Block] = blocks(GUIDE)
    assert {block.language for block in written} == {"sh"}
    for block in written:
        for line in block.code.splitlines():
            follower.follow(line)
    assert len(set(follower.done)) == 14
    for name in ("deniable/server.pem", "deniable/collections/metrics.toml", "deniable/store/users.acl"):
        assert (follower.machine / "etc" / name).exists()
    assert (follower.machine / "etc" / "deniable" / "server.key").stat().st_mode & 0o077 == 0


def test_a_person_is_let_in_by_the_certificate_that_the_guide_makes(follower: Follower) -> None:
    """The authority's own signature is on it, and a browser can read it."""
    (block,) = [each for each in blocks(GUIDE) if each.code.startswith("openssl req -x509")]
    for line in block.code.splitlines():
        follower.follow(line)
    command = [program("openssl"), "verify", "-CAfile", "people.pem", "mine.pem"]
    assert subprocess.run(command, cwd=follower.clone, capture_output=True).returncode == 0
    assert (follower.clone / "mine.p12").stat().st_size > 500


def test_what_the_guide_says_of_the_files_is_so() -> None:
    """Its users are the store's, its values the chart's, and what it names is there."""
    users = re.findall(r"^user (\S+)", (ROOT / "deploy" / "valkey" / "users.acl").read_text(), re.MULTILINE)
    section = PAGE.partition("## Accounts of a store")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == sorted(users)
    values = yaml.safe_load((ROOT / "deploy" / "helm" / "deniable" / "values.yaml").read_text())
    named = re.findall(r"^\| ((?:`[\w.]+`(?:, )?)+) \|", PAGE.partition("## Kubernetes")[2], re.MULTILINE)
    assert len(named) >= 6
    for names in named:
        (first, *others) = re.findall(r"`([\w.]+)`", names)
        group, _, value = first.partition(".")
        assert value == "" or value in values[group], first
        assert all(each[1:] in values[group] if each.startswith(".") else each in values for each in others), names
    for path in re.findall(r"`((?:deploy|tests|examples)/[\w./-]+)`", PAGE):
        assert (ROOT / path).exists(), path
