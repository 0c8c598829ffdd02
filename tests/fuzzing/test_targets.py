"""The short version of all fuzzing: what was found, what is sound, and some hundred inputs that are like them.

The long version is guided by coverage: `make fuzz`, docs/attacks/fuzzing.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.collection import _reader
from deniable.device import statefile
from deniable.kinds import tree
from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis import offline
from deniable_aggregator.ingest import alone, rows
from deniable_aggregator.ingest.admission import Admission
from deniable_aggregator.moving import importing
from deniable_aggregator.serving import tokens
from deniable_aggregator.telling import questions
from deniable_aggregator.telling.messages import query_of
from deniable_aggregator.web import parameters
from fuzzing.mutation import changed
from fuzzing.target import FOUND, NAMES, Target, found, target
from fuzzing.targets import answers, batches, exports
from support.commands import ROOT

EACH = pytest.mark.parametrize("name", NAMES)
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def inputs(own: Target, name: str) -> list[bytes]:
    """Those that are tried every time."""
    return [*own.seeds(), *found(name)]


@EACH
def test_what_is_sound_and_what_was_found_is_judged_rightly(name: str) -> None:
    """Each becomes something that the target knows of; among them is what is taken, and what is not."""
    own = target(name)
    became = {own.judge(data) for data in (*inputs(own, name), b"", b"\0", b"\xff" * 40)}
    assert became <= own.outcomes
    assert len(became) > 1


@EACH
@settings(max_examples=40, suppress_health_check=QUIET)
@given(chance=st.randoms(use_true_random=False), noise=st.binary(max_size=200))
def test_what_is_like_them_is_judged_rightly(name: str, chance: Any, noise: bytes) -> None:
    """Inputs with bytes changed, pieces left out and two brought together, and noise: none is judged wrongly."""
    own = target(name)
    for data in (changed(chance, inputs(own, name), own), noise):
        assert own.judge(data) in own.outcomes


@pytest.mark.deep
@EACH
@settings(max_examples=5_000, suppress_health_check=QUIET)
@given(chance=st.randoms(use_true_random=False), noise=st.binary(max_size=2_000))
def test_thousands_that_are_like_them_are_judged_rightly(name: str, chance: Any, noise: bytes) -> None:
    """The same, for longer."""
    own = target(name)
    for data in (changed(chance, inputs(own, name), own), noise):
        assert own.judge(data) in own.outcomes


@EACH
def test_an_input_takes_memory_by_its_length(name: str) -> None:
    """What one input makes of itself is gone after it, and is at the most some thousand times as long as it."""
    own = target(name)
    every = inputs(own, name)
    for data in every:
        own.judge(data)  # what is remembered once
    tracemalloc.start()
    try:
        for data in every[:12]:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            own.judge(data)
            peak = tracemalloc.get_traced_memory()[1] - before
            assert peak < (4 << 20) + 1000 * len(data), (peak, len(data))
    finally:
        tracemalloc.stop()


def one_more(level: int) -> tuple[int, int, int]:
    """Moments of an integer, wrongly."""
    return level + 1, 0, 0


def of_any_epoch(self: Admission, request: Any) -> Any:
    """Batches of any epoch are let in."""
    request.epoch = max(request.epoch, 19_994)
    return ADMIT(self, request)


def of_everybody(query: Any, *limits: bool, **more: bool) -> Any:
    """What is asked of one segment is answered of all."""
    of_all = pb.Query()
    of_all.CopyFrom(query)
    of_all.ClearField("segment")
    return query_of(of_all, *limits, **more)


ADMIT = Admission.admit
ACCUMULATE, PARCELS, PATH = offline.accumulate, importing._parcels, tree._path
FAULTS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None], bytes | None]] = {
    "a sum that is one too large": ("batches", lambda patch: patch.setattr(alone, "_moments", one_more), None),
    "an epoch that is not accepted": (
        "batches",
        lambda patch: patch.setattr(Admission, "admit", of_any_epoch),
        b"\4\x18\0\x2a\x08" + bytes(6) + b"\x17\0",
    ),
    "levels without their gap": (
        "streams",
        lambda patch: patch.setattr(rows, "_levels", lambda payload, *_: payload + payload),
        None,
    ),
    "counters of another row": (
        "answers",
        lambda patch: patch.setattr(answers, "accumulate", lambda metric, own: ACCUMULATE(metric, [*own] * 2)),
        None,
    ),
    "a digest that changes": ("collections", lambda patch: patch.setattr(_reader, "_digest", fresh), None),
    "a path without its last name": (
        "trees",
        lambda patch: patch.setattr(tree, "_path", lambda cells: PATH(cells[:1])),
        b"a,b\nc,d\n",
    ),
    "a stranger that is taken for ours": (
        "states",
        lambda patch: patch.setattr(statefile, "require_ours", lambda *_: None),
        None,
    ),
    "a limit that is not kept": (
        "tokens",
        lambda patch: patch.setattr(tokens, "_LATE", re.compile("never")),
        b"report " + b"ab" * 32 + b" expires=2027-03-01",
    ),
    "a segment that is passed over": (
        "questions",
        lambda patch: patch.setattr(questions, "query_of", of_everybody),
        None,
    ),
    "a parameter that says nothing": (
        "paths",
        lambda patch: patch.setattr(parameters, "_said", lambda _, value: value),
        b"/api/v1/collections/editor/estimates?from=",
    ),
    "a parcel that is left out": (
        "exports",
        lambda patch: patch.setattr(exports, "_parcels", lambda *own: [*PARCELS(*own)][1:]),
        None,
    ),
}
numbers = iter(range(1 << 20))


def fresh(meaning: dict[str, Any]) -> int:
    """A number that was not there before."""
    return next(numbers)


def judged(own: Target, every: list[bytes]) -> None:
    """All of them, one after another."""
    for each in every:
        own.judge(each)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """With a fault planted, some sound input is judged wrongly: those who judge do look."""
    name, plant, data = FAULTS[fault]
    own = target(name)
    every = [data] if data is not None else own.seeds()
    judged(own, every)
    with monkeypatch.context() as patch:
        plant(patch)
        with pytest.raises(AssertionError):
            judged(own, every)


def test_without_the_fuzzer_it_says_what_it_takes() -> None:
    """In an environment without atheris the command ends with what it takes, and where there is none."""
    told = subprocess.run(
        [sys.executable, "-m", "fuzzing.run", "batches", "--guided", "1"],
        cwd=ROOT, env={"PYTHONPATH": "tests:.", "PATH": ""}, capture_output=True, text=True,
    )  # fmt: skip
    assert told.returncode == 1
    assert "Linux (x86_64) and Python 3.11" in told.stderr


def test_what_was_found_is_small() -> None:
    """Files of inputs are read by people, too."""
    assert sum(path.stat().st_size for path in FOUND.iterdir()) < 200_000
    assert {path.stem for path in FOUND.glob("*.txt")} <= set(NAMES)
    assert batches.TARGET is target("batches")
