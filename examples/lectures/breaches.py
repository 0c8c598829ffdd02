"""What happened to data without names, why encryption does not help, and what is nobody's secret.

A name that is left out does not make people many. Zip code, day of birth and sex are one person's in 87% of cases
(Sweeney, 2000); six films and about when they were rated are in 99% (Narayanan and Shmatikov, 2008, where two more
were known wrongly); a table in which each looks like three others still says that somebody of 55 has one of two
diseases; a median of an odd number is somebody's value; and exact tables of the 2010 census gave back nearly half
of the people that they were made of (Abowd and others, at the Census Bureau).

Encryption hides data on their way. Who may open them sees all; and who may only open sums, as with secure
computation, subtracts the sum without you from the sum with you. What noise on the device hides is one person's
part in what comes out, from everybody, whatever they know or will know.

What is true of everybody is nobody's secret: if smoking makes ill, a smoker is known to be at risk, whether or not
they were asked. No system that is of any use can prevent that. What can be had is that it is the same with them and
without them. And who is asked has to be told what that means, and has to say yes first.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import median

import numpy as np

from deniable import Collection, Consent
from deniable.testing import TestClient
from deniable_aggregator.accounting import Spent, belief
from deniable_aggregator.telling.reveals import reveals
from deniable_aggregator.telling.terminal import bar, table

from ._running import run

__all__ = [
    "CENSUS",
    "SHOWS",
    "alone",
    "collected",
    "difference",
    "films",
    "left",
    "main",
    "sentences",
    "smoker",
    "told",
]

SHOWS = ("D12", "D13", "D14")
CENSUS = 308_745_538
"""The people of 2010. (Notes print 308,745,548.)"""
WARD = [("50 to 59", "heart"), ("50 to 59", "heart"), ("50 to 59", "liver"), ("50 to 59", "liver"),
        ("20 to 29", "flu"), ("20 to 29", "lungs"), ("20 to 29", "skin"), ("20 to 29", "heart")]  # fmt: skip
"""A table in which nobody's age is told but by its tens, so that each looks like three others."""
_TEXT = """
[collection]
name = "lecture"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 1.1
[metrics.smokes]
kind = "boolean"
description = "Whether somebody smokes"
epsilon = "ln 3"
"""


def alone(people: int, cells: int) -> float:
    """The part of the people of a place who are the only ones in their cell, if all cells are as likely."""
    return (1 - 1 / cells) ** (people - 1)


@cache
def films(known: int, people: int = 4_000, shown: int = 1_000, seen: int = 40) -> float:
    """The part of people who are the only ones to have seen so many films that somebody knows they have: films of
    very different fame, some 40 a person."""
    generator = np.random.default_rng(1)
    fame = 1 / np.arange(1, shown + 1)
    chances = np.minimum(fame / fame.sum() * seen * 1.3, 0.8)
    table_ = generator.random((people, shown)) < chances
    found = []
    for person in range(300):
        own = np.flatnonzero(table_[person])
        if len(own) >= known:
            picked = generator.choice(own, known, replace=False)
            found.append(int(table_[:, picked].all(axis=1).sum()) == 1)
    return float(np.mean(found))


def left(age: int) -> set[str]:
    """The diseases that somebody of an age can have, by the table."""
    return {disease for ages, disease in WARD if int(ages[:2]) <= age <= int(ages[-2:])}


def difference(bits: list[int], place: int) -> int:
    """What two exact sums say of one person, however they were computed."""
    return sum(bits) - sum(bits[:place] + bits[place + 1 :])


def smoker(devices: int, epsilon: float) -> tuple[float, float]:
    """How far one device's taking part can move what everybody learns of the population, at most; and to what its
    own report moves an even bet on its answer, at most."""
    odds = math.exp(epsilon)
    return (odds + 1) / (odds - 1) / devices, belief(0.5, Spent(epsilon).epsilon).most


def sentences() -> list[str]:
    """What the one question of a collection reveals, in words."""
    return reveals(Collection.loads(_TEXT).metrics["smokes"])


def collected(consent: Consent) -> int:
    """How many reports a device makes in three days that each record an answer."""
    with TestClient(Collection.loads(_TEXT), consent=consent) as client:
        for _ in range(3):
            client.record("smokes", True)
            client.flush()
        return len(client.reports("smokes"))


def told() -> str:
    """The figures, and what a device says."""
    rows = [(f"{known}", f"{films(known):.0%}", bar(films(known), 0, films(known), 0, 1)) for known in (1, 2, 4, 6)]
    ages = [31, 49, 26, 19, 27]
    moved, sure = smoker(10_000, math.log(3))
    counts = [f"{consent.value} {collected(consent)}" for consent in (Consent.GRANTED, Consent.WITHHELD)]
    return "\n".join(
        [
            "7,500 people of a zip code, 365 days, 80 years, 2 sexes:",
            f"{alone(7_500, 365 * 80 * 2):.0%} of them are alone in their cell.",
            "4,000 people, 1,000 films, some 40 seen by each; so many of somebody's films point to them alone:",
            "",
            table(("films known", "alone", "0% to 100%"), rows, (True, True, False)),
            "",
            f"Somebody is 55, and in a table where each looks like three others: {' or '.join(sorted(left(55)))}.",
            f"The median of {', '.join(map(str, ages))} is {median(ages)}: somebody's own age.",
            f"The 2010 census: {CENSUS:,} people; given back exactly {0.46 * CENSUS / 1e6:.0f} million (46%),",
            f"to a year of age {0.71 * CENSUS / 1e6:.0f} million (71%).",
            "Of the names that were guessed for them 38% were right.",
            "",
            "Four people sum up exactly, by the best encryption, with somebody and without:",
            f"{difference([1, 0, 1, 1], 2)} more, so they have it.",
            "",
            f"10,000 devices at ln 3: whether one takes part moves what is learned of all by {moved:.4f} at most,",
            f"and its own report moves an even bet on its answer to {sure:.0%} at most.",
            "",
            "What it is told:",
            *(f"- {sentence}" for sentence in sentences()),
            f"Reports of three days, by its consent: {', '.join(counts)}.",
        ]
    )


def main(arguments: list[str]) -> int:
    """Print it."""
    return run(arguments, told)
