"""Subset selection, the aggregator's half: real reports are estimated with the errors that the formula says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.epsilon import Epsilon
from deniable.mechanisms import SubsetSelection
from deniable_aggregator.estimators.subset_selection import frequencies


def counted(payloads: list[int], inputs: int) -> NDArray[np.int64]:
    """The counters of some bitmaps: how many there are, then how often each bit is set."""
    width = -(-inputs // 8)
    rows = np.frombuffer(b"".join(payload.to_bytes(width, "little") for payload in payloads), np.uint8)
    bits = np.unpackbits(rows.reshape(-1, width), axis=1, bitorder="little", count=inputs)
    return np.append(len(payloads), bits.sum(axis=0, dtype=np.int64))


def test_supports_are_the_named_answers() -> None:
    """Three bitmaps add up bit by bit; p and q are the mechanism's."""
    mechanism = SubsetSelection(Epsilon.of("ln 3"), 5, 2)
    found = frequencies(mechanism, counted([0b00011, 0b10010, 0b00110], 5))
    assert found.reports == 3
    assert found.supports.tolist() == [1, 3, 1, 0, 1]
    assert (found.p, found.q) == (float(mechanism.p), float(mechanism.q))
    assert found.p == pytest.approx(2 / 3)  # 2 x 3 / (2 x 3 + 3)
    assert found.q == pytest.approx(1 / 3)  # 2/3 x 1/4 + 1/3 x 2/4


@pytest.mark.parametrize(("inputs", "epsilon"), [(16, 1.0), (48, 0.5), (256, 4.0)])
def test_estimates_of_real_reports_err_as_the_formula_says(inputs: int, epsilon: float) -> None:
    """Mean squared errors of 400 rounds of 200 devices, all with answer 0, in units of the formula's.

    The mean over rounds lies within 5 of its own standard errors of 1: false one time in a million. An error that
    is 20% off would be seen with a probability of more than 0.999: 1 is off by at least 8 standard errors then.
    """
    mechanism = SubsetSelection.best(Epsilon.of(epsilon), inputs)
    rounds, devices = 400, 200
    ratios = np.empty(rounds)
    for number in range(rounds):
        found = frequencies(mechanism, counted([mechanism.randomize(0) for _ in range(devices)], inputs))
        ratios[number] = (found.values[1:] ** 2).mean() / float(mechanism.variance) * devices
    spread = ratios.std() / rounds**0.5
    assert abs(ratios.mean() - 1) < 5 * spread
    assert 8 * spread < 0.2


def test_real_reports_estimate_the_population() -> None:
    """Answers of 30%, 20% and 0% of 40,000 devices come out within 5.5 standard errors: false 1 in 10 million."""
    mechanism = SubsetSelection.best(Epsilon.of(2.0), 48)
    shares = {7: 0.3, 40: 0.2, 47: 0.5, 0: 0.0}
    payloads = [mechanism.randomize(value) for value, share in shares.items() for _ in range(round(share * 40_000))]
    found = frequencies(mechanism, counted(payloads, 48))
    error = (float(mechanism.variance) / 40_000) ** 0.5
    for value, share in shares.items():
        assert abs(found.values[value] - share) < 5.5 * error + 5.5 * (share / 40_000) ** 0.5


def test_nothing_is_estimated_from_nothing() -> None:
    """Without reports every support is 0."""
    found = frequencies(SubsetSelection.best(Epsilon.of(1.0), 48), np.zeros(49, np.int64))
    assert found.reports == 0
    assert found.supports.tolist() == [0] * 48
