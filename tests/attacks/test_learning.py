"""Learning: who sends the weights, and what for, learns no more of a device than its collection allows.

The questions are those of examples/learning: rounds without end, of which a device may answer one in its life.
"""

from __future__ import annotations

import math
from itertools import product

import pytest
from examples.learning.device import update
from examples.learning.questions import asked

from deniable import Collection, InvalidValueError
from deniable.kinds import Vector
from deniable.mechanisms._entries import unpack
from deniable.testing import TestClient

VECTOR = [0.6, 0.0, 0.8]


def test_a_device_that_is_asked_in_every_round_answers_once() -> None:
    """Rounds of one day, and of days after: its ledger has room for one, whoever asks, and whatever comes of it."""
    device = TestClient(Collection.loads(asked(3, 4, "2")))
    for _ in range(3):
        for number in range(1, 5):
            device.record(f"round_{number}", update([0.0] * 3, VECTOR, 1))
        device.flush()
    sent = [number for number in range(1, 5) for _ in device.reports(f"round_{number}")]
    assert len(sent) == 1
    assert [float(charge.epsilon) for charge in device.ledger()] == [2.0]


@pytest.mark.parametrize("norm", [0.0, 1e-308, 1e-300, 1.0, math.inf, math.nan])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e308, math.inf, math.nan])
def test_no_weights_and_no_norm_make_a_device_tell_more_or_nothing(scale: float, norm: float) -> None:
    """Weights that single out who has a 0 somewhere, divided by next to nothing: every device answers, and what it
    randomises is never longer than the clip."""
    metric = Collection.loads(asked(3, 1, "2")).metrics["round_1"]
    kind, (column,) = metric.kind, metric.columns
    assert isinstance(kind, Vector)
    for vector, own in product(([0.6, 0.0, 0.8], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]), (0, 1)):
        value = kind.check(update([scale, -scale, 0.0], vector, own, norm))
        _, packed = kind.encode(value, [column.mechanism], lambda: 0)
        assert math.hypot(*unpack(packed, 3)) <= kind.bound


def test_infinite_weights_would_have_told_who_has_a_zero() -> None:
    """What the above is about: without its check, an update of no numbers is a mistake, and is not recorded."""
    device = TestClient(Collection.loads(asked(3, 1, "2")))
    with pytest.raises(InvalidValueError, match="a vector takes finite numbers"):
        device.record("round_1", [math.inf * 0.0, 0.0, 0.0])
