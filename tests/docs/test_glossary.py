"""The glossary: every word once, used where it says, and what is not said is not said."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from support.commands import ROOT

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PLACES = {
    "client": ("client/deniable", "*.py"),
    "aggregator": ("aggregator/deniable_aggregator", "*.py"),
    "proto": ("proto", "*.proto"),
    "page": ("aggregator/deniable_aggregator/web/static", "*.[hj][ts]*"),
    "docs": (".", "*.md"),
}
DOCS = [
    path
    for place in ("docs", "client", "aggregator", "examples")
    for path in (ROOT / place).rglob("*.md")
    if path.name != "glossary.md"
] + [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
WORDS = re.findall(r"^- \*\*([^*]+)\*\* \(([^)]+)\): (.+(?:\n  .+)*)", GLOSSARY, re.MULTILINE)


def said(section: str) -> list[list[str]]:
    """The cells of the table in a section, row by row."""
    (body,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", GLOSSARY, re.MULTILINE | re.DOTALL)
    lines = [line for line in body.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@cache
def texts(place: str) -> str:
    """Everything that is written in a place."""
    directory, names = PLACES[place]
    paths = DOCS if place == "docs" else sorted((ROOT / directory).rglob(names))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths if "_pb2" not in path.name)


@cache
def _prose(path: Path) -> str:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def test_every_word_is_there_once_and_in_order() -> None:
    """As in a dictionary; each with a sentence that ends."""
    words = [word for word, _, _ in WORDS]
    assert len(words) > 80
    assert len(words) == GLOSSARY.partition("## Not said")[0].count("\n- **")
    assert words == sorted(words, key=str.casefold)
    assert len(set(words)) == len(words)
    for word, _, sentence in WORDS:
        assert sentence.rstrip()[-1] in ".)", word


@pytest.mark.parametrize("place", PLACES)
def test_every_word_is_used_where_it_says(place: str) -> None:
    """In whatever form: a word that nobody uses any more leaves the glossary."""
    text = texts(place)
    unused = [
        word
        for word, where, _ in WORDS
        if place in where.split(", ")
        and not re.search(rf"\b{word.removesuffix('e')}".replace(" ", r"[\s_]+"), text, re.IGNORECASE)
    ]
    assert not unused


def test_places_are_those_that_there_are() -> None:
    """No word is used in a place that nobody knows."""
    assert {place for _, where, _ in WORDS for place in where.split(", ")} <= PLACES.keys()


def test_what_is_not_said_is_not_said() -> None:
    """No page has a word that the glossary has another one for; code between backticks may."""
    avoided = [word.strip() for row in said("Not said") for word in row[0].split(",")]
    assert {"user", "cohort", "memoised"} <= set(avoided)
    found = [
        (str(path.relative_to(ROOT)), word)
        for path in DOCS
        for word in avoided
        if re.search(rf"\b{word}(s|ed|ing)?\b", _prose(path), re.IGNORECASE)
    ]
    assert not found
