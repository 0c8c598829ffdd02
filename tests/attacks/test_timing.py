"""Time must not tell an answer: every step that a device takes for one answer, it takes for any other.

Judged is counted work, never seconds: the instructions of Python's virtual machine, one by one, and the random words.
Given the same words, all inputs make a mechanism take the same instructions; given the same input, so do all words
that a mechanism does not discard. What happens inside of one instruction (the arithmetic of large integers, a search
by halving, a dictionary) is not seen here; docs/privacy.md says what is known of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from random import Random
from types import FrameType
from typing import Any, NamedTuple

import pytest

from deniable import randomness
from deniable.epsilon import Epsilon
from deniable.kinds import Count, Distribution, Flags, Kind, Number, Quantity, Set, Text, Tree, Vector
from deniable.mechanisms import MECHANISMS
from deniable.payload import Codeword, Integers
from mechanisms.registered import CASES
from support.cases import Subject

ONE = Epsilon.of(1)
SUBJECTS = [subject for cases in CASES.values() for subject in cases.timed]
OF_VECTORS = [subject.mechanism for subject in SUBJECTS if isinstance(subject.mechanism.shape, Integers | Codeword)]


EACH = pytest.mark.parametrize("subject", SUBJECTS, ids=str)


@contextmanager
def given(words: list[int]) -> Iterator[None]:
    """These are the operating system's random words; none of them is used for anything else."""
    randomness._buffer[:] = words[::-1]
    try:
        yield
    finally:
        randomness._buffer.clear()


class Work(NamedTuple):
    """What something took; short, so that what differs can be read."""

    instructions: int
    """How many."""
    which: int
    """Which, in order: a fingerprint."""
    words: int = 0
    """How many random words."""


def work(doing: Callable[[], object], of: str = "deniable") -> Work:
    """The instructions that something takes within a package, in order: of which function, and which of it."""
    taken: list[tuple[str, int]] = []

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_globals["__name__"].split(".")[0] == of:
            taken.append((frame.f_code.co_qualname, frame.f_lasti))
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        doing()
    finally:
        sys.settrace(before)
    return Work(len(taken), hash(tuple(taken)))


def spent(words: list[int], doing: Callable[[], object]) -> Work:
    """The instructions, and how many words are used up."""
    with given(words):
        return work(doing)._replace(words=len(words) - len(randomness._buffer))


def script(random: Random) -> list[int]:
    """Random words."""
    return [random.getrandbits(64) for _ in range(4096)]


def test_instructions_are_told_apart() -> None:
    """The measure sees a branch that is taken for one value only, and a loop that goes round once more."""
    here = __name__.split(".")[0]

    def branch(value: int) -> int:
        return 1 if value else 2

    def loop(times: int) -> int:
        return sum(number for number in range(times))

    assert work(lambda: branch(1), here) != work(lambda: branch(0), here)
    assert work(lambda: loop(4), here).instructions > work(lambda: loop(3), here).instructions > 0


@EACH
def test_all_inputs_take_the_same_instructions_and_words(subject: Subject) -> None:
    """Twenty scripts of random words, and three for vectors, whose every entry draws anew: for each of them every
    input takes the same steps."""
    mechanism, inputs = subject.mechanism, subject.inputs
    random = Random(1)
    mechanism.randomize(inputs[0])  # what a process works out once, whatever comes first
    for words in (script(random) for _ in range(3 if mechanism in OF_VECTORS else 20)):
        first = spent(words, partial(mechanism.randomize, inputs[0]))
        for value in inputs[1:]:
            assert spent(words, partial(mechanism.randomize, value)) == first


@EACH
def test_what_comes_out_takes_no_other_instructions(subject: Subject) -> None:
    """Truth or lie, noise or none: a hundred scripts take the same steps, whatever the report says; ten do for a
    vector, which is 64 draws.

    Of a sampler that discards words only the last word, its coin, changes.
    """
    mechanism, inputs = subject.mechanism, subject.inputs
    random = Random(2)
    words = script(random)
    mechanism.randomize(inputs[0])
    if CASES[mechanism.name].discards:
        used = spent(words, partial(mechanism.randomize, inputs[0])).words
        scripts = [[*words[: used - 1], random.getrandbits(64), *words[used:]] for _ in range(100)]
    else:
        scripts = [script(random) for _ in range(10 if mechanism in OF_VECTORS else 100)]
    said: set[int] = set()
    taken = {spent(each, lambda: said.add(mechanism.randomize(inputs[-1]))) for each in scripts}
    assert len(said) > 1
    assert len(taken) == 1


def test_every_registered_mechanism_is_looked_at() -> None:
    """No mechanism takes a time that nobody has looked at."""
    assert {subject.mechanism.name for subject in SUBJECTS} == set(MECHANISMS)


NAMES = tuple(f"name {number}" for number in range(30))
KINDS: list[tuple[Kind, list[Any]]] = [
    (Set(NAMES, 5), [[], ["name 3"], [*NAMES[:5]], [*NAMES[:6]], [*NAMES]]),
    (Flags(NAMES), [[], ["name 29"], ["name 0"], [*NAMES]]),
    (Vector(4, Fraction(1), "l1"), [[0.0] * 4, [0.1, 0, 0, 0], [1e9, -5.0, 3.0, 1e300], [-1.0, 0.0, 0.0, 0.0]]),
    (Vector(4, Fraction(1), "l2"), [[0.0] * 4, [3.0, 4.0, 0.0, 0.0], [0.1, -0.2, 0.3, 0.4]]),
    (Vector(4, Fraction(1), "l2", Fraction(1, 10**6)), [[0.0] * 4, [3.0, 4.0, 0.0, 0.0], [0.1, -0.2, 0.3, 0.4]]),
    (Number(Fraction(0), Fraction(60), Fraction(1)), [-1e300, 0.0, 7.3, 33.0, 60.0, 1e300]),
    (Distribution(Fraction(0), Fraction(60), 50), [-1e300, 0.0, 7.3, 33.0, 60.0, 1e300]),
    (Tree(("a/x", "a/y", "b", "c/d/e", "c/d/f")), ["a/x", "a/y", "b", "c/d/e", "c/d/f"]),
    (Text("nfc", 32, "m"), ["a", "editor", "日本語", "x" * 32, "x" * 33, "\u00e9" * 16, "a b"]),
    (Count(50), [0, 7, 50, 51, 1 << 53]),
    (Count(None, "event"), [0, 7, (1 << 31) - 2, 1 << 53]),
]


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=lambda each: getattr(each, "name", ""))
def test_all_values_are_encoded_by_the_same_instructions_and_words(kind: Kind, values: list[Any]) -> None:
    """By every mechanism that fits: the steps from a checked value to the mechanism's input do not depend on it."""
    random = Random(3)
    for name in kind.mechanisms if isinstance(kind, Quantity | Flags | Set) else ("auto",):
        try:
            columns = kind.columns(ONE, name)
        except ValueError:
            continue
        checked = [kind.check(value) for value in values]
        encode = partial(kind.encode, columns=columns, draw=randomness.word)
        encode(checked[0])  # what a process works out once, whatever comes first
        for words in (script(random) for _ in range(5)):
            every = [spent(words, partial(encode, value)) for value in checked]
            assert all(each == every[0] for each in every)
