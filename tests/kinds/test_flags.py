"""Flags: names that are set, all hidden together, each for itself, or one at a time."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import deniable
from deniable.collection.reduce import REDUCERS
from deniable.errors import InvalidValueError
from deniable.mechanisms import BitwiseResponse, MemoizedBitwise, RandomizedResponse
from deniable.randomness import WORD
from privacy.bounds import exp_between
from support.asked import LINKABLE, ONCE, asked, refused

THREE = 'flags = ["tabs", "vim", "minimap"]\n'
DRAWN = 'mechanism = "randomized_response"\n'
TOGETHER = 'mechanism = "bitwise_response"\n'


def test_flags_are_bits_in_their_order() -> None:
    """A set, a list or a tuple of names; what is recorded is sorted and has each name once."""
    metric = asked("flags", THREE + TOGETHER + "epsilon = 1.0")
    (column,) = metric.columns
    assert column.mechanism == BitwiseResponse(metric.epsilon, 3)
    for value in ({"vim", "tabs"}, ["vim", "tabs", "vim"], ("tabs", "vim"), frozenset({"tabs", "vim"})):
        assert metric.kind.check(value) == ["tabs", "vim"]
    assert metric.encode(["tabs", "vim"], lambda: 0) == (column, 0b011)
    assert metric.encode(["minimap"], lambda: 0) == (column, 0b100)
    assert metric.encode([], lambda: 0) == (column, 0)
    assert [metric.encode(value, lambda: 0)[1] for value in metric.kind.apart()] == [0b111, 0]


def test_wide_flags_travel_in_wide_rows() -> None:
    """Up to 48 flags fit a row of eight bytes, up to 256 are possible."""
    names = [f"f{number}" for number in range(256)]
    shapes = [
        asked("flags", f"flags = {names[:n]}\nepsilon = 1.0\n{TOGETHER}").columns[0].shape for n in (48, 49, 256)
    ]
    assert [shape.wide for shape in shapes] == [False, True, True]
    many = refused("flags", f"flags = {[*names, 'one_more']}\nepsilon = 1.0")
    assert many == ["one.flags: must be a list of 1 to 256 texts, not 257 of them"]


@pytest.mark.parametrize(("written", "total"), [("0.5", Fraction(3, 2)), ('"ln 3"', None)])
def test_each_flag_for_itself_costs_the_sum(written: str, total: Fraction | None) -> None:
    """Every flag is hidden with its own epsilon; the ledger and the budget count all of them."""
    metric = asked("flags", THREE + f"per_flag_epsilon = {written}")
    mechanism = metric.columns[0].mechanism
    assert isinstance(mechanism, BitwiseResponse)
    if total is None:  # 3 per flag is 27 for all three, exactly
        assert (str(metric.epsilon), metric.epsilon.exp) == ("ln 27", Fraction(27))
        assert mechanism.p / mechanism.q <= 3
    else:
        assert metric.epsilon.value == total
        assert mechanism.p / mechanism.q <= exp_between(Fraction(1, 2))[1]
    (problem,) = refused("flags", THREE + 'per_flag_epsilon = "ln 3"', budget=3.2)
    assert problem.startswith("budget.epoch: the metrics spend 3.29583")


def test_what_flags_cost_is_given_once() -> None:
    """Epsilon or per_flag_epsilon, not both and not neither; what is wrong is named by its own key."""
    assert refused("flags", THREE) == ["one.epsilon: missing, such as epsilon = 1.0"]
    assert refused("flags", THREE + "epsilon = 1.0\nper_flag_epsilon = 0.5") == [
        "one.per_flag_epsilon: takes the place of epsilon: give one of the two"
    ]
    assert refused("flags", THREE + "per_flag_epsilon = -1") == [
        "one.per_flag_epsilon: must be greater than 0, not -1"
    ]
    assert refused("flags", 'flags = ["a", "a"]\nper_flag_epsilon = 1.0') == ["one.flags: has 'a' twice"]
    assert refused("flags", THREE + "per_flag_epsilon = 11.0") == [
        "one.per_flag_epsilon: the sum over 3 flags must be at most 32, not 33: beyond it nothing is deniable"
    ]
    assert refused("flags", THREE + "per_flag_epsilon = 0.5\n" + DRAWN) == [
        'one: per_flag_epsilon goes with mechanism = "bitwise_response"'
    ]
    assert refused("boolean", "per_flag_epsilon = 0.5\nepsilon = 1.0") == [
        "one.per_flag_epsilon: unknown key; it is a key of flags, and this is a boolean; did you mean 'epsilon'?"
    ]


def test_a_drawn_flag_is_answered_with_all_of_epsilon() -> None:
    """One column a flag: each is drawn equally often, and the bit of it is the input."""
    metric = asked("flags", THREE + "epsilon = 1.0\n" + DRAWN)
    assert len(metric.columns) == 3
    assert {column.mechanism.epsilon for column in metric.columns} == {metric.epsilon}
    for place in range(3):
        for word in (place * WORD // 3 + 1, (place + 1) * WORD // 3 - 1):
            assert metric.encode(["vim"], lambda word=word: word) == (metric.columns[place], int(place == 1))  # type: ignore[misc]


def test_the_mechanism_with_less_variance_is_chosen() -> None:
    """While epsilon is small a device answers one flag that it draws; where it is large, all of them."""
    small, large = (asked("flags", THREE + f"epsilon = {epsilon}").columns for epsilon in ("1.0", "15.0"))
    assert [type(column.mechanism) for column in small] == [RandomizedResponse] * 3
    assert [type(column.mechanism) for column in large] == [BitwiseResponse]


def test_remembered_flags_are_randomised_afresh() -> None:
    """All of them: a flag that is drawn for life would name its device. The cost is that of what is remembered."""
    second = "memoize = true\ninstantaneous_epsilon = 0.6\n"
    together = asked("flags", THREE + "epsilon = 2.0\n" + second + TOGETHER)
    (mechanism,) = (column.mechanism for column in together.columns)
    assert isinstance(mechanism, MemoizedBitwise)
    assert mechanism.permanent == BitwiseResponse(together.epsilon, 3)
    assert together.instantaneous is not None
    assert mechanism.fresh == BitwiseResponse(together.instantaneous, 3)
    assert asked("flags", THREE + "epsilon = 2.0\n" + second).columns == together.columns
    assert refused("flags", THREE + "epsilon = 2.0\n" + second + DRAWN) == [f"one: a drawn flag {ONCE}"]
    repeated = asked("flags", THREE + "epsilon = 2.0\nmemoize = true\n" + LINKABLE)
    assert [type(column.mechanism) for column in repeated.columns] == [RandomizedResponse] * 3


@pytest.mark.parametrize(
    ("reduce", "answered"),
    [("last", ["b", "c"]), ("any", ["a", "b", "c"]), ("all", ["b"]), ("sample", None)],
)
def test_several_values_of_an_epoch_become_one(reduce: str, answered: list[str] | None) -> None:
    """The last, the union, the intersection or any of them; states survive JSON, as they are kept in the file."""
    metric = asked("flags", f'flags = ["a", "b", "c"]\nepsilon = 1.0\nreduce = "{reduce}"')
    reducer = REDUCERS[reduce]
    states = [json.loads(json.dumps(reducer.start(metric.kind.check(value)))) for value in ({"a", "b"}, {"c", "b"})]
    reduced = reducer.finish(json.loads(json.dumps(reducer.merge(*states))))
    assert reduced == answered or (answered is None and reduced in (["a", "b"], ["b", "c"]))
    assert metric.encode(reduced, lambda: 0)[1] < 8


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("vim", "takes a set of flags, not 'vim'"),
        (None, "takes a set of flags, not None"),
        ({"vim": True}, "takes a set of flags, not {'vim': True}"),
        (["Vim"], r"not one of the 3 flags: 'Vim'; did you mean 'vim'\?"),
        ([["vim"]], r"not one of the 3 flags: \['vim'\]"),
    ],
)
def test_other_values_are_not_taken(value: object, says: str) -> None:
    """A single name is no set of names."""
    with pytest.raises(InvalidValueError, match=says):
        asked("flags", THREE + "epsilon = 1.0").kind.check(value)


def test_a_device_remembers_its_flags(tmp_path: Path) -> None:
    """Memoised over two epochs, the same flags cost once; other flags cost once more."""
    text = (
        '[collection]\nname = "c"\nepoch = "1h"\nowner = "o"\n[budget]\nepoch = 9\n'
        '[metrics.one]\nkind = "flags"\ndescription = "d"\nepsilon = 2.0\nmemoize = true\n' + THREE + TOGETHER
    )
    now = [0.0]
    settings = deniable.Settings(clock=lambda: now[0])
    collection = deniable.Collection.loads(text)
    granted = deniable.Consent.GRANTED
    with deniable.Client(collection, state=tmp_path / "state.db", consent=granted, settings=settings) as client:
        for value in ({"vim"}, {"vim"}, {"tabs"}):
            client.record("one", value)
            client.flush()
            now[0] += 3600
        assert [charge.epsilon for charge in client.ledger()] == [2.0, 0.0, 2.0]
