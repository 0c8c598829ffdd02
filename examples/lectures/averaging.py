"""The same question every day: noise that is drawn anew averages away, and a lie that is remembered does not.

Ten yeses in a row make somebody nearly certain who began at 2%, if each had coins of its own. So a device remembers
what it has said, and says it again: ten reports tell what one does, and cost what one does. When the truth changes,
the other value has a lie of its own, and is paid for once, too. What is shown is what a device of the SDK does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

from deniable import Collection
from deniable.testing import TestClient
from deniable_aggregator.accounting import belief
from deniable_aggregator.telling.terminal import bar, table

from ._drawing import Axis, Curve, curves
from ._running import run

__all__ = ["SHOWS", "Days", "days", "main", "surely"]

SHOWS: tuple[str, ...] = ("B10", "B11")
_ASKED = """
[collection]
name = "lecture"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 2.0
[metrics.cheated]
kind = "boolean"
description = "Whether somebody has cheated on their tax"
epsilon = "ln 3"
"""
_REMEMBERED = 'memoize = true\ninstantaneous_epsilon = "linkable"\n'
DAYS = (1, 2, 5, 10)


class Days(NamedTuple):
    """What a device has sent and spent, day after day."""

    sent: list[int]
    """Every answer."""
    spent: float
    """All of epsilon in its ledger."""


def days(truth: Sequence[bool], *, remembered: bool) -> Days:
    """A device of the SDK lives through so many days."""
    with TestClient(Collection.loads(_ASKED + _REMEMBERED * remembered)) as client:
        for value in truth:
            client.record("cheated", value)
            client.flush()
        sent = [report.payload for report in client.reports("cheated")]
        return Days(sent, sum(float(charge.epsilon) for charge in client.ledger()))


def surely(answers: int, prior: float = 0.02) -> float:
    """What a chance becomes by so many yeses, each with coins of its own."""
    return belief(prior, answers * log(3)).most


def told() -> str:
    """How sure somebody is after some days, and what a real device has spent in ten."""
    rows = [
        (f"{number}", f"{surely(number):.4f}", bar(surely(number), 0.02, surely(number), 0, 1), f"{surely(1):.4f}")
        for number in DAYS
    ]
    cases = (
        ("fresh noise, one truth", days([True] * 10, remembered=False)),
        ("remembered, one truth", days([True] * 10, remembered=True)),
        ("remembered, the truth changes and back", days([True, False] * 5, remembered=True)),
    )
    spent = [
        (what, f"{len(found.sent)}", f"{found.spent:.4f}", f"{found.spent / log(3):.0f}") for what, found in cases
    ]
    return "\n".join(
        [
            table(("yeses", "fresh noise", f"{'0%':<20}100%", "remembered"), rows, (True, True, False, True)),
            "",
            table(("a device", "reports", "spent", "times ln 3"), spent, (False, True, True, True)),
        ]
    )


def drawn() -> str:
    """How sure somebody is, by the number of reports."""
    numbers = range(1, 13)
    lines = [
        Curve("fresh noise, and always a yes", [(number, surely(number)) for number in numbers]),
        Curve("the same lie every time", [(number, surely(1)) for number in numbers]),
    ]
    across, up = Axis("reports", [1, 2, 4, 6, 8, 10, 12]), Axis("believed", [0, 0.2, 0.4, 0.6, 0.8, 1], percent=True)
    return curves("What a chance of 2% becomes, day after day, at epsilon ln 3", across, up, lines)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
