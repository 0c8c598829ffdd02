"""How a client behaves, and how it is doing: what an application sets, and what it is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deniable.collection import Collection
from deniable.device.consent import Consent

__all__ = ["DEBUGGING", "Settings", "Status", "asks_to_debug", "leeway_of"]

_DEBUG = "DENIABLE_DEBUG"
_NO = {"", "0", "false", "no", "off"}
DEBUGGING = (
    f"DEBUGGING, by debug=True or {_DEBUG}: nothing is reported to anybody; what is recorded is shown as it is on "
    "the debug view of this account (`deniable serve COLLECTION --debug-view`). This is not for a release"
)
"""What is said of a client that only shows what it would report."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a client behaves; the defaults suit an application on a person's device."""

    write_behind: float = 1.0
    """Seconds that a recorded value may be in memory only."""
    leeway: float | None = None
    """Batches leave at a random moment of this many seconds after their epoch; None: a quarter of an epoch. Between
    two tries a batch waits for about as long at most, or for 15 minutes if that is more. With 0, which is for tests,
    batches of several epochs leave together."""
    deadline: float = 10.0
    """Seconds that one upload may take."""
    close_timeout: float = 2.0
    """Seconds that `close`, and the interpreter's exit, wait at most for an upload under way."""
    queue_limit: int = 200
    """Batches that may wait; of more, the oldest are dropped and counted."""
    accept_late: int = 7
    """For how many epochs after its end an epoch is still sent, which aggregators accept for as long; an older batch
    is dropped and counted."""
    transcript_days: float = 90.0
    """For how long the transcript shows what has been sent."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970-01-01T00:00:00Z."""
    count_ci: bool = False
    """Whether machines of continuous integration are counted like any device: unless said, nothing is recorded or
    sent where the environment shows that it is one."""


@dataclass(frozen=True, slots=True)
class Status:
    """How a client is doing."""

    consent: Consent
    """What the person has agreed to."""
    trouble: str
    """Why something can not be collected or answered at the moment, and what helps; empty where all is well."""
    waiting: int
    """Batches that have not been acknowledged."""
    counts: Mapping[str, int]
    """What has happened to this device's answers, such as "stored", and how often, in the life of its state file."""
    recorded: tuple[str, ...]
    """Metrics with values that wait for the end of their epoch: until then nothing leaves."""
    next_answer_at: float | None
    """From when on the next answer can leave, in seconds since 1970-01-01T00:00:00Z: when a batch that waits is due,
    or else when the epoch of what was recorded ends; where the device is not drawn for an epoch, when the next one
    ends. None where nothing is to leave."""
    last_error: str
    """Why the last try to send something failed; empty where it did not, or where there was none."""
    unanswered: Mapping[str, str]
    """By metric: why what is recorded for it now would not be answered. Metrics that would be are not in it."""
    withheld_by: str
    """Who has withheld consent, as far as this process knows: "person", whom nobody overrules; "environment", for a
    run; "application"; "nobody", where nobody has agreed yet. Empty where it is not withheld."""


def asks_to_debug(environment: Mapping[str, str]) -> bool:
    """Whether whoever starts a program asks for debug clients, by any word that is no no."""
    return environment.get(_DEBUG, "").strip().lower() not in _NO


def leeway_of(settings: Settings, collection: Collection) -> float:
    """Within how many seconds after its epoch a batch of the collection leaves."""
    return collection.epoch_seconds / 4 if settings.leeway is None else settings.leeway
