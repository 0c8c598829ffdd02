"""Averaging over levels, and moving a curve: what a tree of which one level is answered lets an attacker do.

Every level of a tree tells of the same value. Who got an answer at each of them would know it far better than epsilon
allows for one; who could tell from the level that is drawn what the value is would need no answer at all.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from deniable import Collection, Metric
from deniable.kinds import Distribution
from deniable.mechanisms import Supporting
from deniable.payload import Bitmap
from deniable.randomness import WORD
from deniable_aggregator.answers.distribution import tree_of
from deniable_aggregator.estimators import fit
from deniable_aggregator.planning.leverage import gain
from support.asked import LINKABLE, ONCE, asked, refused
from support.device import Device

TREE = "range = [0, 8]\nbuckets = 8\nepsilon = 1"
HEAD = '[collection]\nname = "one"\nepoch = "1d"\nowner = "a"\n[budget]\nepoch = 1\nlifetime = {lifetime}\n'
ASKED = '[metrics.one]\nkind = "distribution"\ndescription = "d"\n{tree}\n{more}\n'


def tree(buckets: int, epsilon: float) -> Metric:
    """Buckets of width 1."""
    return asked("distribution", f"range = [0, {buckets}]\nbuckets = {buckets}\nepsilon = {epsilon}")


def device(lifetime: float, more: str = "") -> Device:
    """A device that is asked for one distribution."""
    return Device(Collection.loads(HEAD.format(lifetime=lifetime) + ASKED.format(tree=TREE, more=more)))


@pytest.mark.parametrize(("buckets", "epsilon"), [(2, 1.0), (5, 0.5), (8, 1.0), (8, 4.0), (12, 2.0)])
def test_level_and_answer_together_keep_epsilon_exactly(buckets: int, epsilon: float) -> None:
    """Of all that a device can send, in rationals: no value makes a level and a payload more than e^epsilon times as
    likely as another value does, and some pair comes as near to it as the mechanisms do."""
    metric = tree(buckets, epsilon)
    kind, mechanisms = metric.kind, [column.mechanism for column in metric.columns]
    assert isinstance(kind, Distribution)
    worst = Fraction(0)
    lengths = []
    for level, mechanism in enumerate(mechanisms):
        draws = {kind.encode(float(value), mechanisms, lambda: WORD // 2)[0] for value in range(buckets)}
        assert len(draws) == 1  # whatever the value, a word draws one level
        nodes = {kind.node(level, value) for value in range(buckets)}
        for payload in mechanism.payloads():
            chances = [mechanism.probability(payload, node) for node in nodes]
            worst = max(worst, max(chances) / min(chances))
        lengths.append(kind.allotment(mechanisms)[level])
    assert worst <= metric.epsilon.exp
    assert worst >= metric.epsilon.exp * Fraction(999, 1000)
    assert sum(lengths) == pytest.approx(1)


def test_fresh_answers_at_all_levels_are_paid_for_one_by_one() -> None:
    """A device that keeps one value is asked at every level in time; each answer costs epsilon, until its lifetime is
    spent, and then it says nothing more."""
    one = device(lifetime=20)
    said = one.answers({"one": 3.0}, range(60))
    told = [reports["one"] for reports in said if reports]
    assert len(told) == 20
    assert one.spent == 20
    assert len({report.column for report in told}) > 1  # 1 - 3 * 0.75^20 at the least: misses less than 1% of levels


def test_remembered_answers_are_of_one_level_and_say_the_same_for_life() -> None:
    """What is remembered includes the level: a hundred epochs tell no more than one, and cost one epsilon."""
    for _ in range(8):
        one = device(lifetime=8, more=f"memoize = true\n{LINKABLE}")
        said = Counter(
            (reports["one"].column, reports["one"].payload) for reports in one.answers({"one": 3.0}, range(100))
        )
        assert len(said) == 1
        assert one.spent == 1


def test_values_that_change_are_remembered_at_the_same_level_and_no_more_than_are_paid_for() -> None:
    """Eight answers at the most, all of one level: two values in one node of it are one answer."""
    one = device(lifetime=8, more=f"memoize = true\n{LINKABLE}")
    levels, answers = set(), set()
    for epoch in range(64):
        (reports,) = one.answers({"one": float(epoch % 8)}, range(epoch, epoch + 1))
        levels.add(reports["one"].column)
        answers.add(reports["one"])
    assert len(levels) == 1
    assert len(answers) <= 8
    assert one.spent <= 8


def test_a_level_for_life_is_not_hidden_by_a_second_randomisation_and_so_is_refused() -> None:
    """The column goes in the clear: it would tell by log2 of the number of levels which device has sent a batch."""
    assert refused("distribution", f"{TREE}\nmemoize = true") == [f"one: a drawn level {ONCE}"]
    assert refused("distribution", f"{TREE}\nmemoize = true\ninstantaneous_epsilon = 0.5") == [
        f"one: a drawn level {ONCE}"
    ]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("buckets", [4, 8])
def test_a_fake_moves_the_curve_as_far_as_is_stated(buckets: int, epsilon: float) -> None:
    """Every payload of every level, added to a fleet of a billion whose devices are all in one bucket: measured
    against what honest people without noise could do, the most is what `deniable check` states, to 1%."""
    metric, many = tree(buckets, epsilon), 10**9
    kind = metric.kind
    assert isinstance(kind, Distribution)
    mechanisms = [column.mechanism for column in metric.columns]
    most, times = 0.0, 10**5
    for bucket in range(buckets):
        counters = _fleet(metric, kind, bucket, many)
        true = (np.arange(buckets + 1) > bucket).astype(float)
        for level, mechanism in enumerate(mechanisms):
            for payload in mechanism.payloads():
                fake = [own.copy() for own in counters]
                fake[level] += times * _adds(mechanism, payload)
                found = fit(mechanisms, tree_of(kind), fake).before()
                most = max(most, float(np.abs(found - true).max()) * many / times)
    assert most == pytest.approx(gain(metric).row, rel=0.01)


def _adds(mechanism: object, payload: int) -> np.ndarray:
    """What ingest adds up for a payload."""
    shape = mechanism.shape  # type: ignore[attr-defined]
    if isinstance(shape, Bitmap):
        return np.array([1, *(payload >> bit & 1 for bit in range(shape.size))])
    return np.bincount([payload], minlength=shape.size)


def _fleet(metric: Metric, kind: Distribution, bucket: int, reports: int) -> list[np.ndarray]:
    """The counters of so many devices that all are in one bucket."""
    mechanisms = [column.mechanism for column in metric.columns]
    found = []
    for level, (mechanism, share) in enumerate(zip(mechanisms, kind.allotment(mechanisms), strict=True)):
        assert isinstance(mechanism, Supporting)
        own, size = round(reports * share), kind.sizes[level]
        chances = np.full(size, float(mechanism.q))
        chances[kind.node(level, bucket)] = float(mechanism.p)
        counts = np.rint(own * chances).astype(np.int64)
        found.append(np.concatenate([[own], counts]) if isinstance(mechanism.shape, Bitmap) else counts)
    return found
