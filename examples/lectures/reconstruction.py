"""Enough sums give the table back, unless what is summed was randomised first.

Somebody answers questions such as "how many of these people have it?", each with a small error. Dinur and Nissim
(PODS 2003) showed that n log(n)^2 such answers give nearly the whole table back, even where each is off by a part
of sqrt(n): a fit of least squares does it here. Where each device has randomised its own bit before anything was
summed, an attacker may know all sums, and all reports: the most that can be got right of every bit is what one report
tells, e^epsilon / (1 + e^epsilon), three in four at ln 3. More questions do not help: there is nothing else to find.

Exact answers about few people are the same thing in the small: each leaves fewer tables that it could be about. A
mean of five ages, of the two men and of the three women leave thousands; a median, a least and a greatest, nine.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Epsilon
from deniable.mechanisms import RandomizedResponse
from deniable_aggregator.planning import twins
from deniable_aggregator.telling.terminal import bar, table

from ._drawing import Axis, Curve, curves
from ._running import run

__all__ = [
    "AGES",
    "PEOPLE",
    "QUESTIONS",
    "SHOWS",
    "Attack",
    "ages",
    "attacks",
    "best",
    "drawn",
    "main",
    "recovered",
    "told",
]

SHOWS = ("B15", "B16")
PEOPLE = 128
"""How many have a bit."""
MECHANISM = RandomizedResponse(Epsilon.of("ln 3"), 2)
AGES = {"women": (31, 26, 27), "men": (49, 19)}
"""The small table of the notes."""
_OLDEST, _TABLES, _LITTLE = 115, 8, 1e-6
QUESTIONS = (16, 64, 256, 1_024, 3_072)
"""So many are asked: the last is n log(n)^2."""
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


def recovered(questions: int, error: float, seed: int, randomised: bool = False) -> float:
    """Which part of the people's bits an attacker gets right who asks for sums over random sets of them, each of
    which is off by up to so much: by the numbers that fit best (least squares, as far as errors let it), rounded."""
    generator = np.random.default_rng(seed)
    bits = generator.integers(2, size=PEOPLE)
    said: _Floats = bits.astype(np.float64)
    if randomised:
        p, q = float(MECHANISM.p), float(MECHANISM.q)
        said = (twins.draw(MECHANISM, bits, generator).astype(np.float64) - q) / (p - q)
    asked = generator.integers(2, size=(questions, PEOPLE)).astype(np.float64)
    sums = asked @ said + generator.uniform(-error, error, questions)
    known = asked.T @ asked + (4 * error**2 / 3 + _LITTLE) * np.eye(PEOPLE)
    guess = 0.5 + np.linalg.solve(known, asked.T @ (sums - asked.sum(axis=1) / 2))
    return float(((guess > 0.5) == bits).mean())


def best(share: float) -> float:
    """The most that anybody gets right of a bit who sees its report, and all other reports, where so many have it:
    for each report the likelier bit. (By the channel; the reports of others say nothing of it.)"""
    chances = [{0: 1 - share, 1: share}[bit] for bit in (0, 1)]
    rows = MECHANISM.channel()
    return float(sum(max(chances[bit] * float(rows[bit][report]) for bit in (0, 1)) for report in rows[0]))


class Attack(NamedTuple):
    """What is got right of sums that are off by so much."""

    name: str
    """What is summed, and how far off."""
    right: tuple[float, ...]
    """The part of the people, for every number of questions."""


@cache
def attacks() -> tuple[Attack, ...]:
    """Of sums that are off by little, by a quarter of sqrt(n) and by four times it, and of sums of reports, to which
    nothing is added."""
    root = PEOPLE**0.5
    how = {
        "off by 1": (1.0, False),
        f"off by sqrt(n) / 4 = {root / 4:.1f}": (root / 4, False),
        f"off by 4 sqrt(n) = {4 * root:.0f}": (4 * root, False),
        "of randomised bits, ln 3": (0.0, True),
    }
    return tuple(Attack(name, tuple(_average(number, *which) for number in QUESTIONS)) for name, which in how.items())


def _average(questions: int, error: float, randomised: bool) -> float:
    return float(np.mean([recovered(questions, error, seed, randomised) for seed in range(_TABLES)]))


def _adding_up(total: int, number: int, least: int = 0) -> list[list[int]]:
    """All lists of so many ages, from the youngest on, that add up to so much."""
    if number == 1:
        return [[total]] if least <= total <= _OLDEST else []
    return [
        [own, *more] for own in range(least, total // number + 1) for more in _adding_up(total - own, number - 1, own)
    ]


def ages() -> list[tuple[str, int]]:
    """How many tables of three women and two men there can be, after each release about the small one: its means are
    told, then the median of all, the least and the greatest."""
    women, men = (np.array(own) for own in AGES.values())
    everybody = np.concatenate([women, men])
    pairs = _adding_up(men.sum(), 2)
    left = np.array([[*own, *two] for own in _adding_up(women.sum(), 3) for two in pairs])
    told_ = [(f"means: all {everybody.mean():g}, men {men.mean():g}, women {women.mean():g}", len(left))]
    for name, release in (("median", np.median), ("least", np.min), ("greatest", np.max)):
        value = release(everybody)
        left = left[release(left, axis=1) == value]
        told_.append((f"and the {name} of all: {value:g}", len(left)))
    return told_


def told() -> str:
    """What is got right, and how many tables are left."""
    rows = [
        (attack.name, *(f"{part:.0%}" for part in attack.right), bar(attack.right[-1], 0.5, attack.right[-1], 0.5, 1))
        for attack in attacks()
    ]
    header = ("sums", *(f"{number:,}" for number in QUESTIONS), "50% to 100%")
    tables = [(name, f"{number:,}") for name, number in ages()]
    return "\n".join(
        [
            f"{PEOPLE} people, of whom half have it. An attacker asks for sums over random halves of them. What part",
            "of the people is got right, where half is no better than a coin:",
            "",
            table(header, rows, (False, *[True] * len(QUESTIONS), False)),
            "",
            f"From all reports nobody gets more right than {best(0.5):.0%} on average, where half have it. Where one",
            f"in ten has it, {best(0.1):.0%}: as much as 'nobody has it' gets right without any report.",
            "",
            "Five people, women of 31, 26 and 27, men of 49 and 19. The tables of ages that there can be:",
            "",
            table(("after the exact", "tables"), tables, (False, True)),
        ]
    )


def drawn() -> str:
    """The part that is got right, against the number of questions."""
    lines = [Curve(attack.name, list(zip(QUESTIONS, attack.right, strict=True))) for attack in attacks()]
    return curves(
        "What is got right of everybody's bit",
        Axis("sums that are asked for", QUESTIONS, powers=True),
        Axis("right", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), percent=True),
        lines,
    )


def main(arguments: list[str]) -> int:
    """Print it, or draw it."""
    return run(arguments, told, drawn)
