"""What is written of collections for others, as Markdown, as files of a site and by a language: words of a stranger
that would be more than words."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from deniable import Collection
from deniable_aggregator.notice import FORMS, WRITERS, Language, LanguageError
from deniable_aggregator.publishing import FIRST, Published, kept, site, write
from deniable_aggregator.telling.tables import COLUMNS, Table
from support.collection_files import head, metric
from support.commands import ROOT

ENGLISH = (ROOT / "aggregator/deniable_aggregator/notice/languages/en.toml").read_text(encoding="utf-8")
IMAGE = "<img src=x onerror=alert(1)>"
START = datetime(2026, 11, 13, tzinfo=UTC)


def published(name: str, **own: str) -> Published:
    """What is published of a collection, of one row."""
    numbers = {
        "value": 0.25,
        "cut": None,
        "low": 0.2,
        "high": 0.3,
        "reports": 12_345,
        "confidence": 0.95,
        "too_few": False,
    }
    words = {"text": "25.00%", "low_text": "20.00%", "high_text": "30.00%", "measure": "share", "series": "shares"}
    row: dict[str, Any] = dict.fromkeys(COLUMNS, "") | {"metric": "own", "start": START, "end": START}
    asked = Collection.loads(head(name, 1) + metric("own", "boolean"))
    return Published(asked, Table([row | numbers | words | own]), {}, False)


@pytest.mark.parametrize(
    "words",
    [
        f"`{IMAGE}```",
        f"``{IMAGE}`",
        f"`a``` {IMAGE} ```b`",
        f"` {IMAGE}",
        f"`` `{IMAGE}` ``",
    ],
)
@pytest.mark.parametrize("whom", WRITERS)
def test_backticks_that_do_not_close_hide_no_markup(words: str, whom: str) -> None:
    """In Markdown a run of three backticks does not end what one has begun: what stands between them is no code,
    and was written as it is. It is markup nowhere now, as its sign is none."""
    asked = head("one", 9) + metric("one", "category", words, values=[words, "b"], reason=words, owner=words)
    found = FORMS["md"](WRITERS[whom](Collection.loads(asked), Language.of("en")))
    assert "\\<img src=x" in found
    assert found.count("<img") == found.count("\\<img")


@pytest.mark.parametrize(
    ("words", "written"), [("- a", "\\- a"), ("1. a", "1\\. a"), ("+ a", "\\+ a"), ("1) a", "1\\) a")]
)
def test_a_word_begins_no_list(words: str, written: str) -> None:
    """Nor a heading: an answer is one item, whatever it begins with."""
    asked = head("one", 9) + metric("one", "category", values=[words, "b"])
    found = FORMS["md"](WRITERS["people"](Collection.loads(asked), Language.of("en")))
    assert f"\n- {written}\n" in found


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("{collection:>999999999}", "is all that is said"),
        ("{collection!r}", "is all that is said"),
        ("{collection:{collection.__class__}}", "is all that is said"),
        ("{collection.__class__}", "is not known there"),
        ("{collection[0]}", "is not known there"),
    ],
)
def test_a_language_fills_in_and_does_nothing_else(tmp_path: Path, sentence: str, says: str) -> None:
    """A file of sentences is from whoever speaks the language: it reads nothing of the program, and a billion blanks
    are none of its sentences."""
    file = tmp_path / "own.toml"
    start = ENGLISH.index("[people]")
    title = ENGLISH.index('title = "', start) + len('title = "')
    file.write_text(ENGLISH[:title] + sentence + ENGLISH[ENGLISH.index('"\n', title) :], encoding="utf-8")
    with pytest.raises(LanguageError, match=says):
        Language.of(str(file))


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "1" * 10_000])
def test_a_language_that_is_too_much_is_refused(tmp_path: Path, text: str) -> None:
    """Brackets and digits by the thousand."""
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(LanguageError, match="not TOML"):
        Language.of(str(file))


@pytest.mark.parametrize("words", ["=1+1", "@SUM(1)", "+1+cmd|' /C calc'!A0", "-2+3", "-A1", "\t=1", "-5 to =1"])
def test_a_spreadsheet_reckons_nothing_of_what_is_published(words: str) -> None:
    """Whoever opens the CSV sees words as words; JSON has them as they are."""
    files = site([published("one", key=words, note=words)], Language.of("en"), date(2026, 11, 19))
    (row,) = csv.DictReader(io.StringIO(files["one.csv"], newline=""))
    assert (row["key"], row["note"]) == (f"'{words}", f"'{words}")
    assert json.loads(files["one.json"])[0]["key"] == words


@pytest.mark.parametrize("words", ["-75", "-100 to 0", "-1.5 to -0.5", "1,000", "a=b", "yes"])
def test_numbers_and_ranges_are_published_as_they_are(words: str) -> None:
    """Also those below nothing."""
    files = site([published("one", key=words)], Language.of("en"), date(2026, 11, 19))
    (row,) = csv.DictReader(io.StringIO(files["one.csv"]))
    assert row["key"] == words


def test_no_collection_takes_the_place_of_the_first_page() -> None:
    """One that is called index had its answers replaced by the list of all: it is refused beside others, and alone
    it is the first page."""
    alone = site([published("index")], Language.of("en"), date(2026, 11, 19))
    assert "20.00% to 30.00%" in alone["index.html"]
    with pytest.raises(ValueError, match="a directory of its own"):
        site([published("index"), published("two")], Language.of("en"), date(2026, 11, 19))


def test_what_is_left_out_can_not_be_had_by_subtraction() -> None:
    """Of 600 tables at random: the whole less all that is published is nothing, or of two segments with reports at
    least, and of as many reports as a segment has to have. What is large enough and not needed for that is there."""
    source, alone = Random(7), 0
    for _ in range(600):
        reports = [source.choice((0, 3, 40, 99, 100, 101, 250, 5_000)) for _ in range(source.randint(1, 6))]
        table = Table({"segment": f"s={place}", "reports": own} for place, own in enumerate(reports))
        told = [row["reports"] for row in kept(table, 100)]
        assert all(own >= 100 for own in told)
        out = [own for own in reports if own]
        for own in told:
            out.remove(own)
        assert not out or not told or (len(out) > 1 and sum(out) >= 100)
        small = [own for own in out if own < 100]
        alone += len(small) == 1 and bool(told)
        assert len(out) - len(small) <= (sum(small) < 100 or len(small) == 1) * bool(small)
    assert alone > 50


def test_publishing_removes_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    """Whatever the first page has been made to say: a file beside the directory, or one that no site has."""
    directory = tmp_path / "site"
    before = site([published("one"), published("two")], Language.of("en"), date(2026, 11, 19))
    write(directory, before)
    others = [tmp_path / "two.html", directory / "mine.txt", directory / "CNAME"]
    for other in others:
        other.write_text("mine")
    first = directory / FIRST
    names = "../two.html mine.txt CNAME ./two.html two.html"
    first.write_text(f"{before[FIRST].partition('<!-- published')[0]}<!-- published: {names} -->\n")
    assert write(directory, site([published("one")], Language.of("en"), date(2026, 11, 19))) == ["two.html"]
    assert all(other.read_text() == "mine" for other in others)
