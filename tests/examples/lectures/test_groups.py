"""Groups: the product of matrices tells k epsilon, and deltas grow by the steps."""

from __future__ import annotations

import pytest
from examples.lectures._tables import lost, worst

from deniable_aggregator.accounting import Spent, group
from examples.lectures import groups


@pytest.mark.parametrize("devices", [1, 2, 4, 5])
def test_a_household_is_told_as_often_as_it_has_devices(devices: int) -> None:
    """Exactly, where all have the same answer; and with epsilon/k of each, as one is."""
    assert worst(groups.household(devices)) == pytest.approx(devices)
    assert worst(groups.household(devices, str(1 / devices))) == pytest.approx(1)


def test_the_delta_of_a_group_is_no_more_than_is_printed() -> None:
    """The sum over the steps is at most k e^((k-1) eps) delta, and the same for one; it holds for a product, whose
    delta at k epsilon' of less than its own is known."""
    for devices in (1, 2, 4, 8):
        assert group(Spent(0.5, 1e-6), devices).delta <= groups.printed(Spent(0.5, 1e-6), devices) * (1 + 1e-12)
    small = 0.6
    delta = lost(groups.household(1), small)
    told = group(Spent(small, delta), 3)
    assert lost(groups.household(3), told.epsilon) <= told.delta
