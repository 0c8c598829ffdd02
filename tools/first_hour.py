"""The first hour of a newcomer, in an empty environment: does what the READMEs say, and nothing else.

    python tools/first_hour.py [README.md] [examples/flask/README.md] ...   (all, unless some are named)

words:
  page        a README, whose blocks of code are followed one after the other; of the first one, those of its section
              on an answer of one's own, up to the first `deniable estimates`
  command     a line of a `sh` block; a `python` block is a file that is written and run, which is one, too
  stays       a command that goes on: it has the terminal to itself until it says, or answers, that it is there

Each page begins with a clone and an environment of its own, and an empty home. What is changed of what it says are
ports alone, since those of the page may be taken on the machine that runs this. It ends with a report that an
aggregator has counted, which is read from its page; prints what it took; and fails with the first command that does
not do it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["MOST_COMMANDS", "PAGES", "blocks", "commands", "follow", "main"]

ROOT = Path(__file__).resolve().parents[1]
FIRST = "README.md"
PAGES = (FIRST, "examples/flask/README.md", "examples/fastapi/README.md", "examples/second/README.md")
MOST_COMMANDS = 12
PATIENCE = 900.0
"""Seconds that a command may take: a slow machine loads two hundred megabytes."""
ENVIRONMENT = ("python3 -m venv mine", ". mine/bin/activate")
"""What the first page says, and the others take for known."""
_SECTION = re.compile(r"^## An answer of your own.*?(?=^## )", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STAYS = ("deniable serve", "flask", "uvicorn")
_LAST = "deniable estimates"
_KEPT = ("PATH", "LANG", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "http_proxy", "https_proxy", "no_proxy")
"""What an empty environment has, beside what pip is told of where packages come from."""


class Hour(NamedTuple):
    """What following a page took."""

    page: str
    commands: list[str]
    seconds: float
    processor_seconds: float
    reports: int
    """Of one answer on the page that is served."""
    shown: int | None
    """By the debug view; None where the page has none."""


def blocks(page: str) -> list[tuple[str, str]]:
    """The languages and texts of what a page has people run."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page == FIRST:
        (text,) = _SECTION.findall(text)
    found = []
    for language, code in _FENCE.findall(text):
        found.append((language, code))
        if page == FIRST and _LAST in code:
            break
    return found


def commands(page: str) -> list[str]:
    """What is typed, from the clone on; of a program that is written, the command that runs it."""
    typed = ["git clone", "cd"] + ([] if page == FIRST else list(ENVIRONMENT))
    for language, code in blocks(page):
        typed += ["python app.py"] if language == "python" else _lines(code)
    return typed


def _lines(code: str) -> list[str]:
    return [line for line in code.splitlines() if line.partition("#")[0].strip()]


class _Terminal:
    """Runs commands in a clone, as a newcomer would."""

    def __init__(self, home: Path) -> None:
        self.clone = home / "deniable"
        self._ports: dict[str, int] = {}
        self._staying: list[subprocess.Popen[str]] = []
        self.debug_url = ""
        """Where its debug view is, if it has one."""
        pip = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        own = ["NOTES_ENDPOINT", "TASKS_ENDPOINT", "SECOND_ENDPOINT"]
        self._environment = kept | pip | {"HOME": str(home), "PYTHONUNBUFFERED": "1"}
        self._environment |= dict.fromkeys(own, self.ported("127.0.0.1:8470"))
        configured = _pip_configuration()
        if configured:
            (home / "pip.conf").write_text(configured)
            self._environment["PIP_CONFIG_FILE"] = str(home / "pip.conf")

    def ported(self, text: str) -> str:
        """A text with ports that are free here in the place of its own."""

        def free(found: re.Match[str]) -> str:
            port = found[2]
            if port not in self._ports:
                with socket.create_server(("127.0.0.1", 0)) as taken:
                    self._ports[port] = taken.getsockname()[1]
            return f"{found[1]}{self._ports[port]}"

        return re.sub(r"((?:127\.0\.0\.1:|localhost:|--port ))(\d{4})\b", free, text)

    def run(self, line: str) -> None:
        """Do what a line says; ends when it has ended, or is there to stay."""
        if line.startswith(". "):
            own = self.clone / shlex.split(line)[1]
            self._environment["PATH"] = f"{own.parent}:{self._environment['PATH']}"
            return
        line = self.ported(line)
        if line.startswith("deniable serve"):
            line = self.ported(f"{line} --listen 127.0.0.1:8470 --http 127.0.0.1:8471")
        elif line.startswith(_LAST):
            line = self.ported(f"{line} --endpoint 127.0.0.1:8470")
        words = re.sub(r"^\w+=\S+ ", "", line)
        if words.startswith(_STAYS) and " send" not in words:
            self._stay(line)
        elif words.startswith("curl"):
            _answered(shlex.split(words)[1])
        else:
            self._end(line)

    def _end(self, line: str) -> None:
        ran = subprocess.run(
            line, shell=True, cwd=self.clone, env=self._environment, timeout=PATIENCE, text=True, capture_output=True,
            check=False,
        )  # fmt: skip
        print(_indented(ran.stdout[-2000:]), end="")
        if ran.returncode != 0:
            raise SystemExit(f"{line}: ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")

    def _stay(self, line: str) -> None:
        process = subprocess.Popen(
            f"exec env {line}", shell=True, cwd=self.clone, env=self._environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._staying.append(process)
        assert process.stdout
        for said in process.stdout:
            print(_indented(said), end="")
            if "the debug view is at" in said:
                self.debug_url = said.split()[-1]
            if "unning on" in said or ("debug" if "--debug-view" in line else "the page is at") in said:
                return
        raise SystemExit(f"{line}: ended with {process.wait()}")

    @property
    def url(self) -> str:
        """Where the page of its aggregator is."""
        return self.ported("http://127.0.0.1:8471")

    def close(self) -> None:
        """End what stays, the newest first."""
        for process in reversed(self._staying):
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def _pip_configuration() -> str:
    """What this account's pip is told of where packages come from: a home that is empty has none of it."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    pairs = re.findall(r"^global\.([\w-]+)='(.*)'$", told, re.MULTILINE)
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in pairs) if pairs else ""


def _answered(url: str) -> None:
    """Wait until something is answered there."""
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as page:
                return print(_indented(page.read().decode()[:200] + "\n"), end="")
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


@contextlib.contextmanager
def _terminal() -> Iterator[_Terminal]:
    with tempfile.TemporaryDirectory(prefix="hour-") as home:
        terminal = _Terminal(Path(home))
        try:
            yield terminal
        finally:
            terminal.close()


def follow(page: str) -> Hour:
    """Follow a page from the clone on."""
    begun, used = time.monotonic(), os.times()
    with _terminal() as terminal:
        subprocess.run(["git", "clone", "--quiet", ROOT, terminal.clone], check=True)
        for line in [] if page == FIRST else ENVIRONMENT:
            print(f"$ {line}")
            terminal.run(line)
        for language, code in blocks(page):
            if language == "python":
                (terminal.clone / "app.py").write_text(terminal.ported(code))
            for line in ["python app.py"] if language == "python" else _lines(code):
                print(f"$ {line}")
                terminal.run(line)
        reports, shown = _reports(terminal.url), _shown(terminal.debug_url)
    now = os.times()
    spent = sum(now[:4]) - sum(used[:4])
    return Hour(page, commands(page), time.monotonic() - begun, spent, reports, shown)


def _shown(url: str) -> int | None:
    if not url:
        return None
    with urllib.request.urlopen(url.replace("/debug", "/api/v1/debug"), timeout=60) as response:
        return len(json.load(response)["showings"])


def _reports(url: str) -> int:
    """How many reports the page has for an answer of its first collection, at most."""

    def asked(path: str) -> Mapping[str, list[dict[str, str]]]:
        with urllib.request.urlopen(f"{url}/api/v1/{path}", timeout=60) as response:
            found: Mapping[str, list[dict[str, str]]] = json.load(response)
            return found

    (first, *_) = asked("collections")["collections"]
    return max(int(one["reports"]) for one in asked(f"collections/{first['title']}/estimates")["estimates"])


def main(pages: list[str]) -> int:
    """Follow some pages, and print what that took."""
    hours = [follow(page) for page in pages or PAGES]
    for hour in hours:
        if hour.reports != 1:
            raise SystemExit(f"{hour.page}: {hour.reports} reports are on its page, not 1")
        if hour.shown == 0:
            raise SystemExit(f"{hour.page}: its debug view has shown nothing")
        took = f"{len(hour.commands)} commands, {hour.seconds:.0f} s, {hour.processor_seconds:.0f} s of a processor"
        print(f"{hour.page}: {took}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
