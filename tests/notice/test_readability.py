"""A notice can be read by whoever is asked: of every kind and mechanism, in every language that is shipped."""

from __future__ import annotations

import re

import pytest

from deniable import Collection
from deniable.kinds import KINDS
from deniable.mechanisms import MECHANISMS
from deniable_aggregator.notice import WRITERS, Language, languages
from deniable_aggregator.notice._document import Document, Heading, Items, Paragraph, Rows
from deniable_aggregator.planning.start import start
from planning.everything import EVERYTHING
from support.readability import score, sentences, syllables, words

EASY = 80.0
"""The least score of a notice, and of what it says of one question: easy, as Flesch and Amstad call it."""
PLAIN = 60.0
"""The least score of a record, which is read by those whose work it is."""
LONGEST = 20
"""Words of a sentence."""
ALL = Collection.loads(start("all", list(KINDS), "all.toml"))


def read(found: Document) -> str:
    """What a document says in sentences."""
    return " ".join(part.words for part in found.parts if isinstance(part, Paragraph))


def everything(found: Document) -> list[str]:
    """All words of a document."""
    every = [found.title]
    for part in found.parts:
        match part:
            case Heading(_, said) | Paragraph(said):
                every.append(said)
            case Items(names, _, _):
                every += names
            case Rows(head, rows):
                every += [*head, *(cell for row in rows for cell in row)]
    return every


def sections(found: Document) -> list[str]:
    """What is said below each heading of a question."""
    told: list[list[str]] = []
    within = False
    for part in found.parts:
        if isinstance(part, Heading):
            within = part.level == 3
            told += [[]] if within else []
        elif isinstance(part, Paragraph) and within:
            told[-1].append(part.words)
    return [" ".join(said) for said in told]


@pytest.mark.parametrize(
    ("word", "language", "count"),
    [
        ("device", "en", 2), ("answer", "en", 2), ("question", "en", 2), ("sure", "en", 1), ("people", "en", 2),
        ("changed", "en", 1), ("network", "en", 2), ("noted", "en", 2), ("little", "en", 2), ("nobody", "en", 3),
        ("Gerät", "de", 2), ("Antwort", "de", 2), ("Meldung", "de", 2), ("weiß", "de", 1), ("auslosen", "de", 3),
        ("Zufall", "de", 2), ("Münze", "de", 2), ("eine", "de", 2), ("Häuser", "de", 2), ("schauen", "de", 2),
    ],
)  # fmt: skip
def test_syllables_are_counted_as_people_do(word: str, language: str, count: int) -> None:
    """Of words that notices have."""
    assert syllables(word, language) == count


def test_the_score_is_that_of_the_formulas() -> None:
    """Of one sentence each, by hand; and what officials write does not pass."""
    assert score("The cat sat on the mat.", "en") == pytest.approx(206.835 - 1.015 * 6 - 84.6)
    assert score("Der Hund sieht die Katze.", "de") == pytest.approx(180 - 5 - 58.5 * 6 / 5)
    hard = (
        "Randomised mechanisms guarantee differential privacy under sequential composition of heterogeneous queries."
    )
    assert score(hard, "en") < 0
    hard = (
        "Die Verarbeitung personenbezogener Daten erfolgt unter Berücksichtigung datenschutzrechtlicher Vorschriften."
    )
    assert score(hard, "de") < 0


@pytest.mark.parametrize("language", languages())
def test_a_notice_is_plain(language: str) -> None:
    """Of a question of each kind, and of all mechanisms: as a whole, and what is said of each question alone."""
    assert {own.name for metric in EVERYTHING.metrics.values() for own in metric.mechanisms} == MECHANISMS.keys()
    for collection in (ALL, EVERYTHING):
        found = WRITERS["people"](collection, Language.of(language))
        assert score(read(found), language) >= EASY
        told = sections(found)
        assert len(told) == len(collection.metrics)
        assert not [(score(said, language), said) for said in told if score(said, language) < EASY]
        assert score(read(WRITERS["officer"](collection, Language.of(language))), language) >= PLAIN


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("whom", WRITERS)
def test_sentences_are_short_and_have_no_formulas(language: str, whom: str) -> None:
    """At most twenty words, no Greek letter, and nothing that was to be filled in; for whomever it is."""
    for collection in (ALL, EVERYTHING):
        every = everything(WRITERS[whom](collection, Language.of(language)))
        ended = [each for said in every for each in sentences(said) if each[-1] in ".:!?"]
        assert not [each for each in ended if len(words(each)) > LONGEST]
        assert not re.search(r"[\u0370-\u03ff{}]|\bNone\b|\bnan\b", " ".join(every))


@pytest.mark.parametrize("language", languages())
def test_no_sentence_of_a_language_is_too_long(language: str) -> None:
    """Also of those that are for no collection of tests."""
    for table in Language.of(language)._sentences.values():
        for said in table.values():
            assert all(len(words(each)) <= LONGEST for each in sentences(said)), said
