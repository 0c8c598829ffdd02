"""Exact channels: every probability of a mechanism as an integer over one denominator.

words:
  whole       the common denominator of a channel's probabilities
  cell        P(payload | input) times the whole
  neighbours  two inputs that are to be confused: any two, unless the mechanism says how far they lie apart
  extremes    for one payload, the least and the greatest cell over inputs that are neighbours

A small mechanism is judged by its own `channel()`, cell by cell. A large one has too many cells for that, but few
different ones; its structure is stated here from nothing but `parameters()`, so that the suite, which compares it
with `probability()`, also proves that the parameters determine the channel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import accumulate
from math import comb, lcm
from typing import Any

from deniable.epsilon import Epsilon
from deniable.mechanisms import (
    Hybrid,
    Laplace,
    Mechanism,
    Memoized,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
)
from deniable.payload import Bitmap

__all__ = [
    "SMALL",
    "WALKED",
    "Channel",
    "Shifted",
    "Whole",
    "detuned",
    "exact_channel",
    "made_channel",
    "payload_count",
    "stated_channel",
]

SMALL = 1 << 12
"""The cells that a channel may have to be judged cell by cell."""
WALKED = 1 << 16
"""The cells that a channel may have which nobody states."""


class Channel(ABC):
    """The probabilities of a mechanism."""

    whole: int

    @abstractmethod
    def cell(self, payload: int, value: int) -> int:
        """P(payload | value)."""

    @abstractmethod
    def extremes(self) -> Iterator[tuple[int, int]]:
        """The least and the greatest cell of every payload over all neighbours (equal pairs once)."""

    @abstractmethod
    def totals(self) -> set[int]:
        """What the cells of an input add up to, for all inputs: the whole, if the channel is one."""

    def keeps(self, ratio: Fraction) -> bool:
        """Whether no payload is likelier for one of two neighbours by more than the ratio."""
        most, least = ratio.numerator, ratio.denominator
        return all(high * least <= low * most for low, high in self.pairs)

    def reaches(self, ratio: Fraction) -> bool:
        """Whether some payload is likelier for one of two neighbours by at least the ratio."""
        most, least = ratio.numerator, ratio.denominator
        return any(high * least >= low * most for low, high in self.pairs)

    @cached_property
    def pairs(self) -> set[tuple[int, int]]:
        """The extremes, each pair once: several claims are about them."""
        return set(self.extremes())


class Whole(Channel):
    """Every cell, as the mechanism itself gives it."""

    def __init__(self, mechanism: Mechanism) -> None:
        rows = mechanism.channel()
        whole = self.whole = lcm(*{cell.denominator for row in rows for cell in row.values()})
        self._rows = [
            {payload: cell.numerator * (whole // cell.denominator) for payload, cell in row.items()} for row in rows
        ]
        self._apart = _apart(mechanism)

    def cell(self, payload: int, value: int) -> int:
        """As it is."""
        return self._rows[value][payload]

    def extremes(self) -> Iterator[tuple[int, int]]:
        """Payload by payload."""
        for column in zip(*(row.values() for row in self._rows), strict=True):
            yield from _windows(column, self._apart + 1)

    def totals(self) -> set[int]:
        """Row by row."""
        return {sum(row.values()) for row in self._rows}


class Supported(Channel):
    """A payload supports an input or does not, and all payloads of one sort are equally likely."""

    def __init__(self, inside: int, supporting: int, others: int, supports: Callable[[int, int], bool]) -> None:
        self.whole = (1 << 64) * supporting * others
        self._own = inside * others
        self._other = ((1 << 64) - inside) * supporting
        self._counts = supporting, others
        self._supports = supports

    def cell(self, payload: int, value: int) -> int:
        """The chance of its sort."""
        return self._own if self._supports(payload, value) else self._other

    def extremes(self) -> Iterator[tuple[int, int]]:
        """The same for every payload that supports some inputs and not others."""
        yield min(self._own, self._other), max(self._own, self._other)

    def totals(self) -> set[int]:
        """The same for every input: both sorts."""
        supporting, others = self._counts
        return {supporting * self._own + others * self._other}


class Shifted(Channel):
    """Noise on a grid: a cell depends on the distance from the input, but at the two ends, which gather the rest and
    divide it in three."""

    ONE = 1 << 256
    WORD = 1 << 64

    def __init__(self, mechanism: Mechanism) -> None:
        numbers = mechanism.parameters()
        self.steps, self.far = numbers["steps"], numbers["far"]
        self._parts = self.WORD - numbers["away"], numbers["away"] - numbers["farther"], numbers["farther"]
        self._apart = _apart(mechanism)
        zero, beyond, one = numbers["zero"], numbers["beyond"], self.ONE
        digits = [numbers[f"digit_{place}"] for place in range(len(numbers) - 6)]
        block = [one - zero]
        for digit in digits:  # doubles: all sizes with this digit 0, then all with it 1
            block = [size * (one - digit) for size in block] + [size * digit for size in block]
        blocks = 1 + (self.steps - 1 >> len(digits))  # as many as hold every distance
        chances = [beyond**often * (one - beyond) * one ** (blocks - 1 - often) for often in range(blocks)]
        side: list[int] = [size * chance for chance in chances for size in block]
        self.noises: int = 2 * one ** (1 + len(digits) + blocks)
        """The denominator of the noise."""
        self.whole = self.noises * self.WORD
        self.size = len(side)
        """The largest noise that is listed."""
        self.noise: list[int] = [*reversed(side), self.noises // one * zero, *side]
        """P(D = d) at place size + d."""
        rest: int = (one - zero) * beyond**blocks * one ** len(digits)
        self._upto: list[int] = list(accumulate(self.noise, initial=rest))[1:]
        self._all = self._upto[-1] + rest

    def cell(self, payload: int, value: int) -> int:
        """The noise that leads there; at the ends a part of all that leads there or beyond."""
        if payload <= 2:
            return self.below(-value) * self._parts[2 - payload]
        if payload >= self.steps + 2:
            return self.above(self.steps - value) * self._parts[payload - self.steps - 2]
        return self.noise[self.size + payload - 2 - value] * self.WORD

    def level(self, payload: int) -> int:
        """What a payload stands for."""
        outer = {0: -self.far - 1, 1: -self.far}
        outer |= {self.steps + 3: self.steps + self.far, self.steps + 4: self.steps + self.far + 1}
        return outer.get(payload, payload - 2)

    def extremes(self) -> Iterator[tuple[int, int]]:
        """Both ends, then every payload between: neighbours see it at distances in a row."""
        ends = [self.below(-value) for value in range(self.steps + 1)]
        ends += [self.above(value) for value in range(self.steps + 1)]
        between = self.noise[self.size - self.steps + 1 : self.size + self.steps]
        for cells, parts in (
            (ends[: self.steps + 1], self._parts),
            (ends[self.steps + 1 :], self._parts),
            (between, (self.WORD,)),
        ):
            for low, high in _windows(cells, self._apart + 1):
                yield from ((low * part, high * part) for part in parts)

    def totals(self) -> set[int]:
        """The same for every input: all noise."""
        return {self._all * self.WORD}

    def below(self, distance: int) -> int:
        """P(D <= distance)."""
        return self._upto[self.size + distance]

    def above(self, distance: int) -> int:
        """P(D >= distance)."""
        return self._all - self._upto[self.size + distance - 1]


class Composed(Channel):
    """Two channels one after the other."""

    def __init__(self, mechanism: Memoized) -> None:
        self._first, self._second = stated_channel(mechanism.permanent), stated_channel(mechanism.fresh)
        self._mechanism = mechanism
        self.whole = self._first.whole * self._second.whole

    def cell(self, payload: int, value: int) -> int:
        """Over all that lies between."""
        between = range(self._mechanism.inputs)
        return sum(self._first.cell(symbol, value) * self._second.cell(payload, symbol) for symbol in between)

    def extremes(self) -> Iterator[tuple[int, int]]:
        """Payload by payload."""
        for payload in self._mechanism.payloads():
            column = [self.cell(payload, value) for value in range(self._mechanism.inputs)]
            yield min(column), max(column)

    def totals(self) -> set[int]:
        """Row by row."""
        inputs, payloads = range(self._mechanism.inputs), list(self._mechanism.payloads())
        return {sum(self.cell(payload, value) for payload in payloads) for value in inputs}


@cache
def exact_channel(mechanism: Mechanism) -> Channel:
    """What is asked of by several claims: whoever has heard the last of them forgets it by `cache_clear`."""
    return made_channel(mechanism)


def made_channel(mechanism: Mechanism) -> Channel:
    """Cell by cell where that is feasible, else by its structure: of numbers of 16,000 bits, dozens of megabytes."""
    small = mechanism.inputs * payload_count(mechanism) <= SMALL
    return _whole(mechanism) if small else stated_channel(mechanism)


def stated_channel(mechanism: Mechanism) -> Channel:
    """The structure of a channel in words that are not the mechanism's; one that stays small needs none."""
    numbers = mechanism.parameters()
    match mechanism:
        case RandomizedResponse():
            truth = (1 << 64) - numbers["lies"]
            return Supported(truth, 1, numbers["inputs"] - 1, lambda payload, value: payload == value)
        case SubsetSelection():
            supporting = comb(numbers["inputs"] - 1, numbers["size"] - 1)
            others = comb(numbers["inputs"] - 1, numbers["size"])
            return Supported(numbers["inside"], supporting, others, lambda payload, value: payload >> value & 1 == 1)
        case ProjectiveGeometryResponse():
            order, dimensions = numbers["order"], numbers["dimensions"]
            supporting = sum(order**degree for degree in range(dimensions - 1))
            others = order ** (dimensions - 1)
            return Supported(numbers["inside"], supporting, others, _on_hyperplane(order, dimensions))
        case Hybrid():
            width, others = numbers["width"], numbers["inputs"] - 1
            return Supported(numbers["inside"], width, others, lambda payload, value: 0 <= payload - value < width)
        case Laplace():
            return Shifted(mechanism)
        case Memoized():
            return Composed(mechanism)
        case _:
            cells = mechanism.inputs * payload_count(mechanism)
            assert cells <= WALKED, (
                f"{mechanism.name} has a channel of {cells:,} chances here, and up to {WALKED:,} are walked: give "
                "its family smaller sizes, or say what the channel looks like, by a case in stated_channel "
                "(tests/privacy/channels.py)"
            )
            return _whole(mechanism)


_whole = cache(Whole)


def payload_count(mechanism: Mechanism) -> int:
    """How many payloads the shape has."""
    shape = mechanism.shape
    if isinstance(shape, Bitmap):
        return 1 << shape.size if shape.weight is None else comb(shape.size, shape.weight)
    return shape.size


def detuned(mechanism: Mechanism, factor: Fraction = Fraction(21, 20)) -> Mechanism:
    """The same mechanism built for another epsilon, with outputs on the same scale: as a mistake would build it."""
    changed: dict[str, Any] = {}
    given = [field.name for field in fields(mechanism) if field.init]  # type: ignore[arg-type]  # all are dataclasses
    for name in given:
        own = getattr(mechanism, name)
        if isinstance(own, Epsilon):
            changed[name] = Epsilon.of(own.value * factor)
        elif isinstance(own, Mechanism):
            changed[name] = detuned(own, factor)
    wrong: Mechanism = replace(mechanism, **changed)  # type: ignore[type-var]
    return wrong


def _apart(mechanism: Mechanism) -> int:
    """How far neighbours lie apart at most."""
    return int(getattr(mechanism, "sensitivity", mechanism.inputs - 1))


def _on_hyperplane(order: int, dimensions: int) -> Callable[[int, int], bool]:
    """Whether the product of two numbered monic polynomials has no x^(t-1)."""

    def polynomial(number: int) -> list[int]:
        coefficients = []  # number(x a + b) = q number(a) + b + 1, number(1) = 0
        while number:
            number, coefficient = divmod(number - 1, order)
            coefficients.append(coefficient)
        return [*coefficients, 1, *[0] * (dimensions - 1 - len(coefficients))]

    def supports(payload: int, value: int) -> bool:
        product = zip(polynomial(value), reversed(polynomial(payload)), strict=True)
        return sum(a * b for a, b in product) % order == 0

    return supports


def _windows(cells: Sequence[int], width: int) -> Iterator[tuple[int, int]]:
    """The least and the greatest of every window: a window is the end of one block and the start of the next."""
    for start in range(0, len(cells) - width + 1, width):
        block, following = cells[start : start + width], cells[start + width : start + 2 * width - 1]
        lows, highs = (list(accumulate(reversed(block), choose))[::-1] for choose in (min, max))
        yield lows[0], highs[0]
        later = zip(accumulate(following, min), accumulate(following, max), strict=True)
        for low, high, (low_after, high_after) in zip(lows[1:], highs[1:], later, strict=False):
            yield min(low, low_after), max(high, high_after)
