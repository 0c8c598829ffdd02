"""Ordinals, flags, sets and vectors from the device to the answer: right on average, and intervals that hold.

Coverage is computed over every count, and is 93.5% at least; of vectors it is that of populations drawn with numpy,
as many as it takes to tell that from less.
Estimates of real reports are within 5.5 standard errors, false less than once in ten million rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import deniable
from deniable.kinds import Set, Vector
from deniable.mechanisms import BitwiseResponse, PadAndSample, RandomizedResponse
from deniable_aggregator import Target, estimate
from deniable_aggregator.answers import Measure, answer, truth
from support.asked import asked
from support.sequential import Claim, refuted

BLOCK = 100
"""So many populations are drawn at once."""
Counters = NDArray[np.int64]

ORDINAL = 'values = ["never", "seldom", "often", "always"]\nepsilon = 4.0\n'
FLAGS = 'flags = ["a", "b", "c"]\nepsilon = 4.0\n'
SET = 'values = ["a", "b", "c", "d", "e"]\nmax_items = 2\nepsilon = 2.0\n'
L1 = 'dimensions = 2\nclip = 2\nnorm = "l1"\nepsilon = 2.0\nmechanism = "vector_laplace"\n'
PURE = 'dimensions = 2\nclip = 2\nnorm = "l2"\nepsilon = 2.0\n'
L2 = 'dimensions = 2\nclip = 2\nnorm = "l2"\ndelta = 1e-7\nfleet = 1000\nepsilon = 2.0\n'
DRAWN = 'mechanism = "randomized_response"\n'
PEOPLE: dict[str, list[Any]] = {
    "ordinal": ["often"] * 6 + ["never"] * 3 + ["always"],
    "flags": [["a"], ["a", "b"], [], ["a"]],
    "set": [["a"], ["a", "b"], [], ["b", "c", "d"]],
    "vector": [[0.5, -0.25], [8.0, 6.0], [0.0, 0.0], [-0.1, 0.2]],
}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("ordinal", ORDINAL),
        ("ordinal", ORDINAL + DRAWN),
        ("flags", FLAGS),
        ("flags", FLAGS + DRAWN),
        ("flags", FLAGS + "memoize = true\ninstantaneous_epsilon = 4.0\n"),
        ("flags", FLAGS + 'memoize = true\nmechanism = "bitwise_response"\n'),
        ("ordinal", ORDINAL + "memoize = true\ninstantaneous_epsilon = 2.0\n"),
        ("set", SET),
        ("set", SET + "memoize = true\ninstantaneous_epsilon = 2.0\n"),
        ("set", SET + 'memoize = true\ninstantaneous_epsilon = 2.0\nmechanism = "subset_selection"\n'),
        *(("set", f'{SET}mechanism = "{name}"\n') for name in Set.mechanisms),
        ("vector", L1),
        ("vector", L2),
        ("vector", PURE),
    ],
)
def test_real_reports_estimate_the_truth(kind: str, more: str) -> None:
    """Devices that randomise with the SDK, through the aggregator: every row within 5.5 standard errors."""
    metric = asked(kind, more)
    devices = 2000 if more == PURE else 8000  # a codebook takes as long as a hundred other answers
    values = [metric.kind.check(value) for value in PEOPLE[kind]] * (devices // len(PEOPLE[kind]))
    found = estimate(metric, [metric.randomize(value) for value in values], target=Target.REPORTING)
    assert found.reports == len(values)
    known = truth(metric, values)
    for where, row in found.by_id.items():
        assert abs(row.value - known[where]) < 5.5 * row.std_error + 1e-6, row
        assert row.std_error < 0.2


def test_rows_say_what_they_are() -> None:
    """A share a value, flag or item, then the mean rank; a quantity a dimension."""
    rows = {
        kind: [
            (row.key, series.heading.measure)
            for series in estimate(asked(kind, more), []).series
            for row in series.rows
        ]
        for kind, more in (("ordinal", ORDINAL), ("flags", FLAGS), ("set", SET), ("vector", L1))
    }
    share, quantity = Measure.SHARE, Measure.QUANTITY
    assert rows["ordinal"] == [
        *((value, share) for value in ("never", "seldom", "often", "always")),
        ("mean rank", quantity),
    ]
    assert rows["flags"] == [("a", share), ("b", share), ("c", share)]
    assert rows["set"] == [(value, share) for value in "abcde"]
    assert rows["vector"] == [("0", quantity), ("1", quantity)]


@pytest.mark.parametrize(
    ("kind", "more", "ends"),
    [
        ("ordinal", ORDINAL, [(0, 1)] * 4 + [(1, 4)]),
        ("flags", FLAGS, [(0, 1)] * 3),
        ("flags", FLAGS + DRAWN, [(0, 1)] * 3),
        ("set", SET, [(0, 1)] * 5),
        ("vector", L1, [(-2, 2)] * 2),
        ("vector", L2, [(-2, 2)] * 2),
    ],
)
def test_nothing_is_known_from_nothing(kind: str, more: str, ends: list[tuple[float, float]]) -> None:
    """Without reports every interval is all that is possible."""
    for target in Target:
        found = estimate(asked(kind, more), [], target=target)
        assert [(row.low, row.high) for row in found.rows] == ends
        assert all(np.isnan([row.value, row.std_error]).all() for row in found.rows)


def test_truths_are_what_the_rows_are_about() -> None:
    """Ranks count from 1; of too many items each is kept now and then; long vectors are clipped."""
    expected = {
        "ordinal": [0.3, 0.0, 0.6, 0.1, 2.5],
        "flags": [0.75, 0.25, 0.0],
        "set": [0.5, 0.25 + 1 / 6, 1 / 6, 1 / 6, 0.0],
        "vector": [(0.4 + 1.6) / 4, (1.15) / 4],
    }
    for kind, more in (("ordinal", ORDINAL), ("flags", FLAGS), ("set", SET), ("vector", L2)):
        assert [*truth(asked(kind, more), PEOPLE[kind]).values()] == pytest.approx(expected[kind])


def chances(devices: Sequence[float], rates: Sequence[float], reports: int, target: Target) -> NDArray[np.float64]:
    """How likely each count is of reports that say something: devices of these shares say it with these rates."""
    if target is Target.POPULATION:
        return np.asarray(binom.pmf(np.arange(reports + 1), reports, float(np.dot(devices, rates))))
    found = np.ones(1)
    for share, rate in zip(devices, rates, strict=True):
        own = round(share * reports)
        found = np.convolve(found, binom.pmf(np.arange(own + 1), own, rate))
    return found


def exactly(likely: NDArray[np.float64], ends: Sequence[tuple[float, float]], true: float) -> float:
    """How often the intervals of all counts hold the truth."""
    return float(sum(chance for chance, (low, high) in zip(likely, ends, strict=True) if low <= true <= high))


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize("reports", [100, 1000])
def test_intervals_of_flags_cover(reports: int, target: Target) -> None:
    """All flags in one report, with flags that nobody, hardly anybody, some and all have: over every count exactly.

    A flag's interval is decided by its own count: all flags are given the same one.
    """
    metric = asked("flags", 'flags = ["a", "b", "c", "d"]\nepsilon = 4.0\nmechanism = "bitwise_response"')
    mechanism = metric.columns[0].mechanism
    assert isinstance(mechanism, BitwiseResponse)
    rates = float(mechanism.p), float(mechanism.q)
    answers = [answer(metric, [np.array([reports, *[count] * 4])], 0.95, target).rows for count in range(reports + 1)]
    for place, share in enumerate((0.0, 0.02, 0.4, 1.0)):
        likely = chances((share, 1 - share), rates, reports, target)
        ends = [(rows[place].low - 1e-9, rows[place].high + 1e-9) for rows in answers]
        assert exactly(likely, ends, share) >= 0.935, share


@pytest.mark.parametrize("reports", [100, 300])
def test_intervals_of_drawn_flags_cover(reports: int) -> None:
    """One flag a device: how many reports a flag has is up to chance. Of these numbers some are looked at, evenly
    spaced over five standard deviations, with every count of yes exactly."""
    metric = asked("flags", FLAGS + DRAWN)
    mechanism = metric.columns[0].mechanism
    assert isinstance(mechanism, RandomizedResponse)
    p, q = float(mechanism.p), float(mechanism.q)
    reach = 5 * math.sqrt(reports * 2 / 9)
    drawn = np.unique(np.linspace(reports / 3 - reach, reports / 3 + reach, 15).astype(np.int64))
    weights, covered = binom.pmf(drawn, reports, 1 / 3), np.zeros(3)
    for own, weight in zip(drawn.tolist(), weights / weights.sum(), strict=True):
        answers = [answer(metric, [np.array([own - yes, yes])] * 3).rows for yes in range(own + 1)]
        for place, share in enumerate((0.0, 0.1, 0.5)):
            likely = chances((share, 1 - share), (p, q), own, Target.POPULATION)
            ends = [(rows[place].low - 1e-9, rows[place].high + 1e-9) for rows in answers]
            covered[place] += weight * exactly(likely, ends, share)
    assert covered.min() >= 0.935, covered


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize("reports", [100, 1000])
def test_intervals_of_sets_cover(reports: int, target: Target) -> None:
    """Devices with no item, one, two and too many; the shares are of devices, not of drawn slots. Over every count
    exactly: an item's interval is decided by its own, and all items are treated alike."""
    metric = asked("set", SET)
    mechanism = metric.columns[0].mechanism
    assert isinstance(mechanism, PadAndSample)
    # A device with too many items keeps two of its three, each pair as often.
    kinds: list[list[list[int]]] = [[[]], [[0]], [[0, 1]], [[1, 2], [1, 3], [2, 3]]]
    rates = [
        [fmean(float(mechanism.probability(item, mechanism.encode(kept))) for kept in choices) for choices in kinds]
        for item in range(5)
    ]

    def counted(item: int, count: int) -> tuple[float, float]:
        counters = np.zeros(mechanism.shape.counters, dtype=np.int64)
        counters[item], counters[-1] = count, reports - count
        row = answer(metric, [counters], 0.95, target).rows[item]
        return row.low - 1e-9, row.high + 1e-9

    ends = [counted(0, count) for count in range(reports + 1)]
    for item, true in enumerate((0.7, 0.3 + 0.1 * 2 / 3, 0.1 * 2 / 3, 0.1 * 2 / 3, 0.0)):
        assert counted(item, reports // 5) == ends[reports // 5]
        likely = chances((0.2, 0.4, 0.3, 0.1), rates[item], reports, target)
        assert exactly(likely, ends, true) >= 0.935, item


@pytest.mark.parametrize("target", list(Target))
@pytest.mark.parametrize("reports", [100, 1000])
@pytest.mark.parametrize("more", [L1, L2], ids=["l1", "l2"])
def test_intervals_of_vectors_cover(more: str, reports: int, target: Target) -> None:
    """Entries that are alike, and entries at both ends of the clip: 93.5% to 97% of the time; 91% and 98.5% are found
    in 99 of 100 cases, at a false-alarm rate of 10^-6 for all of them.

    The noise's thousands of steps are drawn as the continuous noise of the same scale, rounded.
    """
    metric = asked("vector", more)
    claims = Claim(0.935, 0.91, 3e-8, 0.01), Claim(0.97, 0.985, 3e-8, 0.01)

    def held() -> Iterator[list[bool]]:
        for counters in vectors(metric, more, reports, target):
            rows = answer(metric, [counters], 0.95, target).rows
            yield [row.low - 1e-9 <= true <= row.high + 1e-9 for row, true in zip(rows, (0.25, 0.2), strict=True)]

    assert not refuted(held(), *claims)


def vectors(metric: deniable.Metric, more: str, reports: int, target: Target) -> Iterator[Counters]:
    """The counters of one population after another, whose entries are 0.25, and 0 or 2."""
    kind, mechanism = metric.kind, metric.columns[0].mechanism
    assert isinstance(kind, Vector)
    generator, size = np.random.default_rng(6), (BLOCK, reports)
    deviation = mechanism.variance**0.5  # type: ignore[attr-defined]
    none = np.zeros(BLOCK, np.int64)
    while True:
        columns = []
        for share, (low, high) in ((0.5, (0.25, 0.25)), (0.1, (0.0, 2.0))):
            if target is Target.POPULATION:
                upper = generator.random(size) < share
            else:
                upper = np.broadcast_to(np.arange(reports) < share * reports, size)
            noise = (
                generator.normal(0, deviation, size) if more is L2 else generator.laplace(0, deviation / 2**0.5, size)
            )
            values = np.rint(np.where(upper, high, low) / float(kind.clip) * kind.grid + noise).astype(np.int64)
            columns.append((values.sum(axis=1), (values**2).sum(axis=1)))
        sums = [total for total, _ in columns] + [squares for _, squares in columns] + [none, none]
        yield from np.column_stack([np.full(BLOCK, reports), *sums])
