"""What was found by who tried it as a new user would, as small programs; see `tools/probes_device.py`."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.probes_device import BOOLEAN, Device, Seen, collection
from tools.probes_served import CALM, Served, tree_of

__all__ = [
    "GUIDES",
    "SAID",
    "changed",
    "expected",
    "installing",
    "mistakes",
    "one_report",
    "reading",
    "reference",
    "says_why_one_misses",
    "words_before_what_to_do",
    "writing",
]

_TEXT = '[collection]\nname = "found"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 100\n'
_COLOURS = 'kind = "category"\nvalues = ["red", "green"]\nepsilon = 1'
_DEVICES = 20
"""Devices of each version of a collection."""
SAID = ("README.md", "client/README.md", "aggregator/README.md", "client/pyproject.toml", "aggregator/pyproject.toml")
"""Where people look for what it is: three pages, and what a registry of packages searches."""
GUIDES = ("client/README.md", "aggregator/README.md", "docs/start.md", "docs/collections.md", "docs/planning.md",
          "docs/changing.md", "docs/deploying.md", "docs/serving.md", "docs/reading.md",
          "docs/comparisons.md")  # fmt: skip
"""Pages that somebody opens who wants to do something."""
_SOON = 100
"""Words that may stand before it."""
_DO = re.compile(r"^(?:```(?!text)| *1\. |\|.*\n\|[-:| ]+\n)", re.MULTILINE)
"""A command or code, the first of several steps, or a table of them."""
_TABLE = re.compile(r"^answer +truth .*\n[-─]+\n((?:.+\n)+)", re.MULTILINE)
"""The demo's: its rows end with a blank line."""
_DEMOS = 20
"""A demo of 60 devices has a miss in one of two; that none of so many has happens once in a million."""


def _metric(lines: str, description: str = "d") -> str:
    return f'{_TEXT}[metrics.m0]\ndescription = "{description}"\n{lines}\n'


def _deniable(*words: str | Path, cut: bool = False) -> subprocess.CompletedProcess[str]:
    """What a command says; cut, to somebody who reads no line of it."""
    command = [str(Path(sys.executable).parent / "deniable"), *map(str, words)]
    if cut:
        command = ["bash", "-c", '"$@" | head -0', "bash", *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def _all(names: dict[str, bool], are: str) -> Seen:
    """Of several things, how many are as they should be, and which are not."""
    lacking = [name for name, holds in names.items() if not holds]
    which = f"; not {', '.join(lacking)}" if lacking else ""
    return Seen(f"{len(names) - len(lacking)} of {len(names)} {are}{which}", not lacking)


def installing(here: Path) -> Seen:
    """What the README says of installing, the words that people search for, and `--version`."""
    del here
    readme = (tree_of() / "README.md").read_text(encoding="utf-8")
    return _all({"how to install": "pip install ./client ./aggregator" in readme,
                 "“differential privacy”": "differential privacy" in readme.lower(),
                 "a version": _deniable("--version").returncode == 0}, "are said")  # fmt: skip


def mistakes(here: Path) -> Seen:
    """A client that is given what somebody would give it, and one that is asked why nothing happens."""
    import deniable

    asked, granted = collection(_COLOURS), deniable.Consent.GRANTED

    def told(**other: Any) -> str:
        """How a client is refused, in words; nothing if it is not, or not in words."""
        given: dict[str, Any] = {"collection": asked, "endpoint": "127.0.0.1:1", "consent": granted} | other
        try:
            deniable.Client(given.pop("collection"), state=here / "told.db", **given).close()
        except (AttributeError, KeyError) as error:
            return f"{type(error).__name__} alone" if len(str(error)) < 60 else str(error)
        except Exception as error:  # noqa: BLE001 - of another day: whatever it is, its words count
            return str(error)
        return "taken"

    device = Device(here / "own.db", asked)
    said = device.client.status()
    device.client.close()
    wrong = ""
    with suppress(AttributeError):
        try:
            asked.metrics["m0"].kind.check("blue")
        except ValueError as error:
            wrong = str(error)
    return _all({"an endpoint with a scheme": "127.0.0.1:8470" in told(endpoint="http://127.0.0.1:8470"),
                 "a path for a collection": "Collection" in told(collection="metrics.toml")
                 and "attribute" not in told(collection="metrics.toml"),
                 "consent as text": told(consent="granted") == "taken",
                 "the values that there are": "red" in wrong and "green" in wrong,
                 "when it is answered": hasattr(said, "next_answer_at")}, "are told")  # fmt: skip


def _fill(aggregator: Served, here: Path, devices: int, asked: Any) -> None:
    """Send the batches of some devices of today, as they wait in their state files."""
    for number in range(devices):
        path = here / f"device{number}.db"
        path.unlink(missing_ok=True)
        device = Device(path, asked)
        device.now = time.time()
        device.answer(True)
        with sqlite3.connect(path) as connection:
            for row in connection.execute("SELECT request FROM queue"):
                aggregator.call("ReportService/SubmitReports", bytes(row[0]), CALM)
        device.client.close()


def _table(aggregator: Served) -> str:
    """Its answers of today, as the terminal has them under the collection's name."""
    return _deniable("estimates", "--endpoint", f"127.0.0.1:{aggregator.grpc}", "--collection", "found").stdout


def changed(here: Path) -> Seen:
    """A spelling is corrected, devices have the one or the other, both are served: whose reports the name shows."""
    import deniable

    older, newer = _metric(BOOLEAN), _metric(BOOLEAN, "the same in better words")
    with suppress(deniable.CollectionError):  # where a file can say that it is the newer one, it does
        numbered = newer.replace('name = "found"', 'name = "found"\nversion = 1')
        deniable.Collection.loads(numbered)
        newer = numbered
    running = Served(here, newer, older)
    for text in (older, newer):
        _fill(running, here, _DEVICES, deniable.Collection.loads(text))
    shown = _reports(_table(running))
    running.end()
    return Seen(f"{shown} of {2 * _DEVICES} reports are shown under its name", shown == 2 * _DEVICES)


def _reports(table: str) -> int:
    """How many reports a table is made from, by its last column."""
    found = re.search(r"^m0: yes .* ([\d,]+)$", table, re.MULTILINE)
    return int(found[1].replace(",", "")) if found else 0


def one_report(here: Path) -> Seen:
    """What the terminal says of one report."""
    running = Served(here, _metric(BOOLEAN))
    _fill(running, here, 1, collection(BOOLEAN))
    said = _table(running)
    running.end()
    shares = [share for share in re.findall(r"-?[\d.]+%", said) if not 0 <= float(share[:-1]) <= 100]
    return Seen(f"told as {shares[0]}" if shares else "too few to tell", not shares and "few" in said)


def reference(here: Path) -> Seen:
    """Which kinds and keys of a collection are described anywhere; whether the README's own passes `check`."""
    pages = "".join(path.read_text(encoding="utf-8") for path in (tree_of() / "docs").rglob("*.md"))
    keys = ("per_flag_epsilon", "remembered_answers", "clip", "norm", "fleet", "step", "reduce")
    kinds = ("boolean", "category", "ordinal", "number", "count", "flags", "set", "vector")
    described = {key: re.search(rf"^\| `{key}` \|", pages, re.MULTILINE) is not None for key in keys}
    described |= {kind: re.search(rf'^kind = "{kind}"', pages, re.MULTILINE) is not None for kind in kinds}
    readme = (tree_of() / "README.md").read_text(encoding="utf-8")
    own = next(block for block in re.findall(r"```toml\n(.*?)```", readme, re.DOTALL) if "[metrics" in block)
    (here / "readme.toml").write_text(own if "[collection]" in own else f"{_TEXT}\n{own}")
    described["what README shows"] = _deniable("check", here / "readme.toml").returncode == 0
    return _all(described, "are described")


def expected(here: Path) -> Seen:
    """What `check` says of what will be learned, of white noise, and of what is missing."""
    (here / "fair.toml").write_text(_metric(BOOLEAN))
    (here / "noise.toml").write_text(_metric('kind = "boolean"\nepsilon = 0.01'))
    (here / "lacking.toml").write_text(_metric('kind = "number"\nepsilon = 1'))
    noise, lacking = _deniable("check", here / "noise.toml"), _deniable("check", here / "lacking.toml")
    return _all({"a half width": "±" in _deniable("check", here / "fair.toml", "--devices", "1000").stdout,
                 "white noise": "noise" in (noise.stdout + noise.stderr).lower(),
                 "an example of what is missing": "range = [" in lacking.stdout + lacking.stderr},
                "are told")  # fmt: skip


def reading(here: Path) -> Seen:
    """Dates, raw counters, retention, a description of the HTTP API, and a reader who has seen enough."""
    (here / "fair.toml").write_text(_metric(BOOLEAN))
    cut = _deniable("check", here / "fair.toml", cut=True)
    return _all({"dates": "--from" in _deniable("estimates", "--help").stdout,
                 "raw counters": _deniable("counters", "--help").returncode == 0,
                 "retention": "--keep" in _deniable("serve", "--help").stdout,
                 "the HTTP API": (tree_of() / "docs" / "http.md").exists(),
                 "an end in silence": "pipe" not in cut.stderr.lower()}, "are there")  # fmt: skip


def writing(here: Path) -> Seen:
    """What it is, said where people look; what to do, before why; and a miss in the table, with its reason."""
    del here
    tree = tree_of()
    pages = {name: (tree / name).read_text(encoding="utf-8") for name in SAID}
    said = [name for name, text in pages.items() if "local differential privacy" in text.lower()]
    soon = [name for name in GUIDES if (tree / name).exists()
            and words_before_what_to_do((tree / name).read_text(encoding="utf-8")) <= _SOON]  # fmt: skip
    demos = (_deniable("demo", "--once", "--devices", "60").stdout for _ in range(_DEMOS))
    demo = next((told for told in demos if _misses(told)), "")
    seen = _all({"a miss (README)": bool(_misses(pages["README.md"])),
                 "why (README)": says_why_one_misses(pages["README.md"]),
                 "why (demo)": says_why_one_misses(demo)}, "are told")  # fmt: skip
    figure = (
        f"said in {len(said)} of {len(SAID)} places; what to do comes first in {len(soon)} of {len(GUIDES)} guides"
    )
    return Seen(f"{figure}; {seen.figure}", len(said) == len(SAID) and len(soon) == len(GUIDES) and seen.holds)


def words_before_what_to_do(text: str) -> float:
    """How many words of a page come before a command, code or a first step; without end where there is none."""
    found = _DO.search(text)
    return len(text[: found.start()].split()) if found else float("inf")


def _misses(text: str) -> list[str]:
    """Rows of the demo's table whose interval does not hold the truth."""
    table = _TABLE.search(text)
    return [row for row in table[1].splitlines() if re.search(r"  no +\S", row)] if table else []


def says_why_one_misses(text: str) -> bool:
    """Whether below the demo's table, before another section, stands that some miss, as it should be."""
    table = _TABLE.search(text)
    return table is not None and "one in twenty" in text[table.end() :].split("\n## ", maxsplit=1)[0]
