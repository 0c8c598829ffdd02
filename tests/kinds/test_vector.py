"""Vector: clipped, put on a grid at random, hidden by the noise that its norm asks for."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable
from deniable import randomness
from deniable.errors import InvalidValueError
from deniable.kinds import Vector
from deniable.mechanisms import Codewords, Gaussian, VectorLaplace
from deniable.mechanisms._entries import unpack
from deniable.randomness import WORD
from support.asked import LINKABLE, asked, refused

L2 = 'dimensions = 3\nclip = 1.5\nnorm = "l2"\ndelta = 1e-8\nfleet = 1_000_000\nepsilon = 1.0\n'
PURE = 'dimensions = 3\nclip = 1.5\nnorm = "l2"\nepsilon = 1.0\n'
L1 = 'dimensions = 3\nclip = 1.5\nnorm = "l1"\nepsilon = 1.0\n'
LAPLACE = L1 + 'mechanism = "vector_laplace"\n'


def rounded(kind: Vector, value: list[float], word: int) -> list[int]:
    """The grid points when every random word is this one."""
    column, chosen = kind.encode(value, [], lambda: word)
    assert column == 0
    return list(unpack(chosen, kind.dimensions))


def test_the_norm_chooses_the_noise() -> None:
    """l2: Gaussian, with a delta that the metric shows; l1: Laplace, without, if it is asked for by name."""
    euclidean, manhattan = asked("vector", L2), asked("vector", LAPLACE)
    assert isinstance(euclidean.kind, Vector)
    assert isinstance(manhattan.kind, Vector)
    assert euclidean.columns[0].mechanism == Gaussian(euclidean.epsilon, Fraction(1, 10**8), 3, euclidean.kind.bound)
    assert manhattan.columns[0].mechanism == VectorLaplace(manhattan.epsilon, 3, manhattan.kind.bound)
    assert (euclidean.kind.delta, manhattan.kind.delta) == (Fraction(1, 10**8), Fraction(0))
    assert euclidean.columns[0].shape.wide
    for text, says in (
        (L2 + 'mechanism = "vector_laplace"', 'mechanism = "vector_laplace" has no delta: leave out delta and fleet'),
        (L2 + 'mechanism = "codewords"', 'mechanism = "codewords" has no delta: leave out delta and fleet'),
        (PURE + 'mechanism = "vector_laplace"', 'mechanism = "vector_laplace" goes with norm = "l1"'),
        (PURE + 'mechanism = "gaussian"', 'mechanism = "gaussian" goes with norm = "l2", a delta and a fleet'),
        (L1 + 'mechanism = "gaussian"', 'mechanism = "gaussian" goes with norm = "l2", a delta and a fleet'),
    ):
        assert refused("vector", text) == [f"one: {says}"]


def test_without_a_delta_a_codeword_is_named() -> None:
    """l2: always; l1: where that has less variance than Laplace noise. Eight bytes, and nothing but epsilon."""
    for text in (PURE, L1, PURE + 'mechanism = "codewords"', L1 + 'mechanism = "codewords"'):
        metric = asked("vector", text)
        assert isinstance(metric.kind, Vector)
        assert metric.columns[0].mechanism == Codewords.best(metric.epsilon, 3, metric.kind.bound)
        assert metric.kind.delta == 0
        assert not metric.columns[0].shape.wide
    for dimensions, epsilon, best in ((1000, 4, Codewords), (1000, 8, VectorLaplace), (8, 8, Codewords)):
        many = L1.replace("= 3", f"= {dimensions}").replace("epsilon = 1.0", f"epsilon = {epsilon}")
        chosen = asked("vector", many).columns[0].mechanism
        named = [
            asked("vector", f'{many}mechanism = "{each}"').columns[0].mechanism for each in Vector.mechanisms[::2]
        ]
        assert isinstance(chosen, best)
        assert chosen == min(named, key=lambda each: each.variance)  # type: ignore[attr-defined]


def test_what_was_sent_is_said_in_words() -> None:
    """A codeword is a direction among others, by its number: no answer."""
    metric = asked("vector", PURE)
    (column,) = metric.columns
    said = metric.kind.describe(0, column.mechanism, 256 * 77 + 5)
    assert said == "direction 5 of 256 that were drawn at random"


@pytest.mark.parametrize("dimensions", [1, 2, 100, 4096])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_grid_costs_next_to_no_noise(norm: str, dimensions: int) -> None:
    """What rounding adds to the norm, and so to the noise, is less than 0.3% of the clip."""
    kind = Vector(dimensions, Fraction(1), norm)
    assert kind.grid < kind.bound <= 1.003 * kind.grid


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["l1", "l2"]),
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40),
    st.sampled_from([Fraction(1, 10**9), Fraction(1, 3), Fraction(7), Fraction(10**12)]),
    st.integers(0, WORD - 1),
)
def test_every_vector_is_within_the_bound(norm: str, value: list[float], clip: Fraction, word: int) -> None:
    """Whatever is recorded and drawn, exactly: the mechanism, which refuses what is longer, takes all of it."""
    kind = Vector(len(value), clip, norm)
    entries = rounded(kind, kind.check(value), word)
    if norm == "l1":
        assert sum(map(abs, entries)) <= kind.bound
    else:
        assert sum(entry * entry for entry in entries) <= kind.bound**2


def test_a_long_vector_is_shortened() -> None:
    """To the clip, in its own direction; a short one stays as it is."""
    euclidean, manhattan = (Vector(2, Fraction(5), norm) for norm in ("l2", "l1"))
    assert euclidean.clipped([6.0, 8.0]) == [3.0, 4.0]
    assert manhattan.clipped([-4.0, 12.0]) == [-1.25, 3.75]
    assert euclidean.clipped([3.0, 4.0]) == [3.0, 4.0]
    assert manhattan.clipped([-1.0, 4.0]) == [-1.0, 4.0]
    assert math.hypot(*euclidean.clipped([1e300, -1e300])) == pytest.approx(5)


def test_a_place_between_two_grid_points_goes_to_either() -> None:
    """Up where the word lies below the part that is left, so that the mean is exact; a grid point stays."""
    kind = Vector(3, Fraction(1), "l2")
    step = 1 / kind.grid
    value = [2.25 * step, -0.25 * step, 7 * step]
    assert rounded(kind, value, 0) == [3, 0, 7]
    assert rounded(kind, value, WORD // 4 - WORD // 1000) == [3, 0, 7]
    assert rounded(kind, value, WORD // 4 + WORD // 1000) == [2, 0, 7]
    assert rounded(kind, value, WORD - 1) == [2, -1, 7]


def test_rounding_is_right_on_average() -> None:
    """The mean of 40,000 roundings of a third of a step is within 5 standard errors of it."""
    kind = Vector(1, Fraction(1), "l1")
    total = sum(unpack(kind.encode([1 / 3 / kind.grid], [], randomness.word)[1], 1)[0] for _ in range(40_000))
    assert abs(total / 40_000 - 1 / 3) < 5 * math.sqrt(2 / 9 / 40_000)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([1.0, 2.0], "a vector takes a list of 3 numbers, not 2 of them"),
        ("abc", "a vector takes a list of 3 numbers, not 'abc'"),
        ([1.0, 2.0, math.nan], "a vector takes finite numbers, not nan"),
        ([1.0, -math.inf, 0.0], "a vector takes finite numbers, not -inf"),
        ([1.0, 2.0, 1e301], r"a vector takes finite numbers, not 1e\+301"),
        ([1.0, 2.0, "3"], "a vector takes finite numbers, not '3'"),
        ([1.0, 2.0, True], "a vector takes finite numbers, not True"),
    ],
)
def test_other_values_are_not_taken(value: object, says: str) -> None:
    """As many finite numbers as there are dimensions."""
    with pytest.raises(InvalidValueError, match=says):
        asked("vector", L1).kind.check(value)


def test_a_delta_that_would_expose_someone_is_refused() -> None:
    """In a fleet of the stated size, which has to be stated; with l1 there is nothing to state."""
    for delta, exposed in (("1e-6", 1), ("0.00001", 10)):
        (problem,) = refused("vector", L2.replace("1e-8", delta))
        assert problem.startswith(
            f"one.delta: of a fleet of 1000000 devices it may expose {exposed}: take less than "
        )
    assert refused("vector", L2.replace("1e-8", "9.99e-7")) == []
    for line, key, other in (("delta = 1e-8", "delta", "fleet"), ("fleet = 1_000_000", "fleet", "delta")):
        (problem,) = refused("vector", L2.replace(f"{line}\n", ""))
        assert problem.startswith(
            f"one.{key}: missing: Gaussian noise, for which {other} is given, protects but for "
        )
    assert refused("vector", L1 + "delta = 1e-8") == [
        'one.delta: goes with norm = "l2": an l1 vector is protected without exception'
    ]
    assert refused("vector", L2.replace("1e-8", "0")) == ["one.delta: must lie between 0 and 1, not at 0"]
    assert refused("vector", L2.replace("1e-8", "1.5")) == ["one.delta: must lie between 0 and 1, not at 1.5"]


def test_what_can_not_be_asked() -> None:
    """Every parameter by its key; noise that does not fit in words that say what to change."""
    assert refused("vector", L1.replace("dimensions = 3", "dimensions = 0")) == [
        "one.dimensions: must be a whole number from 1 to 4096, not 0"
    ]
    assert refused("vector", L1.replace("clip = 1.5", "clip = 0")) == ["one.clip: must be greater than 0, not 0"]
    assert refused("vector", L1.replace('"l1"', '"l3"')) == ["one.norm: unknown word 'l3'; known: l1, l2"]
    assert refused("vector", "epsilon = 1.0") == [
        "one.dimensions: missing, such as dimensions = 8",
        "one.clip: missing, such as clip = 1.0",
        'one.norm: missing, such as norm = "l2"',
    ]
    tiny = LAPLACE.replace("dimensions = 3", "dimensions = 4096").replace("1.0", "0.001")
    assert refused("vector", tiny.replace('mechanism = "vector_laplace"', "")) == []  # codewords fit
    assert refused("vector", tiny)[0].startswith(
        "one: noise over 8396802 steps at epsilon 0.001 does not fit 32 bits"
    )
    assert refused("vector", L2.replace("epsilon = 1.0", "epsilon = 0.00001")) == [
        "one: the noise does not fit 32 bits: take a larger epsilon, or fewer dimensions"
    ]


def test_delta_is_part_of_the_digest_and_fleet_is_not() -> None:
    """Another delta is another noise; another fleet only asks whether delta is small enough."""
    parameters = [
        asked("vector", text).kind.parameters()
        for text in (L2, L2.replace("1e-8", "1e-9"), L2.replace("1_000_000", "10"))
    ]
    assert parameters[0] != parameters[1]
    assert parameters[0] == parameters[2]


def test_a_device_remembers_a_long_vector(tmp_path: Path) -> None:
    """1,000 dimensions, memoised: the same vector sends the same payload again, and costs once."""
    text = (
        '[collection]\nname = "c"\nepoch = "1h"\nowner = "o"\n[budget]\nepoch = 9\n'
        '[metrics.one]\nkind = "vector"\ndescription = "d"\nepsilon = 1.0\nmemoize = true\n'
        + LINKABLE
        + 'dimensions = 1000\nclip = 1\nnorm = "l2"\ndelta = 1e-9\nfleet = 1000\n'
    )
    now = [0.0]
    collection = deniable.Collection.loads(text)
    with deniable.Client(
        collection,
        state=tmp_path / "state.db",
        consent=deniable.Consent.GRANTED,
        settings=deniable.Settings(clock=lambda: now[0]),
    ) as client:
        for _ in range(2):
            client.record("one", [0.01] * 1000)
            client.flush()
            now[0] += 3600
        assert [charge.epsilon for charge in client.ledger()] == [1.0, 0.0]
