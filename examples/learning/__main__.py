"""A model that is learned from devices by a running aggregator, all the way: `python -m examples.learning --help`."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import deniable
from deniable_aggregator import Reader
from deniable_aggregator.learning import Course, Settings, clipping_norm

from .central.data import split
from .central.regression import accuracy
from .device import Device
from .questions import asked

DIMENSIONS, ROUNDS, EPSILON = 31, 6, "8"
RATE = 30.0


def learn(endpoint: str, devices: int, states: Path) -> tuple[Course, float]:
    """So many devices, each with a row of the breast cancer data and a state file, and the part of the other rows
    that they tell."""
    rows = split("breast cancer", 1)
    collection = deniable.Collection.loads(asked(DIMENSIONS, ROUNDS, EPSILON))

    def client(number: int) -> deniable.Client:
        everywhere = deniable.Settings(count_ci=True)  # the fleet is simulated, on whatever machine this is
        return deniable.Client(
            collection, endpoint=endpoint, consent="granted", state=states / f"{number}.db", settings=everywhere
        )

    have = list(zip(rows.train.vectors.tolist(), rows.train.classes.tolist(), strict=True))
    fleet = [Device(partial(client, number), *have[number % len(have)], ROUNDS) for number in range(devices)]
    with Reader(endpoint) as reader:
        start = [0.0] * DIMENSIONS
        for device in fleet:
            device.take_part(0, start, 1.0)
        norm = clipping_norm(reader.estimates("length", collection="learning", quantiles=[0.8]))
        course = Course(start, Settings(rate=RATE, rounds=ROUNDS), norm=norm)
        while not course.ended:
            number, weights = len(course.steps) + 1, course.weights.tolist()
            answered = sum(device.take_part(number, weights, norm) for device in fleet)
            step = course.take(reader.estimates(f"round_{number}", collection="learning"))
            print(f"round {number}: {answered} devices, step {step.length:.3f}, noise {step.noise:.3f}")
    print(f"It ended, as {course.ended}.")
    return course, accuracy(course.model[None, :], rows.vectors, rows.classes)


def main() -> None:
    """Learn, or say what is asked."""
    parser = argparse.ArgumentParser(prog="python -m examples.learning", description=__doc__)
    parser.add_argument("--collection", action="store_true", help="print the collection, for `deniable serve`")
    parser.add_argument("--endpoint", default="127.0.0.1:8470", help="where it is served (127.0.0.1:8470)")
    parser.add_argument("--devices", type=int, default=2_000, help="how many devices there are (2000)")
    options = parser.parse_args()
    if options.collection:
        print(asked(DIMENSIONS, ROUNDS, EPSILON), end="")
        return
    with TemporaryDirectory() as directory:  # here a device lives as long as its fleet
        _, told = learn(options.endpoint, options.devices, Path(directory))
    print(f"The model tells {told:.1%} of rows that no device has.")


if __name__ == "__main__":
    main()
