"""A search for the message, and the caller, that takes most: it is bounded by what was let in."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest
from benchmarks.hostile import Attack, attacked
from benchmarks.hostile_shapes import bombs

from deniable_aggregator.ingest import Admission, Calendar
from deniable_aggregator.ingest.service import ReportService
from deniable_aggregator.ingest.stats import IngestStats
from support.aggregator_server import LAYOUT, NOW, request

ROUNDS = 600
OBJECT_BYTES = 64
"""What Python may make of each byte of a message that is within the bound, and of the refusal: generously."""


class _Nobody:
    """Takes no batch: what is let in is not what this is about."""

    def submit(self, _batch: object) -> object:
        """No outcome."""
        return None


def _service() -> ReportService:
    nobody: Any = _Nobody()
    return ReportService(Admission([LAYOUT], Calendar(clock=lambda: NOW)), nobody, IngestStats())


def _worse(message: bytes, rng: random.Random) -> bytes:
    """Another message, near to one."""
    at, until = sorted(rng.choices(range(len(message) + 1), k=2))
    piece = message[at:until] or b"\x32\x00"
    change = rng.randrange(4)
    if change == 0:
        return message[:at] + piece * rng.choice((2, 8, 64)) + message[until:]
    if change == 1:
        return message[:at] + rng.randbytes(rng.randrange(1, 9)) + message[at:]
    if change == 2:
        return message[:at] + message[until:]
    return message[:at] + bombs(rng.randrange(2, 2000), LAYOUT.digest, rng) + message[at:]


def _taken(service: ReportService, message: bytes) -> int:
    """The bytes that Python has taken at the most while a message was let in or not."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    service._taken(message)
    return tracemalloc.get_traced_memory()[1] - before


@pytest.mark.parametrize("seed", range(3))
def test_no_message_makes_more_of_itself_than_its_bound(seed: int) -> None:
    """Climbing from message to message that takes more: none takes more than a batch within the bound may."""
    service, rng = _service(), random.Random(seed)
    message = request((0, 1), wide=[(4, bytes(13))]).SerializeToString()
    _taken(service, message)
    tracemalloc.start()
    try:
        worst = 0
        for _ in range(ROUNDS):
            other = _worse(message, rng)[: 1 << 17]
            taken = _taken(service, other)
            assert taken < OBJECT_BYTES * service.bound.size, other[:100]
            if taken >= worst:
                message, worst = other, taken
    finally:
        tracemalloc.stop()
    assert worst > 0


@pytest.mark.deep
@pytest.mark.timeout(1200)
def test_ten_minutes_of_hostile_callers() -> None:
    """A worker has as much memory after them as before, and an honest device is acknowledged all the while."""
    found = attacked(Attack(600))
    assert found.lost == 0
    assert found.after <= 1.2 * found.before, found
