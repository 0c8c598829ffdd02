"""`consent`: what the person has said, what that means, and how to say something else."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from deniable.device import consent as consents
from deniable.device import epochs
from deniable.device.consent import Consent
from deniable.device.state import State
from deniable.person.device import Device, look

__all__ = ["CHOICES", "change", "lines"]

CHOICES = {
    Consent.GRANTED: "answers are collected, randomised and sent.",
    Consent.PAUSED: "answers are collected and wait on this device; nothing is sent.",
    Consent.WITHHELD: "nothing is collected and nothing is sent; what was not sent is erased.",
}
"""What a word means."""

_NO = (
    "An application that runs goes by it as soon as it writes what it records, within a second; a report that is on "
    "its way at this moment may still arrive. What was spent and remembered is kept, so that coming back does not "
    "mean telling it all again: `forget` erases that, too."
)
_YES = (
    "An application that runs notices at the latest when it starts again. One that has been told a stricter word by "
    "its own settings goes by that."
)


def lines(device: Device) -> list[str]:
    """What `consent` shows."""
    if device.consent is None:
        return ["You have said nothing here yet: the application goes by what it has asked you itself."]
    shown = [f"You have said {device.consent.value}: {CHOICES[device.consent]}"]
    if device.lost:
        shown.append(
            "What an older state file knew was lost: until you say something again, that counts as withheld."
        )
    return shown


def change(path: Path, consent: Consent) -> list[str]:
    """Say something else, for every application that has the file; what `consent WORD` shows."""
    look(path)  # refuses what is not ours, and begins no file where there is none
    state = State(path.absolute())

    def work(connection: sqlite3.Connection) -> None:
        consents.remember(connection, consent)
        if consent is Consent.WITHHELD:
            epochs.withhold(connection)

    state.run(work)
    if consent is Consent.WITHHELD:
        state.erase_set_aside(float("inf"))
    state.close()
    follows = _NO if consent is Consent.WITHHELD else _YES
    return [f"You have said {consent.value}: {CHOICES[consent]}", follows]
