"""A state file that says what no device writes: shown to its person it is harmless, on a terminal and on the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sqlite3
from html.parser import HTMLParser
from pathlib import Path

import pytest

from deniable import Collection
from deniable.__main__ import main
from support.device import Device

EVIL = {
    "escapes": "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b31m",
    "lines": "nothing\r\n2026-01-01  all: well\x85\u2028and more\x0b\x0c",
    "turned around": "\u202egnp.exe\u2066\u200b\ufeff",
    "markup": "</style></main><script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;<!--",
    "braces": "{digest}{0}{style.__class__}%s%n",
    "half a sign": "\ud83d",
    "long": "x" * 3_000_000,
}
COLLECTION = Collection.loads(
    '[collection]\nname = "c"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 1\n'
    '[metrics.m]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n'
)
TAGS = {"html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p", "code", "table",
        "tr", "th", "td", "ol", "li", "strong"}  # fmt: skip


class Elements(HTMLParser):
    """Every element with its attributes, and all text that is not style."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[str, tuple[str, ...]]] = set()
        self.style = self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.found.add((tag, tuple(name for name, _ in attrs)))

    def handle_data(self, data: str) -> None:
        """Note it."""
        if self.lasttag == "style" and not self.style:
            self.style = data
        else:
            self.text += data


def spoilt(path: Path, evil: str) -> None:
    """Every text of a file, as somebody else wrote it."""
    device = Device(COLLECTION, path)
    device.answers({"m": True}, range(20_000, 20_002))
    device.state.close()
    connection = sqlite3.connect(path)
    raw = evil.encode("utf-8", "replace").decode()
    for change in (
        "UPDATE transcript SET fate = ?, collection = ?, metric = ?, answer = ?, conclusion = ?",
        "UPDATE charge SET collection = ?, metric = ? || start",
        "UPDATE meta SET value = ? WHERE key = 'consent'",
    ):
        connection.execute(change, [raw] * change.count("?"))
    words = {"owner": evil, "questions": {evil: evil}, "epoch": 1.0, "lifetime": 1.0}
    noted = json.dumps(words | {"epoch_delta": 0.5, "lifetime_delta": 0.5})
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"asked {raw[:1000]}", noted))
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('consent', ?)", (raw,))
    connection.commit()
    connection.close()


@pytest.mark.parametrize("name", EVIL)
def test_a_terminal_is_told_nothing_but_signs_that_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """No control sign, no change of direction, no line that was not ours; of a long text the beginning."""
    spoilt(tmp_path / "s.db", EVIL[name])
    for command in ([], ["transcript"], ["ledger"], ["consent"]):
        assert main([str(tmp_path / "s.db"), *command]) == 0
        shown = capsys.readouterr().out
        assert all(sign.isprintable() for sign in shown.replace("\n", ""))
        assert not re.search(r"^2026-01-01", shown, re.MULTILINE)
        assert len(shown) < 100_000


@pytest.mark.parametrize("name", EVIL)
def test_a_page_has_no_element_but_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Whatever a file says is text; the policy allows one style, by its hash, and nothing else."""
    spoilt(tmp_path / "s.db", EVIL[name])
    assert main([str(tmp_path / "s.db"), "view", "--no-open", "--to", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    elements = Elements()
    elements.feed(page)
    assert {tag for tag, _ in elements.found} <= TAGS
    assert {name for _, names in elements.found for name in names} <= {
        "lang", "charset", "name", "content", "http-equiv", "class", "scope"}  # fmt: skip
    digest = base64.b64encode(hashlib.sha256(elements.style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in page
    assert all(sign.isprintable() or sign == "\n" for sign in page)
    assert len(page) < 100_000
    if name == "markup":
        assert "<script>alert(1)</script>" in elements.text
        assert "<script" not in page


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE charge SET cost = 'much'",
        "UPDATE charge SET start = 'soon' WHERE start = 1728000000",
        "UPDATE charge SET start = 1e300 WHERE start = 1728000000",
        "UPDATE charge SET delta_cost = -1e30",
        "UPDATE charge SET cost = 9e999",
        "UPDATE charge SET share = 'x'",
        "UPDATE transcript SET start = 1000000000000000",
        "UPDATE transcript SET seconds = 'x'",
        "UPDATE transcript SET cost = x'ff'",
        "UPDATE transcript SET answer = zeroblob(20000000)",
        "UPDATE transcript SET answer = CAST(x'fffe' AS TEXT)",
        "DROP TABLE transcript",
        "PRAGMA user_version = 2147483647",
    ],
)
def test_nonsense_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str) -> None:
    """What no device has written is no ledger: it is not shown as one, and nothing fails with more than a line."""
    device = Device(COLLECTION, tmp_path / "s.db")
    device.answers({"m": True}, range(20_000, 20_002))
    device.state.run(lambda connection: connection.execute("UPDATE transcript SET fate = 'sent'"))
    device.state.close()
    connection = sqlite3.connect(tmp_path / "s.db")
    connection.execute(change)
    connection.commit()
    connection.close()
    for command in ("transcript", "ledger", "consent", "view"):
        assert main([str(tmp_path / "s.db"), command, *(["--no-open"] if command == "view" else [])]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("deniable: ")
        assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "noted",
    ["", "x", "[]", "{}", "null", "1" * 5000, "[" * 100_000, '{"owner": 1, "questions": []}', '{"epoch": 1e999}'],
)
def test_words_that_can_not_be_read_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], noted: str
) -> None:
    """The ledger is there without them."""
    device = Device(COLLECTION, tmp_path / "s.db")
    device.answers({"m": True}, range(20_000, 20_002))
    device.state.run(
        lambda connection: connection.execute("UPDATE meta SET value = ? WHERE key = 'asked c'", (noted,))
    )
    device.state.close()
    assert main([str(tmp_path / "s.db"), "ledger"]) == 0
    assert "This device has spent 2 in all." in capsys.readouterr().out
