"""Moving a node: what one fake device does to the answer of a tree, by the level that it chooses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import Epsilon, Metric, Report
from deniable.kinds import Tree
from deniable.mechanisms import Supporting
from deniable.payload import Bitmap
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.answers import answer, consistent
from deniable_aggregator.planning.audit import audit
from deniable_aggregator.planning.leverage import gain
from support.asked import asked

PATHS = ["west/c/d", "north/a", "south", "north/b", "west/f", "west/c/e"]
MANY, TIMES = 10**9, 10**5


def fleet(metric: Metric, leaf: str) -> list[NDArray[np.int64]]:
    """What a billion devices at one leaf send, as often as is expected."""
    kind, mechanisms = metric.kind, [column.mechanism for column in metric.columns]
    assert isinstance(kind, Tree)
    found = []
    for level, (mechanism, share) in enumerate(zip(mechanisms, kind.allotment(mechanisms), strict=True)):
        assert isinstance(mechanism, Supporting)
        own = round(MANY * share)
        chances = np.full(kind.sizes[level], float(mechanism.q))
        chances[kind.index[leaf][level]] = float(mechanism.p)
        counts = np.rint(own * chances).astype(np.int64)
        found.append(np.concatenate([[own], counts]) if isinstance(mechanism.shape, Bitmap) else counts)
    return found


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_a_fake_moves_a_node_as_far_as_is_stated(epsilon: float) -> None:
    """Every payload of every level, beside a billion devices that are all at one leaf: the farthest that a
    node moves is what `deniable check` states, in what a liar without noise could do, to 1%."""
    metric = asked("tree", f"paths = {PATHS}\nepsilon = {epsilon}".replace("'", '"'))
    most = 0.0
    for leaf in PATHS:
        honest = fleet(metric, leaf)
        true = np.array(
            [row.key == leaf or leaf.startswith(f"{row.key}/") for row in answer(metric, honest).series[0].rows]
        )
        for column in metric.columns:
            for payload in column.mechanism.payloads():
                fake = accumulate(metric, [Report(column.number, payload)])
                counters = [own + TIMES * more for own, more in zip(honest, fake, strict=True)]
                values = np.array([row.value for row in answer(metric, counters).series[0].rows])
                most = max(most, float(np.abs(values - true).max()) * MANY / TIMES)
    assert most == pytest.approx(gain(metric).row, rel=0.01)


def test_no_fake_makes_a_view_that_does_not_add_up() -> None:
    """A thousand fakes beside a hundred devices, all at the same payload: whole numbers, none negative, as many as
    there are reports; the consistent view is of the noise and the lies, and of nothing that cannot be."""
    metric = asked("tree", f"paths = {PATHS}\nepsilon = 1".replace("'", '"'))
    honest = accumulate(metric, [metric.randomize("north/a") for _ in range(100)])
    for column in metric.columns:
        for payload in column.mechanism.payloads():
            fake = accumulate(metric, [Report(column.number, payload)])
            counters = [own + 1_000 * more for own, more in zip(honest, fake, strict=True)]
            found = answer(metric, counters)
            devices = consistent(metric, found)[len(found.series[0].rows) :]
            tops = [count for row, count in zip(found.series[1].rows, devices, strict=True) if not row.parent]
            assert all(count is not None and count >= 0 and count == int(count) for count in devices)
            assert sum(count for count in tops if count is not None) == 1_100


def test_an_audit_finds_no_more_than_is_claimed_and_finds_what_is() -> None:
    """50,000 reports of each of two leaves that have no node in common, whatever their level: at epsilon 1 an
    attacker measures at most that and at least 0.7 (otherwise by chance less than once in a million times); what is
    built for 1.4 and claims 1 is caught."""
    (honest,) = audit(asked("tree", f"paths = {PATHS}\nepsilon = 1".replace("'", '"')), 50_000)
    assert honest.holds
    assert honest.measured >= 0.7
    broken = asked("tree", f"paths = {PATHS}\nepsilon = 1.4".replace("'", '"'))
    (found,) = audit(replace(broken, epsilon=Epsilon.of(1)), 50_000)
    assert not found.holds
