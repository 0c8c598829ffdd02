"""Learning in rounds, all the way: real clients, a real aggregator, and the model that comes of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples.learning.device import Device
from examples.learning.questions import asked

from deniable import Client, Collection, Consent
from deniable_aggregator import Reader
from deniable_aggregator.learning import Course, Settings, clipping_norm
from support.commands import serving_text

ROUNDS, SAY_LENGTH, FIRST, SECOND = 2, 5, 16, 8
TEXT = asked(3, ROUNDS, "8")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An aggregator of the example's questions."""
    with serving_text(tmp_path_factory.mktemp("aggregator"), TEXT) as address:
        yield address


def fleet(endpoint: str, directory: Path) -> list[Device]:
    """Devices whose class is the sign of the first entry of what they have, and who answers what."""
    collection, drawn = Collection.loads(TEXT), random.Random(1)
    turns = [0] * SAY_LENGTH + [1] * FIRST + [2] * SECOND

    def device(number: int, turn: int) -> Device:
        vector = [drawn.choice((-0.8, 0.8)), *(drawn.uniform(-0.4, 0.4) for _ in range(2))]
        path = directory / f"{number}.db"

        def client() -> Client:
            return Client(collection, endpoint=endpoint, state=path, consent=Consent.GRANTED)

        made = Device(client, vector, int(vector[0] > 0), ROUNDS)
        assert 0 <= made.turn <= ROUNDS
        made.turn = turn
        return made

    return [device(number, turn) for number, turn in enumerate(turns)]


def test_a_model_is_learned_from_devices_that_answer_once(tmp_path: Path, endpoint: str) -> None:
    """The first weight, which alone has to do with the class, grows: by 16 devices it is 15 standard errors from
    nothing (less is chance once in 10^40 times). A second answer is refused by the device."""
    devices = fleet(endpoint, tmp_path)
    with Reader(endpoint) as reader:
        assert sum(device.take_part(0, [0.0] * 3, 1.0) for device in devices) == SAY_LENGTH
        norm = clipping_norm(reader.estimates("length", quantiles=[0.5]), 0.5)
        assert 2**-6 <= norm <= 4
        course = Course([0.0] * 3, Settings(rate=4.0, rounds=ROUNDS), norm=0.5)
        for number, answering in ((1, FIRST), (2, SECOND)):
            weights = course.weights.tolist()
            assert sum(device.take_part(number, weights, 0.5) for device in devices) == answering
            assert course.take(reader.estimates(f"round_{number}")).reports == answering
        assert course.ended == "it had 2 rounds"
        assert course.history[1][0] > 0
        devices[0].turn = 1
        assert not devices[0].take_part(1, [0.0] * 3, 0.5), "its ledger has room for one answer in its life"
        assert reader.estimates("round_1")[0]["reports"] == FIRST
