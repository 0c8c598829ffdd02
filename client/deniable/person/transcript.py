"""`transcript`: what has left the device, in words, and what someone who saw it could conclude."""

from __future__ import annotations

from textwrap import wrap

from deniable.device.transcript import Entry
from deniable.person.device import Device
from deniable.person.words import counted, plain, spent, when

__all__ = ["EXPLAINED", "FATES", "cost", "lines"]

EXPLAINED = (
    "Every answer was randomised on this device before it left. What stands here is what was sent, not what is true: "
    "that never left."
)
"""What has to be known to read it."""

_WIDTH = 100

FATES = {
    "stored": "stored by the aggregator",
    "sent": "sent; whether it arrived is not known",
    "refused": "sent; the aggregator refused it",
    "given up": "sent; nobody has said that it arrived, and it is not sent again",
}
"""What became of a report, in words."""


def lines(device: Device) -> list[str]:
    """What `transcript` shows."""
    entries = device.entries
    if not entries:
        return ["Nothing has left this device, or what has left was long enough ago to be forgotten here."]
    shown = [EXPLAINED]
    for entry in entries:
        shown += ["", *_entry(device, entry)]
    return [*shown, "", f"{counted(len(entries), 'report')}, the oldest first."]


def _entry(device: Device, entry: Entry) -> list[str]:
    own = device.asked.get(str(entry.collection))
    words = own.questions.get(str(entry.metric), "") if own else ""
    return [
        f"{when(entry.start, entry.seconds)}  {plain(entry.metric)}" + (f": {plain(words)}" if words else ""),
        f"    sent: {plain(entry.answer)} ({FATES.get(entry.fate, plain(entry.fate))}; {cost(entry)})",
        *wrap(plain(entry.conclusion), _WIDTH, initial_indent="    ", subsequent_indent="    "),
    ]


def cost(entry: Entry) -> str:
    """What a report cost, in words."""
    return f"it cost {spent(entry.epsilon, entry.delta)}" if entry.epsilon else "remembered: paid for before"
