"""`forget`: erase what the device knows of the person, and collect nothing from then on.

Erased are the values of the epoch, what was not sent, what was sent, what is remembered (with the secret that would
tell what it was), on which days what was answered or the device was drawn, and how often what has happened. Kept are
the no, and for each question one number: what its answers may have cost at most. Without that number an application
could ask everything anew after every forgetting; it depends on no answer.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from deniable.device import coins, epochs, ledger, memo, state, transcript
from deniable.device import consent as consents
from deniable.device.consent import Consent
from deniable.device.state import State
from deniable.person.device import look
from deniable.person.words import command

__all__ = ["ERASES", "forget"]

ERASES = (
    "This erases what this device keeps of you: what was recorded, what waits, what was sent, what is remembered, "
    "and when what was answered. Nothing is collected any more. What the answers may have cost is kept, as one "
    "number a question, so that nobody can ask it all again. What has been sent can not be called back: it has no "
    "name on it."
)
"""What the person is asked to agree to."""

_RID = (
    "To be rid of the file, too: turn telemetry off in the application's own settings, close it, and delete the "
    "file. A file that is gone knows no more that you have said no."
)


def forget(path: Path) -> list[str]:
    """Erase it; what `forget` shows."""
    look(path)  # refuses what is not ours, and begins no file where there is none
    file = State(path.absolute())

    def work(connection: sqlite3.Connection) -> None:
        consents.remember(connection, Consent.WITHHELD)
        epochs.withhold(connection)
        for room in (transcript, memo, ledger, coins, state):
            room.forget(connection)

    file.run(work)
    file.erase_set_aside(float("inf"))
    file.close()
    return [f"Erased. Nothing is collected until you say so: {command(path)} consent granted", _RID]
