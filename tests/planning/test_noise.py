"""What `deniable check` says of a fleet that is too small for what it is asked, and of what is lost before that."""

from __future__ import annotations

import pytest

from deniable import Collection
from deniable_aggregator.planning.noise import faint, losing, noisy
from deniable_aggregator.planning.widths import widths

HEAD = '[collection]\nname = "c"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 10\n'
VALUES = ", ".join(f'"value {number}"' for number in range(3_000))
QUESTION = '[metrics.one]\ndescription = "d"\n'


def found(question: str, devices: int) -> list[str]:
    """What so many devices do not tell of one question."""
    collection = Collection.loads(HEAD + QUESTION + question)
    return list(noisy(collection, {"one": widths(collection.metrics["one"], devices)}, devices))


@pytest.mark.parametrize(
    ("question", "few", "enough", "words"),
    [
        ('kind = "boolean"\nepsilon = 0.01\n', 10_000, 10_000_000, "one: white noise: of 10,000 devices"),
        ('kind = "boolean"\nepsilon = 1\n', 4, 400, "one: white noise: of 4 devices"),
        (
            f'kind = "category"\nvalues = [{VALUES}]\nepsilon = 1\n',
            10_000,
            10_000_000,
            "of 3,000 values one of avera",
        ),
        (
            'kind = "number"\nrange = [0, 480]\nepsilon = 0.1\n',
            10_000,
            400_000,
            "range is wide for epsilon 0.1 and 1",
        ),
        (
            'kind = "count"\nmax = 1000\nepsilon = 1\n',
            100,
            10_000,
            "one: its range is wide for epsilon 1 and 100 devices",
        ),
    ],
    ids=["a small epsilon", "few devices", "many values", "a number", "a count"],
)
def test_what_a_fleet_is_too_small_for_is_said(question: str, few: int, enough: int, words: str) -> None:
    """Of few devices in one sentence, with figures; of enough nothing is said."""
    (told,) = found(question, few)
    assert words in told
    assert found(question, enough) == []


def test_an_epsilon_that_is_white_noise_is_said_without_a_fleet() -> None:
    """With how many devices it takes: as many do tell a yes or no to five points."""
    collection = Collection.loads(HEAD + QUESTION + 'kind = "boolean"\nepsilon = 0.01\n')
    (told,) = faint(collection)
    assert told.startswith("one: white noise: at epsilon 0.01 it takes about 15,000,000 devices")
    (row,) = widths(collection.metrics["one"], 15_000_000)
    assert row.half == pytest.approx(0.05, rel=0.03)
    assert list(faint(Collection.loads(HEAD + QUESTION + 'kind = "boolean"\nepsilon = 0.1\n'))) == []


@pytest.mark.parametrize(
    "kind", ['kind = "flags"\nflags = ["a", "b"]\n', 'kind = "set"\nvalues = ["a", "b"]\nmax_items = 1\n']
)
def test_a_reducer_that_loses_is_said_unless_it_is_meant(kind: str) -> None:
    """Features that were used today: of a list that is recorded several times only the last one is kept, unless the
    file says how they are reduced."""
    collection = Collection.loads(HEAD + QUESTION + kind + "epsilon = 1\n")
    (told,) = losing(collection, said=())
    assert "only the last value of an epoch is kept" in told
    assert 'say reduce = "any"' in told
    assert list(losing(collection, said={"one"})) == []
    kept = Collection.loads(HEAD + QUESTION + kind + 'epsilon = 1\nreduce = "any"\n')
    assert list(losing(kept, said=())) == []
