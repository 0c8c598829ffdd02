"""Intervals of counts hold their estimate, and those of counts without a max say that they have no upper end."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import Collection, Metric
from deniable.kinds import KINDS, Distribution, Joint, Quantity, Tree
from deniable.mechanisms import MECHANISMS, Laplace
from deniable.payload import Bitmap, Codeword, Integer, Integers, Symbol
from deniable_aggregator.analysis.question import Answer
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import Estimate, Measure, Target, answer
from deniable_aggregator.codebook import directions
from deniable_aggregator.planning.check import findings
from deniable_aggregator.telling import terminal
from deniable_aggregator.telling.messages import estimate_message
from deniable_aggregator.telling.tables import Table
from planning.everything import EVERYTHING
from support.asked import asked
from support.sequential import Claim, refuted

Counters = list[np.ndarray]
METRICS = list(EVERYTHING.metrics.values())
MOST = 1 << 40
_MANY = 4096
"""Symbols of which most are never sent."""
_OFTEN = st.one_of(
    st.lists(st.integers(1, 10**6), max_size=4),
    st.tuples(st.integers(10, 10**6), st.integers(1, 3)).map(list),
)
"""How often each of a few payloads is sent: evenly, or nearly all of them one, and few devices another."""


def possible(metric: Metric, found: Estimate, place: int) -> tuple[float, float]:
    """The least and the most that a row can truly be."""
    row, kind, measure = found.rows[place], metric.kind, found.headings[place].measure
    if measure is Measure.SHARE:
        return 0.0, 1.0
    if isinstance(kind, Distribution | Joint):
        return found.headings[place].span or (math.nan, math.nan)
    if isinstance(kind, Tree):
        return 0.0, float(found.reports)
    if row.key == "mean rank":
        return 1.0, float(len(kind.parameters()["values"]))
    if row.key == "standard deviation":
        assert isinstance(kind, Quantity)
        return 0.0, (kind.ends[1] - kind.ends[0]) / 2
    if isinstance(kind, Quantity):
        times = found.reports if measure is Measure.TOTAL else 1
        return kind.ends[0] * times, kind.ends[1] * times
    clip = float(kind.clip)  # type: ignore[attr-defined]
    return -clip, clip


def check(metric: Metric, found: Estimate) -> None:
    """Each interval holds the estimate, moved to the nearest that is possible; and is the right way round."""
    for place, row in enumerate(found.rows):
        assert not math.isnan(row.low), row
        assert not math.isnan(row.high), row
        assert row.low <= row.high, row
        if found.reports and not math.isnan(row.value):
            least, most = possible(metric, found, place)
            value = min(max(row.value, least), most)
            slack = 1e-9 * max(1.0, abs(value))
            assert row.low - slack <= value <= row.high + slack, row


@st.composite
def hostile(draw: st.DrawFn, metric: Metric) -> Counters:
    """Counters that some reports add up to, honest or not: every payload is one that a device could send."""
    columns = []
    sizes = st.one_of(st.integers(0, 5), st.integers(0, 2000), st.integers(0, MOST))
    for column in metric.columns:
        shape = column.shape
        match shape:
            case Symbol(size) if size > _MANY:  # too few reports for words to be looked for: `test_words.py` has more
                few = np.bincount(draw(st.lists(st.integers(0, size - 1), max_size=25)), minlength=size)
                columns.append(few.astype(np.int64))
                continue
            case Symbol():
                own = draw(st.lists(sizes, min_size=shape.size, max_size=shape.size))
            case Bitmap():
                n = draw(sizes)
                own = [n, *(draw(st.integers(0, n)) for _ in range(shape.size))]
            case Integer() | Integers():
                own = _sums(draw, shape, metric, draw(_OFTEN))
            case Codeword():
                own = _directions(draw, shape, draw(_OFTEN))
            case _:
                raise AssertionError(shape)
        columns.append(np.array(own, dtype=np.int64))
    return columns


def _sums(draw: st.DrawFn, shape: Integer | Integers, metric: Metric, often: list[int]) -> list[int]:
    """Of a few payloads, each sent so often: reports, sums, sums of squares."""
    mechanism = metric.columns[0].mechanism
    entries = shape.size if isinstance(shape, Integers) else 1
    zero = -mechanism.lowest if isinstance(mechanism, Laplace) else 0
    least, most = (0, shape.size - 1) if isinstance(shape, Integer) else (-(1 << 20), 1 << 20)
    few = len(often) == 2 and often[1] <= 3
    near = st.integers(max(least, zero - 40), min(most, zero + (40 if few else 10_040)))
    far = st.integers(min(most, zero + 1_000), most)
    totals, squares = [0] * entries, [0] * entries
    for number, times in enumerate(often):
        for entry in range(entries):
            payload = draw((far if number else near) if few else st.one_of(near, st.integers(least, most)))
            totals[entry] += times * payload
            squares[entry] += times * payload**2
    return [sum(often), *totals, *(each & 0xFFFFFFFF for each in squares), *(each >> 32 for each in squares)]


def _directions(draw: st.DrawFn, shape: Codeword, often: list[int]) -> list[int]:
    """Of a few codewords, each sent so often: reports, sums, sums of squares."""
    payloads = st.integers(0, shape.seeds * shape.codewords - 1)
    sent = np.array([draw(payloads) for _ in often], dtype=np.uint64)
    made, times = directions(shape, sent), np.array(often, dtype=np.float64)
    return [sum(often), *map(int, times @ made), *map(int, times @ (made * made))]


def test_every_mechanism_is_among_them() -> None:
    """No estimator is left out of the properties below."""
    assert {mechanism.name for metric in METRICS for mechanism in metric.mechanisms} == set(MECHANISMS)
    assert {metric.kind.name for metric in METRICS} == set(KINDS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_every_interval_holds_its_estimate(metric: Metric, data: st.DataObject) -> None:
    """Whatever devices send, for each target and confidence, alone and simultaneously."""
    counters = data.draw(hostile(metric))
    confidence = data.draw(st.sampled_from([0.5, 0.95, 0.999]))
    target, together = data.draw(st.sampled_from(list(Target))), data.draw(st.booleans())
    check(metric, answer(metric, counters, confidence, target, together))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_every_interval_of_a_window_holds_its_estimate(metric: Metric, data: st.DataObject) -> None:
    """The same over epochs that have nothing to do with each other."""
    epochs = [data.draw(hostile(metric)) for _ in range(data.draw(st.integers(1, 3)))]
    check(metric, windowed(metric, epochs, 0.95, data.draw(st.sampled_from(list(Target)))).estimate)


def events(more: str, counts: dict[int, int]) -> Estimate:
    """The answer about so many devices with so many events at epsilon 1, without any noise coming out."""
    metric = asked("count", f'privacy_unit = "event"\nepsilon = 1.0\n{more}')
    mechanism = metric.columns[0].mechanism
    assert isinstance(mechanism, Laplace)
    sent = {count - mechanism.lowest: devices for count, devices in counts.items()}
    total, square = (sum(devices * each**power for each, devices in sent.items()) for power in (1, 2))
    return answer(metric, [np.array([sum(sent.values()), total, square & 0xFFFFFFFF, square >> 32])])


def test_one_device_of_a_hundred_does_not_move_the_interval_off_the_estimate() -> None:
    """Three events each, and one device with 10,000: the estimate is 102.97, and lies within what is told."""
    for more, end in (("", math.inf), ("max = 20000", 20_000.0)):
        mean, total = events(more, {3: 99, 10_000: 1}).rows[:2]
        assert mean.value == pytest.approx(102.97)
        assert mean.low <= mean.value <= mean.high <= end
        assert total.low <= total.value <= total.high
    assert mean.high < 2_000


def test_one_fake_of_a_million_does_not_move_the_interval_off_the_estimate() -> None:
    """A million devices with three events, and one that claims the most there is."""
    mean = events("", {3: 1_000_000, 2**31 - 1: 1}).rows[0]
    assert mean.low <= mean.value <= mean.high
    assert mean.low < 3.0
    bounded = events("max = 10000", {3: 1_000_000, 10_000: 1}).rows[0]
    assert bounded.low <= 3.01 <= bounded.high < 3.1


@pytest.mark.parametrize("others", [[0], [1], [3], [0, 0, 0, 1000], [5, 9, 200], [100] * 50 + [0]])
@pytest.mark.parametrize("epsilon", ["1.0", "4.0"])
def test_the_low_end_holds_without_a_max(others: list[int], epsilon: str) -> None:
    """Devices of which a hundredth have a thousand events, or a fiftieth has none: in 95% of samples the low end is
    below the mean, and the high end says that nothing is known of it.

    A false alarm, were 95% exact, has a probability below 1e-7 in each; of samples of a hundred devices 91.7% are
    found in 99 of 100 cases.
    """
    metric = asked("count", f'privacy_unit = "event"\nepsilon = {epsilon}\n')
    rare = 1000 if len(others) < 10 else others[0]
    values = np.array([*others, rare])
    chances = np.full(len(values), 0.99 / len(others))
    chances[-1] = 0.01
    assert not refuted(low_ends(metric, values, chances / chances.sum()), Claim(0.95, 0.917, 1e-7, 0.01))


def low_ends(metric: Metric, values: np.ndarray, chances: np.ndarray) -> Iterator[tuple[bool]]:
    """Whether the low end is below the mean, in one fleet of a hundred devices after another."""
    mechanism = metric.columns[0].mechanism
    assert isinstance(mechanism, Laplace)
    generator, moved = np.random.default_rng(17), -mechanism.lowest
    while True:
        sent = generator.choice(values, (100, 100), p=chances)
        sent += generator.geometric(1 - mechanism.alpha, sent.shape) - generator.geometric(
            1 - mechanism.alpha, sent.shape
        )
        for total, square in zip(sent.sum(axis=1).tolist(), (sent**2).sum(axis=1).tolist(), strict=True):
            whole = square + 2 * moved * total + moved**2 * 100  # in Python's integers: levels are long
            row = answer(metric, [np.array([100, total + moved * 100, whole & 0xFFFFFFFF, whole >> 32])]).rows[0]
            assert row.high == math.inf
            yield (row.low <= float(chances @ values),)


TEXT = """
[collection]
name = "shop"
epoch = "1d"
owner = "a"
[budget]
epoch = 9
[metrics.errors]
kind = "count"
privacy_unit = "event"
description = "d"
epsilon = 1.0
"""


def told() -> tuple[Answer, Table]:
    """The answer of a count without a max, as it travels, and as a table."""
    collection = Collection.loads(TEXT)
    metric = collection.metrics["errors"]
    found = Answer(collection, metric, 3, 3, {}, events("", {3: 100}), 100.0, [None, None], [1, 1])
    return found, Table.of([estimate_message(found)])


def test_every_form_of_an_answer_says_that_the_interval_is_open() -> None:
    """Page and API, JSON, CSV, Python, Arrow and the terminal: no number in place of the end, and the reason."""
    found, table = told()
    assert "without a max" in found.estimate.note
    page = MessageToDict(estimate_message(found))
    assert page["note"] == found.estimate.note
    assert page["series"][0]["rows"][0]["high"] == "Infinity"
    assert page["series"][0]["rows"][0]["highText"] == "∞"
    assert table[0]["high"] == math.inf
    written = json.loads(table.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert written[0]["high"] is None
    assert (written[0]["high_text"], written[0]["note"]) == ("∞", found.estimate.note)
    line = next(csv.DictReader(io.StringIO(table.to_csv())))
    assert (line["high"], line["note"]) == ("inf", found.estimate.note)
    shown = terminal.estimates(table)
    assert "∞" in shown
    assert f"errors: {found.estimate.note}" in shown.splitlines()
    assert table.to_arrow()["high"].to_pylist()[0] == math.inf


def test_a_limit_is_asked_for() -> None:
    """`deniable check` warns of a count without a max, with an example, and not of one that has one."""
    (found,) = [each for each in findings(Collection.loads(TEXT)) if each.startswith("errors")]
    assert "max = 100" in found
    assert not [each for each in findings(Collection.loads(TEXT + "max = 9\n")) if each.startswith("errors")]


def test_about_the_devices_that_reported_both_ends_are_known() -> None:
    """Their counts are given, and the noise is known whatever they are."""
    metric = asked("count", 'privacy_unit = "event"\nepsilon = 1.0\n')
    none = events("", {3: 100})
    counters = [np.array([100, 300, 900, 0])]
    assert math.isinf(none.rows[0].high)
    found = answer(metric, counters, target=Target.REPORTING)
    assert found.note == ""
    assert math.isfinite(found.rows[0].high)
