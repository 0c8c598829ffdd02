"""A server that tells one device, and no other, that its collection is retired: is it known by that afterwards?"""

from __future__ import annotations

import grpc

from deniable import Settings
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.application import HOUR, Clock, client
from support.endpoints import answering, refusing
from support.waiting import PATIENCE


def test_a_refusal_for_good_marks_no_device() -> None:
    """It calls once an epoch, never again for one that was refused, and the next is as if nothing had been."""
    clock = Clock()
    with (
        answering(refusing(grpc.StatusCode.OUT_OF_RANGE, words="this collection is retired", first=3)) as endpoint,
        client(settings=Settings(clock=clock), endpoint=endpoint.address) as device,
    ):
        for epoch in range(3):
            clock.now = (100.5 + epoch) * HOUR
            device.record("dark", True)
            assert not device.flush(PATIENCE)
            assert device.status().waiting == 0
        clock.now = 103.5 * HOUR
        device.record("dark", True)
        assert device.flush(PATIENCE), "who is let in again is counted"
        counts = device.status().counts
    assert counts == {"answered": 4, "out of time": 3, "stored": 1}
    sent = [SubmitReportsRequest.FromString(each) for each in endpoint.requests]
    assert [each.epoch for each in sent] == [100, 101, 102, 103], "one call an epoch"
    assert len({each.batch_id for each in sent}) == 4
