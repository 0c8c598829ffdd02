"""Devices whose batches an attacker in the place of the aggregator answers as it likes, and what it must not learn.

Devices are real clients with real gRPC; their worker is the simulation, which moves a clock to the next moment at
which a device has something to do.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deniable import Client, Collection, Consent, Settings
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from support.attacker import Answer, Arrival, Attacker, attacking
from support.endpoints import dead
from support.waiting import soon

__all__ = [
    "COLLECTION",
    "DAY",
    "FIRST",
    "LEEWAY",
    "METRICS",
    "Clock",
    "Device",
    "Simulation",
    "check_first_moments",
    "check_links",
    "check_moments",
    "check_order",
    "check_tries",
    "simulated",
    "tries",
]

DAY = 86400.0
LEEWAY = DAY / 4
METRICS = 8
FIRST = 20_000
"""The epoch in which a simulation begins."""
COLLECTION = Collection.loads(
    '[collection]\nname = "refused"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 10\n'
    + "".join(f'[metrics.m{n}]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n' for n in range(METRICS))
)


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

    _answered = -1
    """The last epoch whose questions are answered: to answer them in every step would say nothing new."""

    def _start(self) -> None:
        """Nobody: `live` does the work."""

    def live(self) -> float:
        """Answer today's questions, do what is to be done now, and say for how many seconds there is nothing."""
        today = int(self._settings.clock() // DAY)
        if today != self._answered:
            self._answered = today
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
    epochs: int,
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


def tries(simulation: Simulation) -> dict[tuple[int, int], list[tuple[Arrival, SubmitReportsRequest]]]:
    """All tries of each batch."""
    found = defaultdict(list)
    for arrival, batch in simulation.batches:
        found[arrival.device, batch.epoch].append((arrival, batch))
    return found


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
