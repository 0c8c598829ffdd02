"""What one report reveals, in sentences."""

from __future__ import annotations

import math

import pytest

from deniable import Collection
from deniable.kinds import KINDS
from deniable_aggregator.reveals import believed, reveals
from support.asked import LINKABLE

KINDS_PARAMETERS = {
    "boolean": "",
    "category": 'values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]',
    "ordinal": 'values = ["a", "b", "c"]',
    "number": "range = [0, 10]",
    "count": "max = 10",
    "flags": 'flags = ["a", "b"]',
    "set": 'values = ["a", "b", "c"]\nmax_items = 2',
    "vector": 'dimensions = 2\nclip = 1.0\nnorm = "l1"',
}


def sentences(kind: str, more: str = "epsilon = 1.0") -> str:
    """All of them, for a metric."""
    text = (
        '[collection]\nname = "x"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 9\n'
        f'[metrics.m]\ndescription = "It"\nkind = "{kind}"\n{KINDS_PARAMETERS[kind]}\n{more}\n'
    )
    return " ".join(reveals(Collection.loads(text).metrics["m"]))


@pytest.mark.parametrize(
    ("chance", "epsilon", "after"),
    [(0.02, math.log(3), 0.057692), (0.4, 0.1, 0.424222), (0.4, math.log(3), 0.666667), (0.5, 1.0, 0.731059)],
)
def test_the_most_that_is_believed_is_that_of_the_lecture_notes(chance: float, epsilon: float, after: float) -> None:
    """Tax posterior and attacker bound (part A8 and A9 of the notes), exactly and not by the looser e^epsilon."""
    assert believed(chance, epsilon) == pytest.approx(after, abs=5e-7)


def test_a_boolean_at_ln_3_lies_a_quarter_of_the_time() -> None:
    """The survey with two coins, in words."""
    told = sentences("boolean", 'epsilon = "ln 3"')
    assert "A device whose answer is yes says yes 75.00% of the time; one whose answer is no, 25.00% of it." in told
    assert "more than 3.00 times as likely as any other answer does (epsilon ln 3)" in told
    assert (
        "an even bet is at most 75.00% sure of it afterwards; one who gave it 2.00% gives it at most 5.77%." in told
    )
    assert "Every epoch is answered afresh" in told


def test_a_subset_names_how_many_answers_it_has() -> None:
    """Ten values at epsilon 1: two of them are named."""
    assert "A device names 2 of the 10 answers: its own is among them 40.46% of the time" in sentences("category")


def test_a_memo_says_what_watching_for_longer_tells() -> None:
    """Nothing more without a second randomisation; with one, one report tells less and all of them the whole."""
    assert "watching it for longer tells no more" in sentences(
        "boolean", "epsilon = 1.0\nmemoize = true\n" + LINKABLE
    )
    both = sentences("boolean", "epsilon = 2.0\nmemoize = true\ninstantaneous_epsilon = 1.0")
    assert "more than 2.72 times as likely" in both
    assert (
        "All reports of one answer together, however many, make an even bet at most 88.08% sure (epsilon 2)." in both
    )


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_sentences(kind: str) -> None:
    """At the least the odds and what they do to an even bet."""
    told = sentences(kind)
    assert "2.72 times as likely" in told
    assert "73.11% sure" in told
