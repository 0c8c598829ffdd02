"""A server that refuses learns as little as one that accepts.

Over a hundred epochs an attacker in the place of the aggregator answers what devices send as it likes: it is away, it
refuses, it stays silent, it breaks connections, it asks each device to wait for a time of its own. It knows every
connection, id, moment and byte. It must not be able to tell that batches of two epochs are of one device by anything
that an honest server would not see: no connection has two batches, no id two epochs, no refused batch the same id or
order of rows again, and the moments of a device's batches have nothing to do with each other.

Devices are real clients with real gRPC; their worker is the simulation, which moves a clock to the next moment at
which a device has something to do.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Never

import grpc
import pytest

from deniable import Client, Collection, Consent, Settings
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.attacker import Answer, Arrival, Attacker, attacking
from support.endpoints import answering, dead
from support.waiting import soon

DAY = 86400.0
LEEWAY = DAY / 4
LONG, SHORT = (24, 40), (12, 20)
"""For how many of how many epochs one device, or several, are refused: a batch is sent for eight at most."""
SEVERAL = 3
METRICS = 8
FIRST = 20_000
"""The epoch in which a simulation begins."""
COLLECTION = Collection.loads(
    '[collection]\nname = "refused"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 10\n'
    + "".join(f'[metrics.m{n}]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n' for n in range(METRICS))
)
OK, HANG, RESET = Answer(), Answer(hang=True), Answer(reset=True)
CODES = {code.name: Answer(code.value[0]) for code in grpc.StatusCode}
EXPLAINED = ((b"grpc-status-details-bin", b"CAg"),)
REFUSALS = [
    *(CODES[name] for name in ("FAILED_PRECONDITION", "UNAUTHENTICATED", "UNIMPLEMENTED")),
    *(Answer(CODES[name].status, EXPLAINED) for name in ("PERMISSION_DENIED", "RESOURCE_EXHAUSTED")),
]
"""What says that a batch was not stored."""


@dataclass
class Clock:
    """The time of a simulation, in seconds."""

    now: float = FIRST * DAY + 0.3 * DAY

    def __call__(self) -> float:
        """The time that it shows."""
        return self.now

    @property
    def day(self) -> int:
        """How many epochs have gone by."""
        return int(self.now // DAY) - FIRST


class Device(Client):
    """A client whose worker is the simulation."""

    def _start(self) -> None:
        """Nobody: `live` does the work."""

    def live(self) -> float:
        """Answer today's questions, do what is to be done now, and say for how many seconds there is nothing."""
        for metric in self.collection.metrics:
            self.record(metric, True)
        self._write()
        return self._upload()


@dataclass
class Simulation:
    """What the attacker has seen of some devices."""

    clock: Clock
    devices: list[Device]
    attacker: Attacker
    batches: list[tuple[Arrival, SubmitReportsRequest]] = field(default_factory=list)
    counts: list[Mapping[str, int]] = field(default_factory=list)
    """What has happened to the answers of each device."""

    def run(self, epochs: int, offline: Callable[[int], bool] = lambda _day: False) -> None:
        """Let the devices live; on some days they reach nobody."""
        nobody = dead()
        queue = [(self.clock.now, number) for number in range(len(self.devices))]
        while queue[0][0] < (FIRST + epochs) * DAY:
            moment, number = heapq.heappop(queue)
            self.clock.now = max(self.clock.now, moment)
            device = self.devices[number]
            device._sender.endpoint = nobody if offline(self.clock.day) else self.attacker.address
            self.attacker.device = number
            wait = device.live()
            soon(self.attacker.is_done, "all that was sent has been seen")
            heapq.heappush(queue, (self.clock.now + wait, number))
        self.batches = [(each, SubmitReportsRequest.FromString(each.message)) for each in self.attacker.arrivals]
        self.counts = [device.status().counts for device in self.devices]


def simulated(
    scheme: Callable[[Arrival, Clock], Answer],
    *,
    devices: int = 1,
    epochs: int = LONG[1],
    deadline: float = 60.0,
    offline: Callable[[int], bool] = lambda _day: False,
) -> Simulation:
    """What an attacker with a scheme sees of some devices."""
    clock = Clock()
    with attacking(lambda arrival: scheme(arrival, clock), clock) as attacker:
        given: dict[str, Any] = {"consent": Consent.GRANTED, "settings": Settings(clock=clock, deadline=deadline)}
        own = [Device(COLLECTION, endpoint=attacker.address, **given) for _ in range(devices)]
        simulation = Simulation(clock, own, attacker)
        simulation.run(epochs, offline)
        for device in own:
            device.close()
    return simulation


def check_links(simulation: Simulation) -> None:
    """No connection has two batches; no id two epochs, nor two devices; nobody's manners differ from the others'."""
    connections = Counter(arrival.connection for arrival, _ in simulation.batches)
    assert max(connections.values()) == 1
    owners = defaultdict(set)
    for arrival, batch in simulation.batches:
        owners[batch.batch_id].add((arrival.device, batch.epoch))
    assert {len(each) for each in owners.values()} == {1}
    manners = {tuple(map(without_deadline, arrival.manner)) for arrival, _ in simulation.batches}
    assert len(manners) == 1


def without_deadline(headers: bytes) -> bytes:
    """The headers of a call but for the time that it has left."""
    name = b"grpc-timeout"
    place = headers.find(name)
    if place < 0:
        return headers
    end = place + len(name) + 1
    return headers[:place] + headers[end + headers[end - 1] :]


def check_moments(simulation: Simulation) -> None:
    """Batches of different epochs of one device are together no more often than those of different devices.

    Nothing but chance brings two batches within five minutes of each other. Of all pairs of batches of different
    epochs one of n is of one device, with n devices, and so of those that are together. Tries come in clusters, hence
    twice the variance; beyond six such standard deviations and six pairs lies less than 10^-6.
    """
    same, together = 0, 0
    tries = sorted((arrival.moment, arrival.device, batch.epoch) for arrival, batch in simulation.batches)
    for place, (moment, device, epoch) in enumerate(tries):
        for later, other, another in tries[place + 1 :]:
            if later - moment > 300.0:
                break
            if epoch != another:
                together += 1
                same += device == other
    share = 1 / len(simulation.devices)
    assert same <= together * share + 6 * math.sqrt(2 * together * share * (1 - share)) + 6, (same, together)


def check_first_moments(simulation: Simulation) -> None:
    """When a batch is sent first is spread evenly over its leeway, whatever became of those before it.

    By the inequality of Dvoretzky, Kiefer and Wolfowitz, n even draws are farther than this from an even spread once
    in 10^6 times at most.
    """
    first: dict[tuple[int, int], float] = {}
    for arrival, batch in simulation.batches:
        first.setdefault((arrival.device, batch.epoch), arrival.moment)
    parts = sorted((moment - (epoch + 1) * DAY - 1.0) / LEEWAY for (_, epoch), moment in first.items())
    bound = math.sqrt(math.log(2e6) / (2 * len(parts)))
    spread = max(
        max(abs(part - place / len(parts)), abs(part - (place + 1) / len(parts))) for place, part in enumerate(parts)
    )
    assert spread <= bound, spread


def tries(simulation: Simulation) -> dict[tuple[int, int], list[tuple[Arrival, SubmitReportsRequest]]]:
    """All tries of each batch."""
    found = defaultdict(list)
    for arrival, batch in simulation.batches:
        found[arrival.device, batch.epoch].append((arrival, batch))
    return found


def check_tries(simulation: Simulation) -> None:
    """A refused batch is sent a bounded number of times, and for as long as aggregators accept its epoch."""
    for (_, epoch), own in tries(simulation).items():
        assert len(own) <= 80
        assert max(arrival.moment for arrival, _ in own) < (epoch + 8) * DAY


def check_order(simulation: Simulation, day: int) -> None:
    """Of two batches that have waited for days the older one comes first as often as the newer one.

    Pairs that share no batch are heads and tails: by Hoeffding's inequality so far from even once in 10^6 times. Of
    32 pairs, all of one kind are farther.
    """
    older = pairs = 0
    for device in range(len(simulation.devices)):
        moments = {
            epoch: own[-1][0].moment
            for (number, epoch), own in tries(simulation).items()
            if number == device and epoch < FIRST + day - 3 and own[-1][0].moment >= (FIRST + day) * DAY
        }
        waited = sorted(moments)
        for one, other in zip(waited[::2], waited[1::2], strict=False):
            pairs += 1
            older += moments[one] < moments[other]
    assert pairs >= 32
    assert abs(older - pairs / 2) <= math.sqrt(pairs * math.log(2e6) / 2), (older, pairs)


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
