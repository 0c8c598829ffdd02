"""Count: whole numbers from 0 on, of which an epoch's or any single event is hidden."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise

import pytest

from deniable.collection.reduce import REDUCERS
from deniable.epsilon import Epsilon
from deniable.errors import InvalidValueError
from deniable.kinds import Count
from deniable.kinds.count import MOST
from deniable.mechanisms import Hybrid, Laplace, Memoized, RandomizedResponse
from deniable.randomness import WORD
from privacy.bounds import exp_between
from support.asked import LINKABLE, ONCE, asked, refused

ONE = Epsilon.of(1)
EVENTS = 'privacy_unit = "event"\nepsilon = 1.0\n'


def test_an_epoch_is_hidden_by_the_best_of_three_mechanisms() -> None:
    """As a number from 0 to max is: the name in the file decides, or the least variance."""
    kind = Count(50)
    assert kind.columns(ONE, "one_bit") == (RandomizedResponse(ONE, 2),)
    assert kind.columns(ONE, "geometric") == (Laplace(ONE, 50),)
    assert kind.columns(ONE, "hybrid") == kind.columns(ONE, "auto") == (Hybrid.best(ONE),)
    known, found = ["hybrid", "one_bit", "geometric"], [each.name for each in kind.choices(ONE)]
    assert [name for name in found if name in known] == known
    assert sorted(found) == sorted(Count.mechanisms)
    assert kind.columns(Epsilon.of(Fraction(1, 10)), "auto")[0].inputs == 2
    assert kind.apart() == (0, 50)


def test_an_event_is_hidden_by_noise_of_its_own_scale() -> None:
    """However many there are: the noise is that of a sensitivity of 1, with and without a most."""
    for kind, most in ((Count(None, "event"), MOST), (Count(50, "event"), 50)):
        (mechanism,) = kind.columns(ONE, "auto")
        assert mechanism == Laplace(ONE, most, 1)
        assert mechanism.variance == pytest.approx(1.841, abs=1e-3)  # 2 a / (1 - a)^2 at a = 1 / e
        assert [each.name for each in kind.choices(ONE)] == ["geometric"]
        assert kind.apart() == (0, 1)
    with pytest.raises(
        ValueError, match='privacy_unit = "event" goes with mechanism = "geometric", not with \'hybrid\''
    ):
        Count(None, "event").columns(ONE, "hybrid")


def test_one_event_more_or_less_is_hidden_exactly() -> None:
    """P(out | c) <= e^epsilon P(out | c + 1) for all counts and outputs, in rationals; far counts are told apart."""
    (mechanism,) = Count(12, "event").columns(Epsilon.of(2), "auto")
    assert isinstance(mechanism, Laplace)
    allowed = exp_between(Fraction(2))[0]
    rows = [list(row.values()) for row in mechanism.channel()]
    for row, following in pairwise(rows):
        ratios = [max(a / b, b / a) for a, b in zip(row, following, strict=True)]
        assert max(ratios) <= allowed
    assert max(a / b for a, b in zip(rows[0], rows[12], strict=True)) > allowed**11


def test_counts_are_clipped() -> None:
    """What lies above max counts as max; a mean of counts that is no whole number is rounded by chance."""
    kind = Count(50)
    columns = kind.columns(ONE, "geometric")
    chosen = [kind.encode(value, columns, lambda: 0)[1] for value in (0, 1, 49, 50, 51, 10**15)]
    assert chosen == [0, 1, 49, 50, 50, 50]
    words = (0, WORD // 4 - 1, WORD // 4, WORD - 1)
    assert [kind.encode(7.25, columns, lambda word=word: word)[1] for word in words] == [8, 8, 7, 7]  # type: ignore[misc]
    unlimited = Count(None, "event")
    assert unlimited.encode(123_456_789, unlimited.columns(ONE, "auto"), lambda: 0) == (0, 123_456_789)
    assert unlimited.encode(1 << 53, unlimited.columns(ONE, "auto"), lambda: 0) == (0, MOST)


@pytest.mark.parametrize(
    ("reduce", "answered"), [("sum", 9), ("last", 7), ("max", 7), ("min", 2), ("mean", 4.5), ("sample", None)]
)
def test_counts_of_an_epoch_are_added_up(reduce: str, answered: float | None) -> None:
    """Or what else the file asks for; states survive JSON, as they are kept in the file."""
    more = "" if reduce == "sum" else f'reduce = "{reduce}"\n'
    metric = asked("count", "max = 50\nepsilon = 1.0\n" + more)
    reducer = REDUCERS[reduce]
    assert metric.reducer is reducer
    states = [json.loads(json.dumps(reducer.start(metric.kind.check(value)))) for value in (2, 7)]
    reduced = reducer.finish(json.loads(json.dumps(reducer.merge(*states))))
    assert reduced == answered or (answered is None and reduced in {2, 7})
    assert 0 <= metric.encode(reduced, lambda: 0)[1] < metric.columns[0].mechanism.inputs


@pytest.mark.parametrize("value", [-1, 1.0, True, "3", None, (1 << 53) + 1, float("nan")])
def test_other_values_are_not_taken(value: object) -> None:
    """Whole numbers from 0 to 2^53 alone, which are plain JSON and exact as doubles."""
    with pytest.raises(InvalidValueError, match=r"takes an int from 0 to 2\^53, not"):
        Count(50).check(value)
    assert [Count(50).check(count) for count in (0, 1 << 53)] == [0, 1 << 53]


def test_what_can_not_be_asked() -> None:
    """An epoch without a most, a most that is none, a unit that is none, a mechanism that hides epochs for events."""
    assert refused("count", "epsilon = 1.0") == [
        'one.max: hiding an epoch needs the most that it can count: add max, or privacy_unit = "event"'
    ]
    assert refused("count", "epsilon = 1.0\nmax = 0") == [
        "one.max: must be a whole number from 1 to 2147483647, not 0"
    ]
    assert refused("count", 'epsilon = 1.0\nprivacy_unit = "events"') == [
        "one.privacy_unit: unknown word 'events'; did you mean 'event'?"
    ]
    for word in ("epoch", "event"):  # what privacy_unit was called once: no file may change its meaning silently
        assert refused("count", f'epsilon = 1.0\nmax = 5\nunit = "{word}"') == [
            f'one.unit: is what is counted, such as "crashes"; what is hidden is privacy_unit = "{word}"'
        ]
    assert refused("count", EVENTS + 'mechanism = "one_bit"') == [
        'one: privacy_unit = "event" goes with mechanism = "geometric", not with \'one_bit\''
    ]
    assert refused("count", EVENTS + "max = 5\nmemoize = true\ninstantaneous_epsilon = 0.5") == [
        f'one: a count with privacy_unit = "event" {ONCE}'
    ]
    assert refused("count", 'epsilon = 0.000001\nmax = 2147483647\nmechanism = "geometric"') == [
        "one: noise over 2147483647 steps at epsilon 1e-06 does not fit 32 bits: take a larger step"
    ]


def test_a_remembered_count_is_one_bit_where_epochs_are_hidden() -> None:
    """Events have noise to remember, and no other way."""
    epochs = asked("count", "max = 50\nepsilon = 1.0\nmemoize = true")
    assert epochs.columns[0].mechanism.first == RandomizedResponse(epochs.epsilon, 2)
    twice = asked("count", "max = 50\nepsilon = 1.0\nmemoize = true\ninstantaneous_epsilon = 0.5")
    assert isinstance(twice.columns[0].mechanism, Memoized)
    events = asked("count", EVENTS + "memoize = true\n" + LINKABLE)
    assert events.columns[0].mechanism == Laplace(events.epsilon, MOST, 1)


def test_what_is_hidden_is_part_of_the_question() -> None:
    """The digest depends on max, on what is hidden and on what is counted."""
    assert Count(50).parameters() == {"max": 50, "unit": "epoch"}
    assert Count(None, "event", "crashes").parameters() == {"max": None, "unit": "event", "counted": "crashes"}
