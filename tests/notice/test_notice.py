"""Notices, records and reviews: what they say is so, in whatever form and language, and of words that are markup."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from deniable import Collection
from deniable.collection.reduce import REDUCERS
from deniable.kinds import KINDS
from deniable.mechanisms import MECHANISMS
from deniable_aggregator.notice import FORMS, WRITERS, Language, LanguageError, languages
from deniable_aggregator.notice._language import _read
from support.collection_files import head, metric
from support.commands import ROOT, told

EDITOR = ROOT / "examples" / "editor.toml"
ENGLISH = (ROOT / "aggregator/deniable_aggregator/notice/languages/en.toml").read_text(encoding="utf-8")
HOSTILE = "<b>*bold*</b> | `a|b` # [link](x)\u202e {span}"


def written(collection: Collection, whom: str = "people", form: str = "text", language: str = "en") -> str:
    """What is written, with every run of blanks as one."""
    return re.sub(r"\s+", " ", FORMS[form](WRITERS[whom](collection, Language.of(language))))


def test_the_numbers_are_those_of_explain() -> None:
    """A boolean at ln 3 that is answered afresh: the survey with two coins."""
    found = written(Collection.load(EDITOR))
    crashed = found.split("The editor crashed today")[1].split("The dark theme is on")[0]
    assert "Why we ask: We see whether a release is safe to go on with." in crashed
    assert "If the answer is yes, it sends yes 75% of the time. If it is no, it sends yes 25% of the time." in crashed
    assert "Who sees the report can then be 3 in 4 sure at most." in crashed
    assert "it is enough that one says so" in crashed
    for says in ("4 questions", "once a day", "telemetry@example.org", "platform: linux, macos and windows",
                 "python -m deniable consent withheld", "DO_NOT_TRACK=1", "python -m deniable view"):  # fmt: skip
        assert says in found
    assert "höchstens 9.991 von 10.000 Fällen" in written(Collection.load(EDITOR), language="de")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"memoize": True}, "However many reports you send of the same answer, they can be 3 in 4 sure at most."),
        ({"memoize": True, "instantaneous_epsilon": "linkable"}, "So its reports can be put together."),
        ({"expires": date(2027, 1, 1)}, "It is not asked any more from 2027-01-01 on."),
        ({"reason": "It matters..."}, "Why we ask: It matters."),
    ],
)
def test_what_is_said_of_a_question_is_what_its_table_says(more: dict[str, object], says: str) -> None:
    """Memory, end and reason."""
    said = written(Collection.loads(head("one", 2) + metric("one", "boolean", "It is on", **more)))
    assert says in said
    assert ("Each report is drawn anew" in said) == ("memoize" not in more)


def test_a_count_of_events_does_not_claim_to_hide_the_count() -> None:
    """Nor does Gaussian noise claim that nothing can go wrong."""
    counts = head("one", 9) + metric("one", "count", "Crashes", privacy_unit="event", max=20)
    assert "What is hidden is one single event. How many there are can be seen" in written(Collection.loads(counts))
    gaussian = {"dimensions": 3, "clip": 1.0, "norm": "l2", "delta": 1e-9, "fleet": 1_000_000}
    found = Collection.loads(head("one", 9) + metric("one", "vector", "An update", **gaussian))
    assert "It can go wrong with a chance of 1 in 71,428,571" in written(found)
    assert "delta 1e-09 in one day" in written(found, "officer")


def test_how_often_a_device_is_asked_is_said_and_that_it_is_no_protection() -> None:
    """Where its collection asks a part of its devices; else nothing of it."""
    asked = metric("dark", "boolean")
    part, every = (Collection.loads(head("part", 1, sample=sample) + asked) for sample in (0.1, None))
    assert "It does so in about 10% of all cases, and tosses a coin for each." in written(part)
    assert "can see when it is still" in written(part)
    assert "No privacy is claimed for that" in written(part, "officer")
    assert "Als Schutz zählt das nicht" in written(part, "officer", language="de")
    for whom in ("people", "officer"):
        assert "a coin for each" not in written(every, whom)
        assert "by a coin of its own" not in written(every, whom)


@pytest.mark.parametrize(("epoch", "span"), [("1h", "hour"), ("1d", "day"), ("7d", "week")])
def test_what_time_a_report_tells_is_said(epoch: str, span: str) -> None:
    """That of its epoch, which may be an hour: a time of day."""
    asked = (ROOT / "examples/editor.toml").read_text(encoding="utf-8").replace('epoch = "1d"', f'epoch = "{epoch}"')
    found = written(Collection.loads(asked), "officer")
    assert f"no number of a device and no time but that of their {span}." in found


def test_answers_about_the_same_values_are_said_to_be() -> None:
    """A joint, and its sources."""
    text = head("one", 9) + metric("a", "boolean", "It is dark") + metric("b", "boolean", "It is late")
    joint = Collection.loads(text + metric("c", "joint", "Both", of=["a", "b"]))
    assert "These questions are about the same thing. Who sees all answers can be 89 in 100 sure" in written(joint)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("whom", WRITERS)
@pytest.mark.parametrize("language", languages())
def test_somebody_s_words_are_words(form: str, whom: str, language: str) -> None:
    """Neither markup nor places to fill in, whatever an author wrote."""
    said = metric("one", "category", HOSTILE, values=[HOSTILE, "b"], reason=HOSTILE)
    found = written(Collection.loads(head("one", 9) + said), whom, form, language)
    assert "\u202e" not in found
    assert "{span}" in found.replace("\\", "")
    if form == "html":
        assert "<b>" not in found
        assert f'<html lang="{language}">' in found
        assert "<script" not in found
    if form == "md":
        assert "\\<b\\>\\*bold\\*" in found
        assert whom == "people" or "a|b" not in found, "a bar ends a cell, in code, too"


def test_every_kind_way_and_mechanism_has_its_sentence() -> None:
    """In every language that is shipped, and no other."""
    assert {"en", "de"} <= set(languages())
    for name in languages():
        sentences = _read(name)
        assert KINDS.keys() <= sentences["kinds"].keys()
        assert sentences["kinds"].keys() - KINDS.keys() == {"count_open", "joint_pairs"}
        assert sentences["reducers"].keys() == REDUCERS.keys()
        assert sentences["mechanisms"].keys() == MECHANISMS.keys() | {"part", "ends"}


@pytest.mark.parametrize("name", [each for each in languages() if each != "en"])
def test_a_language_that_is_shipped_is_complete(name: str) -> None:
    """By the rules that one of somebody else has to keep."""
    file = ROOT / f"aggregator/deniable_aggregator/notice/languages/{name}.toml"
    assert Language.of(str(file)).code == name


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace('sum = "', 'total = "'), r"reducers\.sum is missing: in English, 'If there are"),
        (lambda text: text.replace("[epochs]", "[often]"), r"epochs\.3600 is missing"),
        (lambda text: text.replace("{owner}", "{who}"), r"people\.who: \{who\} is not known there: it has \{owner\}"),
        (lambda text: text.replace("{owner}", "{owner.x}"), r"people\.who: \{owner\.x\} is not known"),
        (lambda text: text.replace("{owner}", "{owner:d}"), r"people\.who: braces that do not fit: \{owner\} is all"),
        (lambda text: text.replace("{owner}", "{owner!x}"), r"people\.who: braces that do not fit: \{owner\} is all"),
        (lambda text: text.replace("{owner}", "{owner"), r"people\.who: braces that do not fit"),
        (lambda text: f"{text}\n[more]\n", r"\[more\] is said nowhere"),
        (lambda text: text.replace("[form]", "[form"), "not TOML"),
        (lambda text: text.replace('code = "en"', 'code = ""'), r"form\.code is missing"),
    ],
)
def test_a_language_of_one_s_own_says_what_it_lacks(change: Callable[[str], str], says: str, tmp_path: Path) -> None:
    """In one line, with the key."""
    file = tmp_path / "own.toml"
    file.write_text(change(ENGLISH))
    with pytest.raises(LanguageError, match=rf"own\.toml: .*{says}") as raised:
        Language.of(str(file))
    assert "\n" not in str(raised.value)


def test_the_command_writes_it(tmp_path: Path) -> None:
    """To a terminal or a file, for whom and as what it is asked for; a language that is none is told in a line."""
    shown = told("notice", EDITOR)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("What editor asks of your device\n====")
    file = tmp_path / "record.html"
    assert told("notice", EDITOR, "--for", "officer", "--language", "de", "--format", "html", "-o", file).stdout == ""
    assert "<h1>Verzeichnis der Verarbeitung: editor</h1>" in file.read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(ENGLISH.replace("Who asks: {owner}", "Ask {owner}."))
    assert "Ask telemetry@example.org." in told("notice", EDITOR, "--language", own).stdout
    assert "- [ ] The end is right" in told("notice", EDITOR, "--for", "review", "--format", "md").stdout
    refused = told("notice", EDITOR, "--language", "latin")
    assert (refused.returncode, refused.stderr) == (
        2, "deniable: 'latin' is none of de, en, and no file of sentences\n",
    )  # fmt: skip


def test_check_asks_for_what_people_are_told(tmp_path: Path) -> None:
    """Strictly: a reason, and an end or the word that there is none. Neither is part of the digest."""
    text = EDITOR.read_text().replace("epoch = 6.0", "epoch = 6.0\nlifetime = 2000")
    bare = re.sub(r"^(reason|expires) = .*\n", "", text, flags=re.MULTILINE)
    assert Collection.loads(bare).digest == Collection.loads(text).digest
    file = tmp_path / "metrics.toml"
    file.write_text(bare)
    assert told("check", file).returncode == 0
    found = told("check", file, "--strict")
    assert found.returncode == 1
    assert "browser, crashed, dark_mode, session_minutes: reason = " in found.stdout
    assert "browser, crashed, dark_mode, session_minutes: expires = 2027-12-31 says" in found.stdout
    file.write_text(text)
    assert told("check", file, "--strict").returncode == 0


def test_who_owns_a_question_is_the_collection_s_owner_unless_it_says() -> None:
    """Of a metric, and on its sheet."""
    text = head("one", 9) + metric("a", "boolean", "d") + metric("b", "boolean", "d", owner="them@example.org")
    found = Collection.loads(text)
    assert [own.owner for own in found.metrics.values()] == [found.owner, "them@example.org"]
    assert "Owner them@example.org" in written(found, "review")
    with pytest.raises(ValueError, match='must be a date such as 2027-12-31, without quotes, or "never"'):
        Collection.loads(text.replace('owner = "them', 'expires = "soon"\nowner = "them'))


def test_the_page_shows_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of docs/notice.md run, what it shows is what they write, and its table is of a collection."""
    page = (ROOT / "docs" / "notice.md").read_text(encoding="utf-8")
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "editor.toml").write_text(EDITOR.read_text())
    monkeypatch.chdir(tmp_path)
    ran = [
        told(*shlex.split(line, comments=True)[1:]) for line in page.splitlines() if line[:15] == "deniable notice"
    ]
    assert len(ran) == 4
    assert [(each.returncode, each.stderr) for each in ran] == [(0, "")] * 4
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert shown in ran[0].stdout
    (table,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert Collection.loads(head("own", 9) + table).metrics["crashed"].owner == "releases@example.org"
