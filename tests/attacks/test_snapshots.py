"""A virtual machine that is copied while an application runs: two devices that go on from the same memory."""

from __future__ import annotations

from deniable import Collection, randomness
from deniable.mechanisms import Laplace
from deniable.payload import Integer
from support.collection_files import head, metric
from support.device import Device

DAY = 86400
COLLECTION = Collection.loads(head("c", 4) + metric("m", "number", range=[0, 1024], mechanism="laplace"))


def test_two_copies_of_a_machine_share_no_noise() -> None:
    """With the same words both would add the same noise to different answers: their difference would be exact.

    What is buffered is in the copy; so an epoch is sealed with words that are drawn when it is.
    """
    metric = COLLECTION.metrics["m"]
    assert isinstance(metric.columns[0].mechanism, Laplace)
    assert isinstance(metric.columns[0].shape, Integer)
    randomness.word()
    repeated = 0
    for _ in range(20):
        copied = list(randomness._buffer)
        said = []
        for value in (256.0, 512.0):
            randomness._buffer[:] = copied
            (report,) = Device(COLLECTION).answers({"m": value}, range(1))
            said.append(report["m"].payload)
        repeated += said[1] - said[0] == metric.encode(512.0, lambda: 0)[1] - metric.encode(256.0, lambda: 0)[1]
    # Two Laplace variables of scale 1,024 differ by a given number once in 2,000 times: in 10 of 20 once in 10^27.
    assert repeated < 10
