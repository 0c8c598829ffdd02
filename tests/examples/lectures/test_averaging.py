"""Averaging: fresh noise gives a person away, and a lie that is remembered does not."""

from __future__ import annotations

from math import log

import pytest

from examples.lectures import averaging


def test_fresh_yeses_make_somebody_sure() -> None:
    """Golden: .0577, .1552, .8322 and .9992 after 1, 2, 5 and 10 of them."""
    assert [averaging.surely(number) for number in averaging.DAYS] == pytest.approx(
        [0.0577, 0.1552, 0.8322, 0.9992], abs=5e-5
    )


@pytest.mark.parametrize(
    ("truth", "remembered", "times"),
    [([True] * 10, False, 10), ([True] * 10, True, 1), ([True, False] * 5, True, 2)],
)
def test_a_device_pays_for_each_lie_once(truth: list[bool], remembered: bool, times: int) -> None:
    """Ten reports leave it either way; what is remembered is told again, and costs ln 3 for each value."""
    own = averaging.days(truth, remembered=remembered)
    assert len(own.sent) == 10
    assert own.spent == pytest.approx(times * log(3))
    if remembered:
        assert len(set(zip(truth, own.sent, strict=True))) == times
