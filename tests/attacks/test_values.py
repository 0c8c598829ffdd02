"""Whatever an application records is taken exactly, or refused by a named error and leaves nothing behind.

And no number that is written in a collection makes a device that answers wrongly, or never.
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import Collection, CollectionError, InvalidValueError, Metric, UnknownMetricError
from deniable.kinds import Count, Number
from deniable.kinds.count import MOST
from deniable.mechanisms import Laplace
from deniable.payload import Bitmap, Codeword, Shape
from deniable.randomness import WORD, word
from deniable.testing import TestClient
from planning.everything import EVERYTHING
from support.asked import refused

METRICS = pytest.mark.parametrize("name", EVERYTHING.metrics)


class Loud(str):
    """A text that says something else whenever it is asked."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("a")

    def __str__(self) -> str:
        return "a"

    def __repr__(self) -> str:
        raise RuntimeError("shown")


class Small(int):
    """A number that claims to be within any bounds."""

    def __le__(self, other: object) -> bool:
        return True

    __ge__ = __lt__ = __gt__ = __le__

    def __abs__(self) -> int:
        return 0


class Finite(float):
    """A number that is not what it compares and converts to."""

    def __abs__(self) -> float:
        return 0.0

    def __le__(self, other: object) -> bool:
        return True

    def __float__(self) -> float:
        return math.inf


class Claimed:
    """An object that says that it is a number, and nothing can be done with it."""

    __class__ = float  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise RuntimeError("shown")


class Twofold(list[Any]):
    """A list that has other entries when it is gone through again."""

    turn = 0

    def __iter__(self) -> Iterator[Any]:
        self.turn += 1
        return iter([0.0, 0.0, 0.0] if self.turn == 1 else [math.nan, "x"])


class Unhashable(str):
    """A text that can not be looked up."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]


class Raising(str):
    """A text that raises when it is looked up."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError("hashed")


class Theme(enum.StrEnum):
    """An enum whose members are texts."""

    A = "a"


STRANGE: list[Any] = [
    None, object(), b"a", "", "x" * 100_000, Loud("zzz"), Unhashable("a"), Raising("a"), Claimed(), Ellipsis,
    math.nan, math.inf, -math.inf, 10**5000, -(10**5000), 10**400, -1, 1 << 54, Small(-5), Small(10**6000),
    Finite(3.0), Finite(math.nan), Finite(1e308), 1e301, 5j, Decimal("0.5"), Decimal("NaN"), Fraction(1, 3),
    np.float32(0.5), np.int64(3), np.bool_(True), np.array([1.0, 2.0, 3.0]), np.array(True), {}, {"a": 1}, range(3),
    iter("abc"), ["a", None], [["a"]], ["zzz"], {"a", 5}, [math.nan] * 3, [1.0, 2.0, math.inf], [True, False, True],
    [10**400] * 3, [1e301, 0, 0], [0.0] * 2, [0.0] * 4, Twofold([1.0, 2.0, 3.0]), [Claimed()] * 3,
    [Finite(2.0)] * 3, 1, 0, "true", 2,
]  # fmt: skip
"""Values that hardly any metric takes."""


def states(client: TestClient) -> list[tuple[str, str]]:
    """All that the client has of what was recorded, on its disk."""
    client._write()
    found = client._state.run(lambda connection: connection.execute("SELECT metric, state FROM raw").fetchall())
    return [(metric, state) for metric, state in found]


@METRICS
def test_what_is_not_taken_raises_its_error_and_changes_nothing(name: str) -> None:
    """Each strange value is recorded as plain JSON, or refused by InvalidValueError with nothing kept of it."""
    for value in STRANGE:
        client = TestClient(EVERYTHING)
        try:
            client.record(name, value)
        except InvalidValueError:
            assert states(client) == []
        else:
            ((metric, state),) = states(client)
            assert metric == name
            assert "NaN" not in state
            assert "Infinity" not in state
            json.loads(state)
            client.flush()
            assert client.reports(name)
        client.close()


@pytest.mark.parametrize("strict", [True, False])
def test_a_name_that_is_none_is_an_unknown_metric(strict: bool) -> None:
    """Whatever it does when it is looked up; an application that is not strict notices nothing."""
    client = TestClient(EVERYTHING)
    client._mistakes._strict = strict
    for metric in (None, 5, b"yes", Unhashable("yes"), Raising("yes"), Claimed(), "x" * 1_000_000, ["yes"], math.nan):
        if strict:
            with pytest.raises(UnknownMetricError):
                client.record(metric, True)  # type: ignore[arg-type]
        else:
            client.record(metric, True)  # type: ignore[arg-type]
    assert states(client) == []
    assert client.status().counts.get("unknown metric", 0) == (0 if strict else 9)
    client.close()


def test_what_subclasses_hold_is_kept_and_not_what_they_say() -> None:
    """An enum's text and numpy's doubles are taken, as plain texts and numbers."""
    checked = EVERYTHING.metrics["few"].kind.check(Theme.A)
    assert (type(checked), checked) == (str, "a")
    for value, held in ((np.float64(3.5), 3.5), (Finite(3.0), 3.0), (Small(7), 7.0), (-0.0, 0.0), (5e-324, 5e-324)):
        checked = EVERYTHING.metrics["minutes"].kind.check(value)
        assert (type(checked), checked) == (float, held)
    checked = EVERYTHING.metrics["errors"].kind.check(Small(7))
    assert (type(checked), checked) == (int, 7)


@settings(max_examples=300, deadline=None)
@given(value=st.floats() | st.integers() | st.text(max_size=3) | st.booleans() | st.none() | st.decimals(),
       listed=st.booleans(), name=st.sampled_from(list(EVERYTHING.metrics)))  # fmt: skip
def test_any_value_is_taken_or_refused_by_name(value: Any, listed: bool, name: str) -> None:
    """What passes the check is encoded and answered; nothing else raises anything else."""
    metric = EVERYTHING.metrics[name]
    given = [value] * 3 if listed else value
    try:
        checked = metric.kind.check(given)
    except InvalidValueError:
        return
    column, chosen = metric.encode(checked, word)
    assert 0 <= chosen < column.mechanism.inputs
    assert within(metric, column.mechanism.randomize(chosen))


def within(metric: Metric, payload: int) -> bool:
    """Whether some column of the metric has the payload."""
    return any(0 <= payload < payloads(column.shape) for column in metric.columns)


def payloads(shape: Shape) -> int:
    """How many a shape has."""
    if isinstance(shape, Codeword):
        return shape.seeds * shape.codewords
    return 1 << 32 * shape.size if shape.wide or isinstance(shape, Bitmap) else shape.size


EVENTS = Count(None, "event")


def test_counts_of_events_are_encoded_exactly() -> None:
    """Up to 2^31 - 1, whatever word is drawn: doubles made one of four million large ones another one."""
    columns = EVENTS.columns(EVERYTHING.metrics["errors"].epsilon, "auto")
    random = Random(4)
    near = [MOST - less for less in range(200)] + [random.randrange(MOST) for _ in range(3000)] + [0, 1, 1 << 30]
    for count in near:
        assert {EVENTS.encode(count, columns, lambda drawn=drawn: drawn) for drawn in (0, WORD // 2, WORD - 1)} == {  # type: ignore[misc]
            (0, count)
        }


@pytest.mark.parametrize("most", [1, 3, 50, (1 << 31) - 1])
def test_means_of_counts_are_placed_by_exactly_as_many_words_as_they_should(most: int) -> None:
    """A mean of 2.25 on a grid of whole counts is 3 for a quarter of all words, to the word."""
    kind = Count(most)
    for mean in (0.25, most - 0.75, most / 3):
        below, words = kind.place(mean, most)
        assert Fraction(words, WORD) - 1 / Fraction(WORD) < Fraction(mean) - below <= Fraction(words, WORD)


RANGES = [
    ("[0, 1e-297]", "1e-299"), ("[0, 1e299]", "1e297"), ("[-1e299, 1e299]", "1e297"), ("[-1e-297, 1e-297]", "1e-299"),
    ("[0, 1]", "1"), ("[1e15, 1000000000000100]", "1"), ("[-0.0, 0.5]", "0.25"), ("[0.1, 1.1]", "0.1"),
]  # fmt: skip
TEXT = """
[collection]
name = "extremes"
owner = "o"
epoch = "1d"
[budget]
epoch = 100
[metrics.one]
description = "d"
kind = "number"
range = {range}
step = {step}
epsilon = {epsilon}
mechanism = "{mechanism}"
"""


@pytest.mark.parametrize(("ends", "step"), RANGES)
@pytest.mark.parametrize("mechanism", Number.mechanisms)
@pytest.mark.parametrize("epsilon", ["0.01", "1", "16"])
def test_numbers_of_any_size_are_placed_on_their_range(ends: str, step: str, mechanism: str, epsilon: str) -> None:
    """Both ends, the middle, values far outside, the smallest doubles and negative zero: always an input, the ends'
    own at the ends, and never beside the place."""
    text = TEXT.format(range=ends, step=step, epsilon=epsilon, mechanism=mechanism)
    metric = Collection.loads(text).metrics["one"]
    kind, (column,) = metric.kind, metric.columns
    assert isinstance(kind, Number)
    low, high = kind.ends
    last = column.mechanism.inputs - 1
    for value in (low, high, low / 2 + high / 2, -1e300, 1e300, 5e-324, -5e-324, -0.0, math.nextafter(high, low)):
        for drawn in (0, WORD - 1):
            _, chosen = metric.encode(kind.check(value), lambda drawn=drawn: drawn)  # type: ignore[misc]
            assert 0 <= chosen <= last
            if value in {low, high, -1e300, 1e300}:
                assert chosen == (last if value >= high else 0)
            if isinstance(column.mechanism, Laplace):
                place = (min(max(Fraction(value), kind.low), kind.high) - kind.low) / kind.step
                assert abs(chosen - place) < 1 + Fraction(1, 10**6)
        metric.randomize(value)


def test_a_range_whose_ends_are_one_double_is_refused() -> None:
    """From 1e16 to 1e16 + 1 all values are the same, and a device could only fail to answer."""
    for ends in ("[1e16, 10000000000000001]", "[1e17, 100000000000000020]", "[-100000000000000001, -1e17]"):
        problems = refused("number", f"range = {ends}\nepsilon = 1")
        assert problems
        assert "too narrow for numbers near" in problems[0]


SIZES = [
    (2, "0.01"),
    (2, "16"),
    (48, "0.01"),
    (49, "16"),
    (3000, "0.01"),
    (3000, "16"),
    (65_536, "1"),
    (65_536, "16"),
]


@pytest.mark.parametrize(("size", "epsilon"), SIZES)
def test_categories_of_any_size_are_answered(size: int, epsilon: str) -> None:
    """From 2 to 65,536 values, at epsilon 0.01 to 16: the first, a middle and the last value make payloads."""
    names = json.dumps([f"v{number}" for number in range(size)])
    text = TEXT.replace('"number"', '"category"').format(range="[0, 1]", step=1, epsilon=epsilon, mechanism="auto")
    text = text.replace("range = [0, 1]\nstep = 1", f"values = {names}")
    metric = Collection.loads(text).metrics["one"]
    for number in (0, size // 2, size - 1):
        assert 0 <= metric.randomize(f"v{number}").payload < 1 << metric.columns[0].shape.size.bit_length() * 4096


@pytest.mark.parametrize(
    "number", ["nan", "inf", "-inf", "1e400", "-1e400", "1e-400", "true", '"1"', "[1]", "0", "-1"]
)
@pytest.mark.parametrize("key", ["epsilon", "step"])
def test_numbers_of_a_collection_that_are_none_are_refused(number: str, key: str) -> None:
    """By a CollectionError that names the key, not by whatever arithmetic raises."""
    fields = {"range": "[0, 1]", "step": "1", "epsilon": "1", "mechanism": "auto"} | {key: number}
    with pytest.raises(CollectionError) as caught:
        Collection.loads(TEXT.format(**fields))
    assert any(problem.where.startswith("metrics.one") for problem in caught.value.problems)
