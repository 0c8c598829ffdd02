"""`ledger`: what the answers of this device have cost, beside what they were allowed to cost."""

from __future__ import annotations

import math

from deniable.device.asked import Asked
from deniable.person.device import Device, Question
from deniable.person.words import laid_out, plain, spent, when

__all__ = ["EXPLAINED", "budgets", "lines", "paid", "total"]

EXPLAINED = (
    "Told at most: how sure somebody can be who has seen everything that this device ever sent about a question, "
    "knows that it is from this device, and held its answer to be an even bet (1 in 2) before. Reports carry no "
    "name. Where several questions are about the same thing, what they cost adds up."
)
"""What the last column means."""


def lines(device: Device) -> list[str]:
    """What `ledger` shows."""
    if not device.questions:
        return ["This device has answered nothing, and spent nothing."]
    rows = [
        (
            f"{plain(own.collection, 60)}: {plain(own.metric, 60)}",
            own.answered,
            f"{paid(own):,}",
            f"{own.epsilon:.6g}",
            own.telling,
        )
        for own in device.questions
    ]
    header = ("question", "answers", "paid for", "epsilon", "told at most")
    table = laid_out(header, rows, (False, True, True, True, False))
    asked = [f"{plain(own.metric, 60)}: {plain(own.words)}" for own in device.questions if own.words]
    return [*table, "", *asked, "", EXPLAINED, "", f"{total(device)}", *budgets(device)]


def paid(question: Question) -> int:
    """For how many answers something was paid, of those that have a line; the others were remembered."""
    return sum(charge.start > 0 and charge.epsilon > 0 for charge in question.charges)


def total(device: Device) -> str:
    """What was spent on all questions."""
    epsilon = math.fsum(own.epsilon for own in device.questions)
    delta = math.fsum(own.delta for own in device.questions)
    and_delta = f", and delta {delta:.6g}," if delta else ""
    return f"This device has spent {epsilon:.6g}{and_delta} in all."


def budgets(device: Device) -> list[str]:
    """What each collection allows, beside what counts against it: one sentence each."""
    told = []
    for name, asked in sorted(device.asked.items()):
        who = f"{plain(name, 60)} (asked by {plain(asked.owner, 200)})"
        told += [f"{who}: {sentence}" for sentence in (_epoch(device, asked), _lifetime(device, asked)) if sentence]
        if asked.sample < 1:
            told.append(f"{who}: this device is asked about {asked.sample:.4g} of the time, by a coin of its own.")
    return told


def _epoch(device: Device, asked: Asked) -> str:
    last = device.last
    if last is None:
        return ""
    epsilon, delta = device.taken.told()
    most = spent(asked.epoch, asked.epoch_delta if delta else 0.0)
    return f"at one time it may spend {most}; {when(last.start, last.seconds)} took {spent(epsilon, delta)}."


def _lifetime(device: Device, asked: Asked) -> str:
    """What the budget of a lifetime holds, which counts what is remembered before it is answered."""
    epsilon, delta = device.reserved.told()
    most = "without a limit" if asked.lifetime is None else f"up to {spent(asked.lifetime)}"
    told = f"in all it may spend {most}; {spent(epsilon)} counts against that."
    if delta:
        told += f" Of delta it may spend {asked.lifetime_delta:.3g}; {delta:.3g} counts."
    ahead = epsilon > math.fsum(own.epsilon for own in device.questions)
    return f"{told} What is remembered counts in advance." if ahead else told
