"""Attacks on joints: what one learns from a joint and its sources together, by a fake device, by the drawn pair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from deniable import Collection, Epsilon, Report
from deniable.mechanisms import Mechanism, Supporting
from deniable.payload import Bitmap
from deniable.testing import TestClient
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.answers import answer
from deniable_aggregator.planning.audit import audit
from deniable_aggregator.planning.check import composed
from deniable_aggregator.planning.leverage import gain
from support.joints import exactly, joint, sources

TWO, THREE = {"theme": 2, "platform": 3}, {"theme": 2, "platform": 3, "mood": 4}
HEAD = '[collection]\nname = "one"\nepoch = "1d"\nowner = "a"\n[budget]\nepoch = {budget}\n'
JOINT = '[metrics.{name}]\nkind = "joint"\ndescription = "d"\nepsilon = {epsilon}\nof = ["theme", "platform"]\n'


def test_what_a_joint_tells_of_its_sources_is_charged_beside_theirs() -> None:
    """Whoever averages what is sent for a theme and for two joints of it has three answers about one value: the
    ledger has charged all three, whatever they cost, and their epsilons are what the theme's odds are bounded by."""
    text = HEAD.format(budget=6) + JOINT.format(name="j", epsilon=1) + JOINT.format(name="again", epsilon='"ln 3"')
    collection = Collection.loads(text + sources(TWO))
    client = TestClient(collection)
    client.record("theme", "theme1")
    client.record("platform", "platform2")
    client.flush()
    assert all(len(client.reports(name)) == 1 for name in collection.metrics)
    spent = {charge.metric: charge.epsilon for charge in client.ledger()}
    assert spent == pytest.approx({name: float(metric.epsilon) for name, metric in collection.metrics.items()})
    assert "epsilon 4.099" in next(line for line in composed(collection) if line.startswith("again"))


def test_a_likelihood_of_all_reports_about_a_value_keeps_to_the_sum() -> None:
    """The best guess from a theme's report and a joint's: over all payloads of both the worst ratio of two themes is
    no more than e^(epsilon + epsilon), in rationals, and more than either alone could be."""
    metric, theme = joint(TWO, 1), Collection.loads(HEAD.format(budget=9) + sources(TWO)).metrics["theme"]
    (one,), (other,) = theme.columns, metric.columns
    ratios = [
        one.mechanism.probability(first, 0) / one.mechanism.probability(first, 1)
        * other.mechanism.probability(cell, 0) / other.mechanism.probability(cell, 5)
        for first in one.mechanism.payloads()
        for cell in other.mechanism.payloads()
    ]  # fmt: skip
    assert theme.epsilon.exp < max(ratios) <= theme.epsilon.exp * metric.epsilon.exp


def test_a_joint_that_the_budget_has_no_room_for_is_not_asked() -> None:
    """Sources and joint are added up before anything is asked: a collection that spends more does not load."""
    with pytest.raises(ValueError, match="the metrics spend 3 an epoch, more than the budget of 2"):
        Collection.loads(HEAD.format(budget=2) + JOINT.format(name="j", epsilon=1) + sources(TWO))


def moving(mechanism: Mechanism) -> Iterable[int]:
    """All payloads; of the many subsets of 24 cells those that have as much as they can of a slice of the table, and
    those that have as little: these move a cell or a sum of cells most."""
    assert isinstance(mechanism, Supporting)
    if not isinstance(mechanism.shape, Bitmap) or mechanism.inputs < 14:
        return mechanism.payloads()
    cells = np.arange(mechanism.inputs).reshape(tuple(THREE.values()))
    found = set()
    for axis, size in enumerate(cells.shape):
        for place in range(size):
            own = cells.take(place, axis).ravel()
            others = np.setdiff1d(cells, own)
            for order in ((own, others), (others, own)):
                chosen = np.concatenate(order)[: mechanism.supported]
                found.add(sum(1 << int(each) for each in chosen))
    return found


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("more", ["", 'pairs = "theme"'])
def test_a_fake_moves_a_cell_or_a_marginal_as_far_as_is_stated(epsilon: float, more: str) -> None:
    """What every column can be sent that moves most, beside a billion devices that all have the same: the farthest
    that either moves is what `deniable check` states, in what a liar without noise could do, to 1%."""
    many, times = 10**9, 10**4
    metric, most = joint(THREE, epsilon, more), 0.0
    for cell in product(range(2), range(3), range(4)):
        shares = np.zeros((2, 3, 4))
        shares[cell] = 1
        honest = exactly(metric, shares, many)
        true = np.array([row.value for series in answer(metric, honest).series[:2] for row in series.rows])
        for column in metric.columns:
            for payload in moving(column.mechanism):
                fake = accumulate(metric, [Report(column.number, payload)])
                counters = [own + times * one for own, one in zip(honest, fake, strict=True)]
                rows = [row.value for series in answer(metric, counters).series[:2] for row in series.rows]
                most = max(most, float(np.abs(np.array(rows) - true).max()) * many / times)
    assert most == pytest.approx(gain(metric).row, rel=0.01)


def test_an_audit_finds_no_more_than_is_claimed_and_finds_what_is() -> None:
    """40,000 reports of each of two devices that have nothing in common, about pairs that they draw: at epsilon 1 an
    attacker measures at most that and at least 0.7 (otherwise by chance less than once in a million times); what is
    built for 1.4 and claims 1 is caught."""
    (honest,) = audit(joint(TWO | {"mood": 2}, 1, 'pairs = "mood"'), 40_000)
    assert honest.holds
    assert honest.measured >= 0.7
    (found,) = audit(replace(joint(TWO | {"mood": 2}, 1.4, 'pairs = "mood"'), epsilon=Epsilon.of(1)), 40_000)
    assert not found.holds
