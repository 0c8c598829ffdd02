"""`deniable token`: a file of who is let in, made, listed and changed while it may be read."""

from __future__ import annotations

import hashlib
import re
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable_aggregator.serving.access import Access
from deniable_aggregator.serving.tokens import Grant, Tokens, grant_of
from support.commands import EDITOR, deniable, told

TODAY = datetime.now(UTC).date()


def made(file: Path, *arguments: str) -> str:
    """A token that is new in a file."""
    shown = told("token", "new", file, *arguments)
    assert shown.returncode == 0, shown.stderr
    (token,) = shown.stdout.splitlines()
    return token


def listed(file: Path) -> list[str]:
    """What is said of the tokens of a file."""
    shown = told("token", "list", file)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout.splitlines()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where no file is yet."""
    return tmp_path / "tokens"


def test_a_new_token_is_shown_once_and_kept_nowhere(file: Path) -> None:
    """Its file has the hash, for its owner alone; whoever looks for secrets finds it by how it begins; and what is
    said beside it has nothing that could be shown in its place."""
    shown = told("token", "new", file, "--scope", "report", "--collection", "editor", "--note", "since 2.0")
    token = shown.stdout.strip()
    assert re.fullmatch(r"dnb_[0-9a-f]{64}", token)
    text, sha256 = file.read_text(), hashlib.sha256(token.encode()).hexdigest()
    assert text == f"report collections=editor {sha256} since 2.0\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for said in (text, shown.stderr, *listed(file)):
        assert token not in said
    assert shown.stderr.startswith(f"{sha256[:12]}  report  editor  does not expire  since 2.0;")
    assert [each.name for each in file.parent.iterdir()] == ["tokens"]
    assert made(file, "--scope", "report") != token


def test_tokens_are_listed_with_what_they_are_good_for(file: Path) -> None:
    """Each in a line: its id, scope, collections, end and note."""
    made(file, "--scope", "report", "--collection", "words", "--collection", "editor", "--expires", "90d")
    made(file, "--scope", "read", "--expires", str(TODAY + timedelta(days=1)))
    with file.open("a") as opened:
        opened.write(f"# by hand\n\nread expires=2020-01-01 {'0' * 64} the team of then\n")
    ends = TODAY + timedelta(days=90), TODAY + timedelta(days=1)
    assert [line.partition("  ")[2] for line in listed(file)] == [
        f"report  editor, words  expires {ends[0]}",
        f"read  all collections  expires {ends[1]}",
        "read  all collections  expired 2020-01-01  the team of then",
    ]


def test_a_revoked_token_is_gone_and_all_else_stays(file: Path) -> None:
    """By the id that is listed, or all of its hash; comments, notes and other tokens are as they were."""
    other = made(file, "--scope", "read", "--note", "the team")
    file.write_text(f"# who may do what\n\n{file.read_text()}")
    before = file.read_text()
    token = made(file, "--scope", "report")
    sha256 = hashlib.sha256(token.encode()).hexdigest()
    with file.open("a") as opened:
        opened.write(f"read {sha256} it is good for two things\n")
    shown = told("token", "revoke", file, sha256[:12])
    assert [line.split("  ")[1] for line in shown.stdout.splitlines()] == ["report", "read"]
    assert file.read_text() == before
    assert Tokens(file).bearer(other).has("read")
    assert told("token", "revoke", file, hashlib.sha256(other.encode()).hexdigest()).returncode == 0
    assert listed(file) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("revoke", "{}", "1234567"), "an id is 8 digits or more"),
        (("revoke", "{}", "not-an-id"), "an id is 8 digits or more"),
        (("revoke", "{}", "0123456789"), "has no token of that id"),
        (("revoke", "{}", "00000000"), "has several tokens of that id"),
        (("new", "{}", "--scope", "report", "--collection", "Editor"), "takes the name of a collection, not Editor"),
        (("new", "{}", "--scope", "report", "--collection", "a\nread " + "1" * 64), "takes the name of a collection"),
        (("new", "{}", "--scope", "read", "--expires", "2020-01-01"), "takes a day to come"),
        (("new", "{}", "--scope", "read", "--expires", "soon"), "takes a day such as 2027-03-01, or 90d"),
        (("new", "{}", "--scope", "read", "--expires", "9" * 12 + "d"), "takes a day such as 2027-03-01, or 90d"),
        (("new", "{}", "--scope", "read", "--note", "a\nread " + "1" * 64), "takes one line"),
        (("new", "{}", "--scope", "admin"), "invalid choice: 'admin'"),
        (("list", "{}.gone"), "can not be read"),
        (("revoke", "{}.gone", "0" * 12), "can not be read"),
    ],
)
def test_a_mistake_changes_nothing(file: Path, arguments: tuple[str, ...], words: str) -> None:
    """It is said in a line, with what would be right."""
    text = f"read {'0' * 64}\nreport {'0' * 63}1\n"
    file.write_text(text)
    shown = told("token", *(each.format(file) for each in arguments))
    assert shown.returncode == 2
    assert words in shown.stderr
    assert file.read_text() == text
    assert [each.name for each in file.parent.iterdir()] == ["tokens"]


def test_a_collection_that_is_not_at_hand_is_noted(file: Path) -> None:
    """Where collection files are beside the file of tokens: one of them may have been meant. The token is made."""

    def noted(name: str) -> str:
        made = told("token", "new", file, "--scope", "report", "--collection", name)
        assert made.returncode == 0
        return made.stderr

    assert "note" not in noted("editr"), "nobody knows what there is"
    (file.parent / "collections").mkdir()
    (file.parent / "collections" / "editor.toml").write_bytes(EDITOR.read_bytes())
    (file.parent / "serve.toml").write_text("workers = 2\n")
    assert f"no collection file in {file.parent} is of editr; did you mean 'editor'?" in noted("editr")
    assert "note" not in noted("editor")


def test_a_file_that_serves_nobody_is_left_as_it_is(file: Path) -> None:
    """A line that is none is named: what is added to such a file would be heard by nobody, and nothing is revoked."""
    for broken in (b"nonsense\n", b"report 12\n", b"\xff\xfe\n", b"admin " + b"0" * 64 + b"\n"):
        file.write_bytes(broken)
        for act in (("new", file, "--scope", "read"), ("revoke", file, "0" * 12), ("list", file)):
            shown = told("token", *act)
            assert shown.returncode == 2
            assert "line 1" in shown.stderr or "is not UTF-8" in shown.stderr
        assert file.read_bytes() == broken


def test_a_file_that_is_read_by_another_account_stays_readable(file: Path) -> None:
    """An aggregator that may read it by its group can read what comes in its place: else what is revoked would stay
    good. What others could write they can not any more."""
    file.touch(mode=0o600)
    file.chmod(0o666)
    made(file, "--scope", "read")
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    file.chmod(0o640)
    made(file, "--scope", "read")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_link_leads_where_it_led(file: Path) -> None:
    """What is changed is the file that it leads to."""
    real = file.with_name("real")
    made(real, "--scope", "read")
    file.symlink_to(real)
    made(file, "--scope", "read")
    assert file.is_symlink()
    assert len(listed(real)) == 2


def test_who_changes_it_at_once_loses_nothing(file: Path) -> None:
    """Of several that make tokens at the same time, each is there afterwards."""

    def make(_number: int) -> subprocess.CompletedProcess[str]:
        return deniable("token", "new", file, "--scope", "report")

    with ThreadPoolExecutor(4) as pool:
        tokens = [shown.stdout.strip() for shown in pool.map(make, range(8))]
    known = Tokens(file)
    assert len(set(tokens)) == 8
    assert all(known.bearer(each).has("report") for each in tokens)


def test_lines_of_the_first_form_mean_what_they_meant(file: Path) -> None:
    """A scope, a hash, and whatever helps people."""
    file.write_text(
        f"report {hashlib.sha256(b'one').hexdigest()} the editor, since 2.0\n"
        f"  read\t{hashlib.sha256(b'two').hexdigest().upper()}\n"
    )
    known = Tokens(file)
    assert known.bearer("one").has("report")
    assert known.bearer("one").named("report") is None
    assert known.bearer("two").named("read") is None
    assert known.bearer("two").named("report") == frozenset()
    assert known.bearer("three").named("read") == frozenset()


@pytest.mark.parametrize("limit", ["collections=editor", "expires=2020-01-01"])
def test_what_limits_a_token_stands_before_its_hash(file: Path, limit: str) -> None:
    """Behind it, it would be a note, and the token good for everything, for ever."""
    file.write_text(f"read {hashlib.sha256(b'one').hexdigest()} the team {limit}\n")
    with pytest.raises(OSError, match=f"line 1: {limit} limits a token where it stands before the hash"):
        Tokens(file)


def test_a_token_is_good_for_all_that_its_lines_say_until_they_expire(file: Path) -> None:
    """The day that is named is the first on which it is not."""
    sha256 = hashlib.sha256(b"token").hexdigest()
    file.write_text(
        f"report collections=editor {sha256}\n"
        f"report collections=words expires={TODAY + timedelta(days=1)} {sha256}\n"
        f"report collections=other expires={TODAY} {sha256}\nread expires={TODAY} {sha256}\n"
    )
    bearer = Tokens(file).bearer("token")
    assert bearer.named("report") == frozenset({"editor", "words"})
    assert bearer.named("read") == frozenset()
    assert not bearer.has("read")
    assert not bearer.expired


def test_a_token_that_names_too_many_is_refused_at_start(file: Path, tmp_path: Path) -> None:
    """What it names travels with its questions."""
    names = ",".join(f"collection{number}" for number in range(101))
    file.write_text(f"read collections={names} {'0' * 64}\n")
    shown = told("serve", EDITOR, "--data", tmp_path / "data", "--listen", "127.0.0.1:0", "--tokens", file)
    assert shown.returncode == 2
    assert "names more than 100 collections" in shown.stderr


NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)
NOTES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), max_size=30)


@given(
    scope=st.sampled_from(["report", "read"]),
    names=st.none() | st.frozensets(NAMES, min_size=1, max_size=5),
    expires=st.none() | st.dates(date(2000, 1, 1), date(2999, 1, 1)),
    sha256=st.binary(min_size=32, max_size=32),
    note=NOTES,
)
def test_what_is_written_is_what_is_read(
    scope: str, names: frozenset[str] | None, expires: date | None, sha256: bytes, note: str
) -> None:
    """Of every line."""
    own = Grant(scope, names, expires, sha256, note)
    assert grant_of(own.line()) == own


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200)
    | st.lists(
        st.sampled_from(
            ["report", "read", "admin", "collections=", "collections=a", "expires=2027-02-30", "expires=2027-03-01",
             "0" * 64, "f" * 63, "\u0660" * 64, " ", "\t", "\n", "\r", "\x00", "\u2028", "#", ","]
        ),
        max_size=12,
    ).map(lambda parts: " ".join(parts).encode())
)  # fmt: skip
def test_whatever_a_file_has_it_is_read_or_refused(tmp_path: Path, content: bytes) -> None:
    """An OSError that names the file, at start; and nobody is let in by what nobody has said: not by a token that is
    empty either."""
    file = tmp_path / "any"
    file.write_bytes(content)
    try:
        known = Tokens(file)
    except OSError:
        with pytest.raises(OSError, match=str(file)):
            Access(tokens=file).check()
    else:
        assert not known.bearer("").grants()
        assert not known.bearer(content.decode(errors="replace")).grants()
