"""A server that refuses learns as little as one that accepts.

Over a hundred epochs an attacker in the place of the aggregator answers what devices send as it likes: it is away, it
refuses, it stays silent, it breaks connections, it asks each device to wait for a time of its own. It knows every
connection, id, moment and byte. It must not be able to tell that batches of two epochs are of one device by anything
that an honest server would not see: no connection has two batches, no id two epochs, no refused batch the same id or
order of rows again, and the moments of a device's batches have nothing to do with each other.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Never

import grpc
import pytest

from deniable import Client, Consent, Settings
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.attacker import Answer, Arrival, attacking
from support.endpoints import answering, dead
from support.refused import (
    COLLECTION,
    DAY,
    FIRST,
    Clock,
    Device,
    Simulation,
    check_first_moments,
    check_links,
    check_moments,
    check_order,
    check_tries,
    simulated,
    tries,
)

LONG, SHORT = (24, 40), (12, 20)
"""For how many of how many epochs one device, or several, are refused: a batch is sent for eight at most."""
SEVERAL = 3
OK, HANG, RESET = Answer(), Answer(hang=True), Answer(reset=True)
CODES = {code.name: Answer(code.value[0]) for code in grpc.StatusCode}
EXPLAINED = ((b"grpc-status-details-bin", b"CAg"),)
REFUSALS = [
    *(CODES[name] for name in ("FAILED_PRECONDITION", "UNAUTHENTICATED", "UNIMPLEMENTED")),
    *(Answer(CODES[name].status, EXPLAINED) for name in ("PERMISSION_DENIED", "RESOURCE_EXHAUSTED")),
]
"""What says that a batch was not stored."""


def until(day: int, answer: Answer) -> Callable[[Arrival, Clock], Answer]:
    """Refuses all until a day, then accepts."""
    return lambda _arrival, clock: answer if clock.day < day else OK


def test_a_server_that_was_away_for_many_epochs() -> None:
    """It has read what was sent to it, and says that it can not take it now: batches come as if nothing had been.

    The id of each stays, for it may have been stored.
    """
    away, epochs = SHORT
    simulation = simulated(until(away, CODES["UNAVAILABLE"]), devices=SEVERAL, epochs=epochs)
    check_links(simulation)
    check_tries(simulation)
    check_first_moments(simulation)
    assert {len({batch.batch_id for _, batch in own}) for own in tries(simulation).values()} == {1}
    check_moments(simulation)


def test_a_device_that_was_offline_for_many_epochs() -> None:
    """What is too old is dropped; the rest comes at moments of its own, on connections of its own."""
    away, epochs = SHORT
    simulation = simulated(lambda *_: OK, devices=SEVERAL, epochs=epochs, offline=lambda day: day < away)
    check_links(simulation)
    check_moments(simulation)
    for device in range(SEVERAL):
        late = [
            arrival.moment
            for arrival, batch in simulation.batches
            if arrival.device == device and batch.epoch < FIRST + away - 1
        ]
        assert 5 <= len(late) <= 7
        # Of five moments, each somewhere in a quarter of a day, all lie within five minutes once in 10^7 times.
        assert max(late) - min(late) > 300.0
        assert away - 8 <= simulation.counts[device]["too old to be taken"] <= away - 6


def test_of_many_that_waited_none_comes_first_for_its_age() -> None:
    """A device that reached nobody for 70 days, of a fleet that accepts so much: neither the oldest nor the newest of
    its batches comes first."""
    days = 70
    clock = Clock()
    settings = Settings(clock=clock, accept_late=2 * days)
    with attacking(lambda _arrival: OK, clock) as attacker:
        device = Device(COLLECTION, endpoint=attacker.address, consent=Consent.GRANTED, settings=settings)
        simulation = Simulation(clock, [device], attacker)
        device._sender.endpoint = None
        for day in range(days):
            clock.now = (FIRST + day + 0.5) * DAY
            device.live()
        simulation.run(days + 3)
        device.close()
    check_links(simulation)
    check_order(simulation, days - 1)


def test_a_refusal_shows_no_id_twice() -> None:
    """A batch that was certainly not stored comes back under a new id, with its rows in a new order."""
    refusals = iter(REFUSALS * 1000)
    away, epochs = LONG
    simulation = simulated(lambda _, clock: next(refusals) if clock.day < away else OK, epochs=epochs)
    check_links(simulation)
    check_tries(simulation)
    check_first_moments(simulation)
    assert len({batch.batch_id for _, batch in simulation.batches}) == len(simulation.batches) > 3 * away
    for own in tries(simulation).values():
        orders = {tuple(row[6] for row in rows(batch)) for _, batch in own}
        # Two of 40,320 orders are equal by chance; among 80 tries six repetitions come once in 10^9 times.
        assert len(orders) > len(own) - 6


def rows(batch: SubmitReportsRequest) -> Iterable[bytes]:
    """The rows of a batch."""
    return (batch.rows[place : place + 8] for place in range(0, len(batch.rows), 8))


def test_a_batch_that_is_called_malformed_is_not_sent_again() -> None:
    """It is dropped: a hundred batches, each at a moment of its own."""
    simulation = simulated(lambda *_: CODES["INVALID_ARGUMENT"], epochs=100)
    check_links(simulation)
    check_first_moments(simulation)
    assert {len(own) for own in tries(simulation).values()} == {1}


@pytest.mark.parametrize("how", ["hang", "reset", "alternating"])
def test_a_server_that_leaves_it_open_whether_it_has_stored(how: str) -> None:
    """The id stays, or a batch could be counted twice: tries of one batch are known to be that, and no more is."""
    scripts = {
        "hang": [HANG],
        "reset": [RESET],
        "alternating": [CODES["UNAVAILABLE"], CODES["FAILED_PRECONDITION"], RESET, CODES["RESOURCE_EXHAUSTED"]],
    }
    count = iter(range(10**6))

    def scheme(_arrival: Arrival, clock: Clock) -> Answer:
        if clock.day >= (2 if how == "hang" else 4):  # each silence takes the test a tenth of a second
            return OK
        answer = scripts[how][next(count) % len(scripts[how])]
        if answer.hang:
            clock.now += 10.0  # as long as a device waits
        return answer

    simulation = simulated(scheme, epochs=12, devices=2, deadline=0.1 if how == "hang" else 60.0)
    check_links(simulation)
    check_tries(simulation)
    check_moments(simulation)
    if how != "alternating":
        assert {len({batch.batch_id for _, batch in own}) for own in tries(simulation).values()} == {1}


def test_a_delay_for_each_device_is_no_name_for_it() -> None:
    """A server that asks every device to come back after a time of its own can not tell which one comes back.

    By the inequality of Kolmogorov and Smirnov the waits of two devices, of n and m tries, are farther from each
    other than this once in 10^6 times at most. Four tries of each batch are refused: their waits are looked at.
    """
    refused: Counter[tuple[int, int]] = Counter()

    def scheme(arrival: Arrival, _clock: Clock) -> Answer:
        batch = arrival.device, SubmitReportsRequest.FromString(arrival.message).epoch
        refused[batch] += 1
        asked = b"%d" % (70_000 + 1_700_000 * arrival.device)
        return Answer(8, ((b"grpc-retry-pushback-ms", asked),)) if refused[batch] <= 4 else OK

    simulation = simulated(scheme, epochs=28, devices=3)
    check_links(simulation)
    check_first_moments(simulation)
    check_moments(simulation)
    waits = defaultdict[int, list[float]](list)
    for (device, _), own in tries(simulation).items():
        waits[device] += [later[0].moment - before[0].moment for before, later in pairwise(own[:4])]
    for one, other in combinations(waits.values(), 2):
        n, m = len(one), len(other)
        assert distance(one, other) <= math.sqrt(math.log(2e6) * (n + m) / (2 * n * m))


def distance(one: list[float], other: list[float]) -> float:
    """The greatest distance between two distributions."""
    return max(
        abs(sum(each <= at for each in one) / len(one) - sum(each <= at for each in other) / len(other))
        for at in (*one, *other)
    )


def test_a_program_that_flushes_in_every_run_sends_one_epoch_in_each(tmp_path: Path) -> None:
    """A server that refuses them all, or stays silent, is not shown yesterday's batch beside today's."""

    def answer(number: int, context: grpc.ServicerContext) -> Never:
        context.abort(grpc.StatusCode.UNAVAILABLE if number % 2 else grpc.StatusCode.FAILED_PRECONDITION, "no")

    clock = Clock()
    with answering(answer) as endpoint:
        for day in range(6):
            before = len(endpoint.requests)
            with Client(
                COLLECTION, endpoint=endpoint.address, state=tmp_path / "device.db", consent=Consent.GRANTED,
                settings=Settings(clock=clock),
            ) as client:  # fmt: skip
                client.record("m0", True)
                assert not client.flush(1.0)
            sent = {SubmitReportsRequest.FromString(request).epoch for request in endpoint.requests[before:]}
            assert sent == {FIRST + day}
            clock.now += DAY
    assert len(set(endpoint.peers)) == len(endpoint.peers)


def test_a_device_that_is_on_for_minutes_sends_one_epoch_at_a_time() -> None:
    """After days without a network, batches of different epochs leave in different runs, but for coincidence.

    A run of ten minutes sends one that was missed; that another one has its new moment within them, out of six
    hours, comes once in 36 times.
    """
    together = runs = 0
    clock = Clock()
    settings = Settings(clock=clock)
    with attacking(lambda _: OK, clock) as attacker:
        device = Device(COLLECTION, endpoint=attacker.address, consent=Consent.GRANTED, settings=settings)
        for day in range(60):
            device._sender.endpoint = dead() if day % 12 < 6 else attacker.address
            before, end = len(attacker.arrivals), clock.now + 600.0
            while clock.now < end:
                clock.now += min(device.live(), end - clock.now + 1.0)
            device._sender.send_missed()
            device._sender.missed.clear()
            epochs = {SubmitReportsRequest.FromString(each.message).epoch for each in attacker.arrivals[before:]}
            runs += bool(epochs)
            together += math.comb(len(epochs), 2)
            clock.now = (FIRST + day + 1.3) * DAY
        device.close()
    assert runs > 20
    # In 30 runs at most six others have a chance of 1 in 36 each: five pairs, and beyond 40 once in 10^10 times.
    assert together <= 40
