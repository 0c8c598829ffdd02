"""Every registered mechanism: that it has an estimator, a twin and cases, and that what it says of itself is true.

What it says is held against its own exact channel, by definition; the channel itself is proved in tests/privacy. The
estimators are held against it as well: over all payloads of an input they are right on average, exactly.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import lcm
from pathlib import Path

import numpy as np
import pytest
from tools.check_imports import naming

import deniable.mechanisms
from deniable.mechanisms import MECHANISMS, Mechanism, Memory, RandomizedResponse, Supporting, Wrapper
from deniable.payload import Bitmap, Integer
from deniable_aggregator import estimators
from deniable_aggregator.estimators import Means, frequencies, means, ranks
from deniable_aggregator.planning import twins
from mechanisms.registered import CASES, ROOM, beside
from privacy.channels import payload_count
from support.cases import Subject
from support.commands import ROOT

SMALL = list({
    subject.mechanism: subject
    for cases in CASES.values() if not cases.proved
    for subject in (*cases.fitted, *cases.scripted)
    if subject.mechanism.inputs * payload_count(subject.mechanism) <= 1 << 13
}.values())  # fmt: skip
"""Those whose whole channels can be looked at many times: each mechanism once, with the inputs that are scripted."""
EACH = pytest.mark.parametrize("subject", SMALL, ids=str)
Row = dict[int, Fraction]


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_is_files_of_its_name(name: str) -> None:
    """On the client, among the estimators, the twins and the cases of tests: without them, nothing judges it."""
    for folder in (
        "client/deniable/mechanisms",
        "aggregator/deniable_aggregator/estimators",
        "aggregator/deniable_aggregator/planning/twins",
        "tests/mechanisms/cases",
    ):
        assert (ROOT / folder / f"{name}.py").is_file(), f"{folder} has no {name}.py: docs/adding.md says what it is"


def test_each_side_has_one_list_and_all_are_of_the_same_mechanisms() -> None:
    """Client, estimators and twins; and no cases are left of a mechanism that is not registered."""
    assert set(estimators.ROOMS) == set(twins.ROOMS) == set(MECHANISMS)
    assert {path.stem for path in ROOM.glob("*.py")} == set(MECHANISMS) == set(CASES)


def test_no_mechanism_is_left_out_of_the_list() -> None:
    """Every class that a file of the client's mechanisms defines under a name is in it."""
    found, waiting = set(), [Mechanism]
    while waiting:
        own = waiting.pop().__subclasses__()
        waiting += own
        found |= {each.name for each in own if each.__module__.startswith(deniable.mechanisms.__name__)
                  and "name" in vars(each)}  # fmt: skip
    assert found == set(MECHANISMS)


def test_nobody_asks_of_which_class_a_mechanism_is(tmp_path: Path) -> None:
    """Outside of kinds, which make them, and of estimators and twins, no file knows one by name; such an import is
    found."""
    assert not list(naming(ROOT))
    for place, found in (
        ("client/deniable/linkage", 1),
        ("client/deniable/kinds/boolean", 0),
        ("aggregator/deniable_aggregator/windows", 1),
        ("aggregator/deniable_aggregator/estimators/x", 0),
    ):
        path = tmp_path / f"{place}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("from deniable.mechanisms import Mechanism, Memoized\n", encoding="utf-8")
        assert len(list(naming(tmp_path))) == found
        path.write_text("from deniable.mechanisms.memoized import Memoized\n", encoding="utf-8")
        assert bool(list(naming(tmp_path))) == bool(found)
        path.unlink()


@cache
def channel(mechanism: Mechanism) -> tuple[Row, ...]:
    """The whole of it."""
    return mechanism.channel()


def lasting(mechanism: Mechanism) -> list[Row]:
    """P(payload | what lasts): what is remembered, or an answer that stays the same."""
    if not isinstance(mechanism, Memory):
        return list(channel(mechanism))
    return [
        {payload: mechanism.renewed(payload, kept) for payload in mechanism.payloads()}
        for kept in mechanism.first.payloads()
    ]


def alone(mechanism: Mechanism, payload: int) -> np.ndarray:
    """The counters of one report."""
    shape = mechanism.shape
    if isinstance(shape, Bitmap):
        return np.array([1, *(payload >> bit & 1 for bit in range(shape.size))])
    if isinstance(shape, Integer):
        level = payload + shape.gap * ((payload >= 2) + (payload >= shape.size - 2))
        return np.array([1, level, level**2 & (1 << 32) - 1, level**2 >> 32])
    return np.bincount([payload], minlength=shape.size)


def held(mechanism: Supporting, value: int) -> set[int]:
    """Which of the answers that are asked for an input has: of flags those that are set."""
    if mechanism.inputs == 1 << mechanism.asked:
        return {flag for flag in range(mechanism.asked) if value >> flag & 1}
    first = mechanism.first if isinstance(mechanism, Memory) else mechanism
    return set(first.slots(value))


@EACH
def test_estimates_are_right_on_average(subject: Subject) -> None:
    """Of an answer that devices have the reports support the share p, of another one q: exactly, over the channel.

    Of a quantity the mean of what reports say is where the input lies on its range: the ends at 0 and 1, the others
    in between and in order. Of an order all devices are at the place that they have.
    """
    mechanism, rows = subject.mechanism, channel(subject.mechanism)
    if isinstance(mechanism, Supporting):
        supports = {
            payload: frequencies(mechanism, alone(mechanism, payload)).supports.tolist() for payload in rows[0]
        }
        found = frequencies(mechanism, alone(mechanism, next(iter(rows[0]))))
        assert (found.p, found.q) == (float(mechanism.p), float(mechanism.q))
        assert {len(own) for own in supports.values()} == {mechanism.asked}
        for value, row in enumerate(rows):
            own, whole = held(mechanism, value), lcm(*(chance.denominator for chance in row.values()))
            parts = {payload: int(chance * whole) for payload, chance in row.items()}
            for answer in range(mechanism.asked):
                part = sum(part * supports[payload][answer] for payload, part in parts.items())
                assert Fraction(part, whole) == (mechanism.p if answer in own else mechanism.q)
        assert max(sum(own) for own in supports.values()) == mechanism.supported
    elif mechanism.place_of(0) is not None:
        places = [
            sum(chance * Fraction(_place(mechanism, payload)) for payload, chance in row.items()) for row in rows
        ]
        assert [float(places[0]), float(places[-1])] == pytest.approx([0, 1], abs=1e-9)
        assert places == sorted(places)
        for row, mean in zip(rows, places, strict=True):
            square = sum(chance * Fraction(_place(mechanism, payload)) ** 2 for payload, chance in row.items())
            assert float(square - mean**2) <= float(mechanism.quantity_variance) * (1 + 1e-9)
    else:
        says = {payload: ranks(mechanism, alone(mechanism, payload)).shares.values for payload in rows[0]}
        shares = [sum(float(chance) * says[payload] for payload, chance in row.items()) for row in rows]
        assert np.array(shares) == pytest.approx(np.eye(len(rows)), abs=1e-9)


@EACH
def test_two_answers_are_supported_together_as_often_as_it_says(subject: Subject) -> None:
    """Of what asks for one of several answers: the own one and another exactly, two others on average over which is
    the own one (of a part of the points of a geometry to within 10%)."""
    mechanism, rows = subject.mechanism, channel(subject.mechanism)
    if not isinstance(mechanism, Supporting) or not mechanism.most_answers or mechanism.inputs < 3:
        return
    supports = {payload: frequencies(mechanism, alone(mechanism, payload)).supports for payload in rows[0]}
    own, others = map(float, mechanism.both)
    found = []
    for value, row in enumerate(rows):
        pairs = sum(float(chance) * np.outer(supports[payload], supports[payload]) for payload, chance in row.items())
        rest = np.delete(np.arange(mechanism.inputs), value)
        assert np.array(pairs)[value, rest] == pytest.approx(own, rel=1e-9, abs=1e-12)
        found.append(np.array(pairs)[np.ix_(rest, rest)][~np.eye(len(rest), dtype=bool)].mean())
    exact = isinstance(mechanism.shape, Bitmap) or mechanism.inputs == mechanism.shape.counters
    assert np.mean(found) == pytest.approx(others, rel=1e-9 if exact else 0.1)


def _place(mechanism: Mechanism, payload: int) -> float:
    """What the estimator makes of one report is what the mechanism says of its payload."""
    found = means(mechanism, alone(mechanism, payload))
    assert isinstance(found, Means)
    said = mechanism.place_of(payload)
    assert said is not None
    assert (found.sums[0] - found.origin) / found.span == pytest.approx(said, abs=1e-9)
    return said


@EACH
def test_the_noise_of_a_quantity_is_what_its_estimator_says(subject: Subject) -> None:
    """Its moments keep to the bounds, halfway between two inputs too; and the variance is the same for every input.

    What is left of the reports' variance without it is the devices' own: were it greater in some places, devices that
    are there would seem to differ.
    """
    mechanism, rows = subject.mechanism, channel(subject.mechanism)
    if isinstance(mechanism, Supporting) or mechanism.place_of(0) is None:
        return
    found = {payload: means(mechanism, alone(mechanism, payload)) for payload in rows[0]}
    levels = {payload: each.sums[0] for payload, each in found.items() if isinstance(each, Means)}
    first = found[0]
    assert isinstance(first, Means)
    noise = first.noise
    halfway = [{payload: (low[payload] + high[payload]) / 2 for payload in low} for low, high in pairwise(rows)]
    for place, row in enumerate([*rows, *halfway]):
        mean = sum(chance * levels[payload] for payload, chance in row.items())
        second, third, fourth = (
            float(sum(chance * (levels[payload] - mean) ** order for payload, chance in row.items()))
            for order in (2, 3, 4)
        )
        assert noise.least * (1 - 1e-9) <= second <= noise.most * (1 + 1e-9)
        assert abs(third) <= noise.third * (1 + 1e-9) + 1e-9
        assert fourth <= noise.fourth * (1 + 1e-9)
        assert fourth - second**2 >= noise.square * (1 - 1e-9)
        if place < len(rows):
            assert second == pytest.approx(noise.least, rel=1e-5), f"of input {place} it has another variance"


@EACH
def test_a_report_names_answers_as_often_as_it_says(subject: Subject) -> None:
    """What people are told of it: how many answers it names, how often the own one and another are among them."""
    mechanism, naming = subject.mechanism, subject.mechanism.naming
    if naming is None:
        return
    for value, row in enumerate(channel(mechanism)):
        named = {payload: {bit for bit in range(payload.bit_length()) if payload >> bit & 1}
                 if isinstance(mechanism.shape, Bitmap) else {payload} for payload in row}  # fmt: skip
        assert {len(each) for each in named.values()} == {naming.answers}
        for answer in range(mechanism.inputs):
            chance = sum(chance for payload, chance in row.items() if answer in named[payload])
            assert chance == (naming.own if answer == value else naming.other)


@EACH
def test_what_is_remembered_and_renewed_makes_the_channel(subject: Subject) -> None:
    """Over what can be remembered, P(remembered | input) P(payload | remembered) adds up to P(payload | input)."""
    mechanism = subject.mechanism
    for value in subject.inputs:
        kept = {each: mechanism.first.probability(each, value) for each in mechanism.first.payloads()}
        assert sum(kept.values()) == 1
        assert mechanism.remember(value) in kept
        for payload, chance in channel(mechanism)[value].items():
            assert sum(often * mechanism.renewed(payload, each) for each, often in kept.items()) == chance


@EACH
def test_one_report_tells_no_more_than_it_says(subject: Subject) -> None:
    """Of what is remembered or, without a memory, of the answer; and two likenesses are as far apart as can be."""
    mechanism, rows = subject.mechanism, lasting(subject.mechanism)
    if not mechanism.hides_all:
        return
    worst = max(max(row[payload] for row in rows) / min(row[payload] for row in rows) for payload in rows[0])
    assert worst <= mechanism.instantaneous.exp
    if isinstance(mechanism, Memory):
        kept = [mechanism.likeness(value) for value in (min(subject.inputs), max(subject.inputs), 0)]
        assert all(mechanism.first.probability(each, value) > 0 for each in kept for value in subject.inputs)


@EACH
def test_it_tells_devices_apart_by_no_more_bits_than_it_says(subject: Subject) -> None:
    """J for all that lasts being equally likely, and for one that a half of all devices has, is at most the factor,
    or 2 to the bits that are said instead; two payloads of one input are the same no oftener than is said."""
    mechanism, rows = subject.mechanism, lasting(subject.mechanism)
    stated = float(mechanism.factor) if mechanism.factor else 2**mechanism.most_bits
    even = [Fraction(1, len(rows))] * len(rows)
    half = [Fraction(1, 2), *[Fraction(1, 2 * (len(rows) - 1))] * (len(rows) - 1)]
    for prior in (even, half):
        odds = Fraction(0)
        for payload in rows[0]:
            own = [row[payload] for row in rows]
            whole = sum(often * chance for often, chance in zip(prior, own, strict=True))
            odds += sum((often * chance**2 for often, chance in zip(prior, own, strict=True)), Fraction(0)) / whole
        assert float(odds) <= stated * (1 + 1e-9)
    if not isinstance(mechanism, Memory):
        least = max(-math.log2(sum(chance**2 for chance in row.values())) for row in rows)
        assert mechanism.collision >= least - 1e-9
        assert mechanism.shape.bits >= least - 1e-9
    else:
        with pytest.raises(TypeError, match="not sent as it is remembered"):
            _ = mechanism.collision


def test_shares_are_of_what_the_question_names() -> None:
    """Of as many answers as the kind has names for, and of no padding."""
    for _, metric in beside([], "1"):
        mechanism, *others = metric.mechanisms
        if isinstance(mechanism, Supporting) and metric.kind.names(0) and len(metric.columns) == 1:
            assert mechanism.asked == len(metric.kind.names(0)), metric.name
        assert not others
        assert metric.mechanism == mechanism.name


def test_what_a_wrapper_does_to_a_channel_is_one_method() -> None:
    """Through it, what is sure stays sure and what never is stays so; p and q are those of what is reported."""
    found = {subject.mechanism.name for subject in SMALL if isinstance(subject.mechanism, Wrapper)}
    assert found == {name for name, each in MECHANISMS.items() if issubclass(each, Wrapper)}
    for subject in SMALL:
        mechanism = subject.mechanism
        if isinstance(mechanism, Wrapper):
            for sure in (Fraction(1), Fraction(0)):
                assert mechanism.through(sure, sure) == (sure, sure)
            assert mechanism.through(*mechanism.reported) == (mechanism.p, mechanism.q)


def test_what_a_mechanism_does_not_estimate_is_refused_by_name() -> None:
    """No estimate is made of counters that are none of it."""
    mechanism = RandomizedResponse(deniable.Epsilon.of(1), 3)
    with pytest.raises(TypeError, match="randomized_response estimates no entries"):
        estimators.entries(mechanism, np.zeros(3, dtype=np.int64))
    with pytest.raises(TypeError, match="3 answers are not the two ends"):
        _ = mechanism.quantity_variance
