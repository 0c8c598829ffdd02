"""Cases: what is tested of a mechanism, in the words that its file in tests/mechanisms/cases/ is written in.

words:
  cases     all of one mechanism: where it is proved, sampled, simulated, timed, and how a collection asks by it
  subject   a mechanism with some of its inputs
  asked     a metric that a collection asks by the mechanism
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deniable.epsilon import Epsilon
from deniable.mechanisms import Mechanism
from privacy.conformance import Family

__all__ = [
    "DOMAINS", "EPSILONS", "FOUR", "NAMES", "ONE", "STEPS", "TWO", "Asked", "Cases", "Family", "Subject", "listed",
]  # fmt: skip

EPSILONS = ("0.01", "0.1", "0.5", "1", "ln 3", "2", "4", "8")
DOMAINS = (2, 3, 16, 48, 49, 256, 4096)
STEPS = (1, 2, 7, 60)
ONE, TWO, FOUR = (Epsilon.of(number) for number in (1, 2, 4))
NAMES = [f"value {number}" for number in range(60)]


@dataclass(frozen=True)
class Subject:
    """A mechanism, and inputs of it."""

    mechanism: Mechanism
    inputs: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.mechanism.name}-{self.mechanism.shape.counters}"


@dataclass(frozen=True)
class Asked:
    """A metric."""

    name: str
    """Its name in the collections of tests."""
    table: str
    """What its table says beside description and epsilon."""
    values: Sequence[Any] = ()
    """Some values that its devices have, each as often as the others; none: it is audited, and not simulated."""
    audited: int = 0
    """So many reports let an audit tell 0.9 and 1.15 of epsilon from 1; of rare events there are more. 0: none."""


@dataclass(frozen=True)
class Cases:
    """What is tested of one mechanism."""

    fitted: tuple[Subject, ...]
    """Small enough for draws of the twin to show the whole channel: 5% of epsilon, in few of them."""
    timed: tuple[Subject, ...]
    """With inputs that lie far apart."""
    asked: tuple[Asked, ...]
    """Simulated, audited, covered by intervals, moved by fakes."""
    families: tuple[Family, ...] = ()
    """Where the conformance suite proves and samples it."""
    proved: str = ""
    """Where its channel is proved instead, if its payloads can not be listed: a test file."""
    scripted: tuple[Subject, ...] = ()
    """Where the twin, given the client's words, says what the client says."""
    apart: str = ""
    """Why the twin draws in another way than the client, where it does."""
    discards: bool = False
    """Whether the client's sampler draws words that it discards, whatever the answer and its coin."""


def listed(texts: Sequence[str]) -> str:
    """Texts, as a collection file lists them."""
    return "[" + ", ".join(f'"{text}"' for text in texts) + "]"
