"""What was asked: who asked, in which words, and within which budgets, for the person who reads the state file.

A state file has answers and what they cost, under the names of a collection that only the application has. So the
words of a collection are written beside its first answers, and anew when they have changed. They say nothing of the
device; before it has answered anything there are none.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deniable.collection import Collection
from deniable.device.state import get, put

__all__ = ["Asked", "asked", "is_noted", "note"]

_KEY = "asked "
_NONSENSE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a text raises that was never written there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a state file knows of one collection."""

    owner: str
    """Whom to write to about it."""
    questions: Mapping[str, str]
    """The words of each question, by the name of its metric."""
    epoch: float
    """The most epsilon that a device spends in one epoch."""
    lifetime: float | None
    """The most epsilon that a device ever spends; None: no such limit."""
    epoch_delta: float
    """The most delta that a device spends in one epoch."""
    lifetime_delta: float
    """The most delta that a device ever spends."""
    sample: float = 1.0
    """In which part of all epochs it takes part, by its coins."""


def is_noted(connection: sqlite3.Connection, collection: Collection) -> bool:
    """Whether the file says already what a collection asks."""
    noted: bool = get(connection, _KEY + collection.name) == _text(collection)
    return noted


def note(connection: sqlite3.Connection, collection: Collection) -> None:
    """Write down what a collection asks."""
    put(connection, _KEY + collection.name, _text(collection))


def _text(collection: Collection) -> str:
    budget = collection.budget
    return json.dumps(
        {
            "owner": collection.owner,
            "questions": {metric.name: metric.description for metric in collection.metrics.values()},
            "epoch": float(budget.epoch),
            "lifetime": None if budget.lifetime is None else float(budget.lifetime),
            "epoch_delta": float(budget.epoch_delta),
            "lifetime_delta": float(budget.lifetime_delta),
            **({"sample": float(collection.sample)} if collection.sample < 1 else {}),
        },
        ensure_ascii=False,
    )


def asked(connection: sqlite3.Connection) -> dict[str, Asked]:
    """What is known of each collection, by its name; of one whose words can not be read, nothing."""
    found = {}
    for key, text in connection.execute("SELECT key, value FROM meta WHERE key >= ? AND key < 'asked!'", (_KEY,)):
        try:
            found[key.removeprefix(_KEY)] = _read(json.loads(text))
        except _NONSENSE:
            continue
    return found


def _read(said: Any) -> Asked:
    lifetime = said["lifetime"]
    return Asked(
        str(said["owner"]),
        {str(name): str(words) for name, words in said["questions"].items()},
        float(said["epoch"]),
        None if lifetime is None else float(lifetime),
        float(said["epoch_delta"]),
        float(said["lifetime_delta"]),
        float(said.get("sample", 1.0)),
    )
