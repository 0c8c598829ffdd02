"""Attacks that must fail, each beside a device that it succeeds on.

(Averaging what a device sends in many epochs: tests/client/device/test_memo.py. Guessing with one report: the audits
in tests/planning/test_audit.py.)
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from deniable import Metric
from deniable.device.outbox import Batch
from deniable.epsilon import Epsilon
from deniable.mechanisms import Laplace
from planning.everything import EVERYTHING, VALUES
from support.waiting import PATIENCE

EACH = pytest.mark.parametrize("metric", EVERYTHING.metrics.values(), ids=lambda metric: metric.name)


def outputs(noise: Callable[[Random], float], value: float, count: int, seed: int) -> set[float]:
    """What a device with floating-point noise sends."""
    random = Random(seed)
    return {value + noise(random) for _ in range(count)}


def textbook(random: Random) -> float:
    """Laplace noise of scale 1 as textbooks have it: a sign and a logarithm."""
    return math.copysign(math.log(1 - random.random()), random.random() - 0.5)


def test_no_output_of_laplace_tells_which_inputs_it_can_not_be_from() -> None:
    """Every payload is possible for every input, exactly; the lowest bits of floating-point noise tell them apart.

    (Mironov, CCS 2012.) Of textbook noise added to 0 and to 1, hardly any number that the one sends can the other
    send: a double near 0 is finer than any near 1.
    """
    zero, one = outputs(textbook, 0.0, 20_000, 1), outputs(textbook, 1.0, 20_000, 2)
    assert sum((number - 1.0) + 1.0 == number for number in zero) < 0.9 * len(zero)
    assert all((number - 1.0) + 1.0 == number for number in one)
    for mechanism in (Laplace(Epsilon.of(1), 8), Laplace(Epsilon.of(Fraction(1, 10)), 8, 1)):
        supports = [{y for y, chance in row.items() if chance} for row in mechanism.channel()]
        assert all(support == set(range(mechanism.shape.size)) for support in supports)


FORKS = """
import json, os, random
from planning.everything import EVERYTHING, VALUES
from support.waiting import PATIENCE

def answered(metric):
    return [metric.randomize(VALUES[metric.name][0]).payload for _ in range(200)]

def everywhere(work):
    found = []
    for _ in range(6):
        reader, writer = os.pipe()
        if not os.fork():
            os.write(writer, repr(work()).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            found.append(pipe.read())
        os.wait()
    return len({*found, repr(work())})

for metric in EVERYTHING.metrics.values():
    answered(metric)  # random words are waiting now
counts = {name: everywhere(lambda: answered(metric)) for name, metric in EVERYTHING.metrics.items()}
print(json.dumps([counts, everywhere(random.Random(3).random)]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_processes_do_not_share_noise() -> None:
    """A parent and six children give 200 answers each to every metric: no two give the same ones.

    Chance makes even answers to booleans the same once in 10^17 times; a generator that a fork copies, always.
    """
    root = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=PATIENCE, check=True,
                         env={**os.environ, "PYTHONPATH": paths})  # fmt: skip
    counts, copied = json.loads(run.stdout)
    assert counts == dict.fromkeys(EVERYTHING.metrics, 7)
    assert copied == 1


@EACH
def test_the_size_of_a_batch_does_not_tell_the_answer(metric: Metric) -> None:
    """Fifty reports of every value make batches of one size, whatever is in them."""
    sizes = {
        len(Batch.of(bytes(16), EVERYTHING, 20_000, 1, [metric.randomize(value)]).request)
        for value in VALUES[metric.name]
        for _ in range(50)
    }
    assert len(sizes) == 1
