"""What many fakes can do: an answer says how far a share of them can have moved each row: they move it no farther.

Honest fleets are simulated, fakes send what moves an answer, and what the honest reports alone would say is known.
Rows of one column are bounded exactly. Where levels or tables are added up by how many have answered each, an answer
without some has other weights: its noise is another one, 5.5 standard errors at the most (once in 25 million rows).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray
from tools.leverage import ASKED, asked

from attacks.test_leverage import payloads, taken
from deniable import Column, Metric, Report
from deniable.kinds import KINDS
from deniable.mechanisms import MECHANISMS
from deniable_aggregator import Bound, estimate
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.answers import answer, combines, ends, without_fakes
from deniable_aggregator.estimators import _words
from deniable_aggregator.planning.leverage import gain
from deniable_aggregator.planning.simulate import simulate
from mechanisms.registered import beside
from support.asked import asked as alone_asked

HONEST, FAKES = 3800, 200
SHARE = FAKES / (HONEST + FAKES)
NAMES = [name for name in ASKED if "1,0" not in name]
METRICS = {name: asked(name, "1") for name in NAMES}
METRICS |= {own.name: metric for own, metric in beside(list(METRICS.values()), "1")}
REACHED = {name for name, metric in METRICS.items() if not combines(metric) and "vector" not in name}
"""Of these each row is of one column: something moves it just as far as is said."""
Counters = list[NDArray[np.int64]]


def attacks(metric: Metric) -> Iterator[Counters]:
    """What fakes add that all send one thing: the first ones, the last ones and some others of a few columns."""
    random, columns = Random(2), metric.columns
    searched = metric.kind.name == "text"
    some = {0} if searched else {0, 1, len(columns) // 2, len(columns) - 1} & set(range(len(columns)))
    for place in sorted(some):
        every = list(payloads(metric, place))
        few = every if len(every) <= 8 else [*every[:3], *every[-4:], *random.sample(every, 3)]
        for payload in few[:2] if searched else few:
            column = columns[place]
            if sendable(metric, column, payload):
                yield [FAKES * own for own in accumulate(metric, [Report(column.number, payload)])]


def sendable(metric: Metric, column: Column, payload: int) -> bool:
    """Whether ingest takes it, whatever else is in the collection."""
    columns = tuple(Column(place, metric.name, own.mechanism) for place, own in enumerate(metric.columns))
    alone = Metric(metric.name, "", metric.kind, metric.epsilon, columns, metric.reducer)
    return taken(alone, Report(column.number - metric.columns[0].number, payload))


@pytest.mark.parametrize("name", METRICS)
def test_no_fakes_move_a_row_farther_than_its_bound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every kind by every mechanism, 5% of all reports. What words are told is found among the first paths of a
    search, of which there are few here: the others lead to none."""
    monkeypatch.setattr(_words, "MOST_WORK", 1 << 22)
    metric = METRICS[name]
    first, other = metric.kind.apart()
    honest = simulate(metric, [first] * 2660 + [other] * (HONEST - 2660), np.random.default_rng(1))
    farthest, tried = 0.0, 0
    for sent in attacks(metric):
        counters = [one + more for one, more in zip(honest, sent, strict=True)]
        found = answer(metric, counters)
        low, high = without_fakes(metric, counters, found, SHARE)
        alone = answer(metric, honest, keys=found.keys)
        values, errors = (np.array([getattr(row, what) for row in alone.rows]) for what in ("value", "std_error"))
        values = np.clip(values, *ends(metric, alone))
        slack = 5.5 * np.nan_to_num(errors) if combines(metric) else 1e-9 * np.maximum(abs(values), 1)
        known = ~np.isnan(values)
        assert (low - slack <= values)[known].all()
        assert (values <= high + slack)[known].all()
        moved = np.array([row.value for row in found.rows]) - values
        reach = np.where(moved > 0, values + moved - low, high - values - moved)
        farthest = max(farthest, float(np.max(abs(moved[known]) / np.maximum(reach[known], 1e-12))))
        tried += 1
    assert tried >= 2
    if name in REACHED:
        assert farthest >= 1 - 1e-6


def test_what_the_others_say_is_within_the_bound_wherever_fakes_are() -> None:
    """Also where fakes send different things: of a number, 500 mixtures are tried, and of its deviation too."""
    metric, generator = METRICS["number, Laplace"], np.random.default_rng(4)
    size = metric.columns[0].shape.size
    honest = simulate(metric, [100.0] * 300, generator)
    for _ in range(500):
        kinds = generator.integers(0, size, 3)
        sent = accumulate(metric, [Report(0, int(payload)) for payload in generator.choice(kinds, 40)])
        counters = [one + more for one, more in zip(honest, sent, strict=True)]
        found = answer(metric, counters)
        low, high = without_fakes(metric, counters, found, 40 / 340)
        alone = answer(metric, honest)
        values = np.clip([row.value for row in alone.rows], *ends(metric, alone))
        assert (low <= values + 1e-6).all()
        assert (values <= high + 1e-6).all()


def test_a_bound_is_told_of_an_estimate_at_hand() -> None:
    """By where rows are found; a share that is none is refused, and so is an answer without its reports."""
    metric = METRICS["boolean"]
    found = estimate(metric, [metric.randomize(number % 2 == 0) for number in range(1000)])
    (bound,) = found.manipulation_bound(0.01)
    assert isinstance(bound, Bound)
    assert (bound.series, bound.key) == ("shares", "yes")
    value = found.rows[0].value
    assert bound.low == pytest.approx((value - 0.01 * gain(metric).row) / 0.99)
    assert bound.low < min(value, 1) <= bound.high
    for share in (0.0, 1.0, -1.0, 1.5):
        with pytest.raises(ValueError, match="a share of fakes lies between 0 and 1"):
            found.manipulation_bound(share)
    with pytest.raises(LookupError, match="ask for fakes with the answer"):
        answer(metric, accumulate(metric, [])).manipulation_bound(0.01)


def test_nothing_is_known_of_what_all_may_be_fakes() -> None:
    """Of a flag that one in ten devices answers, 10% of all reports can be all of its reports."""
    metric = METRICS["10 flags, one drawn"]
    counters = simulate(metric, [[]] * 5000, np.random.default_rng(2))
    found = answer(metric, counters)
    low, high = without_fakes(metric, counters, found, 0.15)
    assert (low == 0).all()
    assert (high == 1).all()


def test_every_kind_and_every_mechanism_is_attacked() -> None:
    """By the registries: one without a bound can not be made, and one without an attack is missed here."""
    assert {metric.kind.name for metric in METRICS.values()} == set(KINDS)
    assert {mechanism.name for metric in METRICS.values() for mechanism in metric.mechanisms} == set(MECHANISMS)


@pytest.mark.parametrize("ends_at", [(-10, -1), (1, 10)])
def test_a_total_of_fewer_devices_may_be_nearer_to_nothing_than_all_could_be(ends_at: tuple[int, int]) -> None:
    """Of a range on one side of 0: without 200 of 4,000 devices at -1 the total is -3,800, and not -4,000."""
    start, end = ends_at
    metric = alone_asked("number", f'range = [{start}, {end}]\nmechanism = "laplace"\nepsilon = 4')
    near, mechanism = min(ends_at, key=abs), metric.columns[0].mechanism
    place = (near - start) / (end - start)
    (payload,) = (each for each in range(mechanism.shape.size) if mechanism.place_of(each) == place)
    (one,) = accumulate(metric, [Report(0, payload)])
    found, alone = answer(metric, [(HONEST + FAKES) * one]), answer(metric, [HONEST * one])
    low, high = without_fakes(metric, [(HONEST + FAKES) * one], found, SHARE)
    total = [row.key for row in found.rows].index("total")
    assert alone.rows[total].value == pytest.approx(near * HONEST)
    assert low[total] <= alone.rows[total].value + 1e-6
    assert high[total] >= alone.rows[total].value - 1e-6
