"""What one report reveals, in sentences."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from deniable import Collection, Metric
from deniable.kinds import KINDS, Fed
from deniable.odds import believed
from deniable_aggregator.telling.reveals import reveals
from planning.everything import EVERYTHING
from support.asked import LINKABLE, asked

KINDS_PARAMETERS = {
    "boolean": "",
    "category": 'values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]',
    "ordinal": 'values = ["a", "b", "c"]',
    "number": "range = [0, 10]",
    "count": "max = 10",
    "distribution": "range = [0, 10]\nbuckets = 5",
    "flags": 'flags = ["a", "b"]',
    "joint": 'of = ["one", "other"]',
    "set": 'values = ["a", "b", "c"]\nmax_items = 2',
    "text": "",
    "tree": 'paths = ["a/x", "a/y", "b"]',
    "vector": 'dimensions = 2\nclip = 1.0\nnorm = "l1"',
}


def sentences(kind: str, more: str = "epsilon = 1.0") -> str:
    """All of them, for a metric."""
    text = (
        '[collection]\nname = "x"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 9\n'
        f'[metrics.m]\ndescription = "It"\nkind = "{kind}"\n{KINDS_PARAMETERS[kind]}\n{more}\n'
    )
    for name in ("one", "other") if issubclass(KINDS[kind], Fed) else ():
        text += f'[metrics.{name}]\ndescription = "It"\nkind = "boolean"\nepsilon = 1\n'
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
    assert "more than 3.00 times as likely as another (epsilon ln 3)" in told
    assert "Who held an answer to be an even bet is at most 75.00% sure of it after one report." in told
    assert "Who gave it 2.00% gives it at most 5.77% then." in told
    assert "Every epoch is answered afresh" in told


def test_a_subset_names_how_many_answers_it_has() -> None:
    """Ten values at epsilon 1: two of them are named."""
    assert "A device names 2 of the 10 answers. Its own is among them 40.46% of the time" in sentences("category")


def test_a_memo_says_what_watching_for_longer_tells() -> None:
    """Nothing more without a second randomisation; with one, one report tells less and all of them the whole."""
    assert "Watching it for longer tells no more" in sentences(
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


def test_a_count_of_which_events_are_hidden_says_so() -> None:
    """Its size is no secret: two counts that are far apart make reports as much likelier as they like."""
    told = " ".join(reveals(asked("count", 'privacy_unit = "event"\nepsilon = 1\n')))
    assert "What is hidden is one event more or less; how large the count is can be seen." in told
    assert "Who held one event to be an even bet is at most 73.11% sure of it after one report." in told
    assert "no answer" not in told


def test_a_delta_is_never_left_out() -> None:
    """Gaussian noise has no worst ratio: the sentences are of twice e^epsilon, and name the chance of more."""
    text = (
        '[collection]\nname = "x"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 9\n'
        '[metrics.m]\nkind = "vector"\ndescription = "It"\n'
        'dimensions = 2\nclip = 1\nnorm = "l2"\nepsilon = 1\ndelta = 1e-6\nfleet = 1000\n'
    )
    told = " ".join(reveals(Collection.loads(text).metrics["m"]))
    assert "But for a chance of 2e-06, its own answer makes a report at most 5.44 times as likely as another." in told
    assert "That is what epsilon 1 and delta 1e-06 promise." in told
    assert "Who held an answer to be an even bet is, but for that chance, at most 84.46% sure of it." in told
    assert "But for a chance of 1.4e-05, who could tell that 7 are from one device is up to" in told


def test_twice_the_odds_are_exceeded_with_twice_delta_at_most() -> None:
    """For Gaussian noise at the least deviation that keeps epsilon and delta, by the normal distribution's tails.

    The logarithm of the ratio is normal, its mean half its variance: where that is 1 / deviation^2 (a sensitivity of
    one), delta is P(L > epsilon) - e^epsilon P(-L > epsilon).
    """
    for epsilon in (0.1, 1.0, 4.0, 8.0):
        for deviation in (0.2, 0.5, 1.0, 2.0, 4.0, 20.0, 60.0):
            mean = 1 / (2 * deviation**2)
            spread = 1 / deviation
            delta = stats.norm.sf((epsilon - mean) / spread) - math.exp(epsilon) * stats.norm.sf(
                (epsilon + mean) / spread
            )
            assert stats.norm.sf((epsilon + math.log(2) - mean) / spread) <= 2 * delta


@pytest.mark.parametrize("metric", EVERYTHING.metrics.values(), ids=lambda metric: metric.name)
def test_sentences_are_short_and_plain(metric: Metric) -> None:
    """At most twenty words each, but for the names of other metrics; letters that everybody has learnt to read."""
    about = EVERYTHING.about(metric)
    names = ", ".join(other.name for other in about) or metric.name
    told = [sentence.replace(names, "it") for sentence in reveals(metric, about)]
    assert [sentence for sentence in told if len(sentence.split()) > 20] == []
    assert "".join(told).isascii()
