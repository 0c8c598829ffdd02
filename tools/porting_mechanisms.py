"""Vectors of mechanisms: parameters, an input and words make a payload; and those of the draws that all share.

words:
  subject  one mechanism with its parameters: that of a column of a collection
  case     an input, the words that were taken, what was drawn, and the payload
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tools.porting_words import Noted, Stream, hexes, noted, pool

from deniable import Collection, randomness
from deniable.collection import Column
from deniable.mechanisms import MECHANISMS, Mechanism
from deniable.mechanisms._entries import pack
from deniable.payload import Codeword, Integers

__all__ = ["CASE", "draws", "mechanisms", "numbers", "shape"]

CASE = ("subject", "input", "remembered", "payload", "words", "drawn", "discarded")
"""What stands at which place of a case."""
_MANY, _SOME = 1000, 60
"""Cases of the subject that takes the fewest words, and of each other one."""


def mechanisms(collections: Iterable[Collection]) -> Iterator[dict[str, Any]]:
    """A file for each registered mechanism."""
    subjects: dict[str, dict[Mechanism, tuple[Collection, Column]]] = {name: {} for name in MECHANISMS}
    for collection in collections:
        for column in collection.columns:
            subjects[column.mechanism.name].setdefault(column.mechanism, (collection, column))
    for name, own in subjects.items():
        with noted(Stream(f"mechanism {name}")) as notes:
            yield _file(name, list(own.values()), notes)


def _file(name: str, subjects: list[tuple[Collection, Column]], notes: Noted) -> dict[str, Any]:
    taken = [_words(column.mechanism, notes) for _, column in subjects]
    cases = [
        _case(place, column.mechanism, number, notes)
        for place, (_, column) in enumerate(subjects)
        for number in range(_MANY if place == taken.index(min(taken)) else max(_SOME // (1 + taken[place] // 20), 6))
    ]
    return {
        "mechanism": name,
        "subjects": [
            {
                "collection": collection.name,
                "metric": column.metric,
                "column": column.number,
                "shape": shape(column),
                "parameters": numbers(column.mechanism.parameters()),
            }
            for collection, column in subjects
        ],
        "case": list(CASE),
        "cases": cases,
    }


def _words(mechanism: Mechanism, notes: Noted) -> int:
    """How many words it takes, about."""
    notes.begin(())
    mechanism.randomize(_input(mechanism, 0, notes.stream))
    return len(notes.taken)


def _case(subject: int, mechanism: Mechanism, number: int, notes: Noted) -> list[Any]:
    value = _input(mechanism, number, notes.stream)
    notes.begin(pool(mechanism, value))
    if mechanism.first is mechanism:
        remembered, payload = "", mechanism.randomize(value)
    else:
        kept = mechanism.remember(value)
        remembered, payload = f"{kept:x}", mechanism.renew(kept)
    drawn = " ".join(f"{each:x}" for each in notes.drawn)
    return [subject, f"{value:x}", remembered, f"{payload:x}", hexes(notes.taken), drawn, notes.discarded]


def _input(mechanism: Mechanism, number: int, stream: Stream) -> int:
    """The first and the last, then any; of vectors the longest on the first axis both ways, none, then any."""
    if not isinstance(mechanism.shape, Integers | Codeword):
        ends = (0, mechanism.inputs - 1)
        return ends[number] if number < len(ends) else stream.below(mechanism.inputs)
    bound, size = mechanism.parameters()["bound"], mechanism.parameters()["dimensions"]
    if number < 3:
        return pack([(bound, -bound, 0)[number], *[0] * (size - 1)])
    reach = bound // size
    return pack([stream.below(2 * reach + 1) - reach for _ in range(size)])


def shape(column: Column) -> dict[str, Any]:
    """The shape of a column's payloads."""
    own = column.shape
    told = {name: getattr(own, name) for name in own.__slots__}
    return {"name": type(own).__name__.lower(), **told, "wide": own.wide, "counters": own.counters}


def numbers(parameters: dict[str, int]) -> dict[str, str]:
    """Parameters as texts: many a language reads a number of JSON as a double."""
    return {name: str(number) for name, number in parameters.items()}


def draws() -> dict[str, Any]:
    """What the draws that all mechanisms share make of words."""
    stream = Stream("draws")
    limits = [
        1,
        2,
        3,
        7,
        12,
        48,
        1000,
        (1 << 32) + 1,
        (1 << 63) + 1,
        (1 << 64) - 1,
        1 << 64,
        (1 << 64) + 1,
        1 << 70,
        3**60,
    ]
    thresholds = [0, 1, 1 << 63, 13835058055282163712, (1 << 64) - 1, 1 << 64]
    fine = [0, 1, (1 << 192) - 1, 1 << 192, 7**80, 3**161, (1 << 256) - 1, 1 << 256]
    below, coins, tosses, orders = [], [], [], []
    with noted(stream) as notes:
        for limit in limits:
            for _ in range(12):
                notes.begin(())
                below.append([str(limit), str(notes.below(limit)), hexes(notes.taken)])
        for threshold in thresholds:
            for _ in range(8):
                notes.begin(())
                coins.append([str(threshold), int(notes.coin(threshold)), hexes(notes.taken)])
        for threshold in fine:
            for _ in range(12):
                notes.begin(())
                tosses.append([str(threshold), int(notes.toss(randomness.FineCoin(threshold))), hexes(notes.taken)])
        for size in (0, 1, 2, 3, 10, 40):
            for _ in range(4):
                notes.begin(())
                order = list(range(size))
                randomness.shuffle(order)
                orders.append([size, order, hexes(notes.taken)])
    return {"below": below, "coin": coins, "fine_coin": tosses, "shuffle": orders}
