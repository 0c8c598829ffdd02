"""Pad and sample: of a set of items, a device names one that it draws, by a mechanism that asks for one answer.

words:
  slot     one of `items` places; each holds an item of the set, or is empty
  padding  stands for an empty slot: slot i has its own, so that every set fills its slots with different answers
  inner    asks which answer the drawn slot holds: one of the values, or one of the paddings
  raised   an epsilon for the inner mechanism that costs the set no more than epsilon

P(y | set) is the mean of P(y | answer) over the slots. (Qin et al., CCS 2016; Wang, Li, Jha, S&P 2018.)

**Randomized response may do more.** A payload names one answer, and one slot at most holds it: of two sets, one sends
it with (p + (s - 1) q) / s at most, the other with q at least, s being the slots. At e^raised = 1 + s (e^eps - 1) the
ratio of the two is just e^eps. The other mechanisms support several answers at once, as many as there are slots
sometimes: there nothing is gained. Paddings that were all alike would lose it too: an empty set would fill every
slot with the same answer.

An answer of the share f of devices has the chance q + f (p - q) / s to be supported: shares are estimated with
p' = q + (p - q) / s in place of p. A share's variance is s^2 times the inner mechanism's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.epsilon import Epsilon, exp_lower
from deniable.mechanisms._choice import choices, choose
from deniable.mechanisms._sorts import log2
from deniable.mechanisms._support import Supporting
from deniable.mechanisms._wrapper import Wrapper
from deniable.mechanisms.randomized_response import RandomizedResponse
from deniable.payload import Shape
from deniable.randomness import below

__all__ = ["PadAndSample"]

_MOST_RAISED = exp_lower(Fraction(31))


@dataclass(frozen=True, slots=True)
class PadAndSample(Wrapper):
    """Names one of up to `items` of the values."""

    name: ClassVar[str] = "pad_and_sample"

    epsilon: Epsilon
    values: int
    """Items are the integers below this."""
    items: int
    """How many slots there are."""
    sort: str = "auto"
    """The name of the inner mechanism; "auto": the one of the least variance."""
    inner: Supporting = field(init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.items <= self.values:
            raise ValueError(f"of {self.values} values a set has 1 to {self.values}, not {self.items}")
        object.__setattr__(self, "inner", _inner(self.epsilon, self.values, self.items, self.sort))

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """Numbers with a digit a slot, to the base values + 1: the item plus 1, or 0 for an empty slot."""
        return int((self.values + 1) ** self.items)

    @property
    def plain(self) -> bool:
        """A payload is one of the answers where it is one to the inner mechanism."""
        return self.inner.plain

    @property
    def shape(self) -> Shape:
        """The shape of the inner mechanism's payloads."""
        return self.inner.shape

    @property
    def wrapped(self) -> Supporting:
        """The inner one."""
        return self.inner

    @property
    def reported(self) -> tuple[Fraction, Fraction]:
        """Those of the inner mechanism."""
        return self.inner.p, self.inner.q

    def through(self, own: Fraction, other: Fraction) -> tuple[Fraction, Fraction]:
        """An item of the set is in the drawn slot once in as many times as there are slots, another one never."""
        return other + (own - other) / self.items, other

    @property
    def asked(self) -> int:
        """The values, and none of the paddings."""
        return self.values

    @property
    def supported(self) -> int:
        """Of the values no more than the inner mechanism supports."""
        return min(self.inner.supported, self.values)

    @property
    def factor(self) -> Fraction | None:
        """The inner mechanism's."""
        return self.inner.factor

    @property
    def collision(self) -> float:
        """Over the slots, every one of which has another answer. Where the inner mechanism does not say how often it
        sends the same of two answers, at most what it takes to say which payload came."""
        sorts = self.inner.sorts
        if sorts is None:
            return self.shape.bits
        return -log2((sorts.squares + (self.items - 1) * sorts.products) / self.items)

    def encode(self, items: Sequence[int]) -> int:
        """The input of a set: its items, which are in order, in the first slots; `values` itself leaves one empty."""
        base, number = self.values + 1, 1
        for item in ([*items] + [self.values] * self.items)[self.items - 1 :: -1]:
            number = number * base + (item + 1) % base
        return number - self.inputs

    def slots(self, value: int) -> list[int]:
        """What the slots hold; an item that an earlier slot has is padding."""
        digits = self._digits(value)
        return [self._answer(digits, slot) for slot in range(self.items)]

    def randomize(self, value: int) -> int:
        """Whatever the inner mechanism says of the drawn slot."""
        return self.inner.randomize(self._answer(self._digits(value), below(self.items)))

    def _digits(self, value: int) -> list[int]:
        """Of every slot; a further digit makes the numbers equally long for all sets."""
        base, number, digits = self.values + 1, value + self.inputs, []
        for _ in range(self.items):
            number, digit = divmod(number, base)
            digits.append(digit)
        return digits

    def _answer(self, digits: list[int], slot: int) -> int:
        """What a slot holds."""
        digit = digits[slot]
        return (digit - 1, self.values + slot)[(digit == 0) | (digit in digits[:slot])]

    def probability(self, payload: int, value: int) -> Fraction:
        """The mean over the slots."""
        return sum(self.inner.probability(payload, answer) for answer in self.slots(value)) / Fraction(self.items)

    def payloads(self) -> Iterator[int]:
        """The payloads of the inner mechanism."""
        return self.inner.payloads()

    def parameters(self) -> dict[str, int]:
        """The slots, the values, and what defines the inner mechanism."""
        inner = {f"inner_{name}": number for name, number in self.inner.parameters().items()}
        return {"values": self.values, "items": self.items} | inner


def _inner(epsilon: Epsilon, values: int, items: int, sort: str) -> Supporting:
    answers = values + items
    response = RandomizedResponse(_raised(epsilon, items), answers)
    if sort == response.name:
        return response
    if sort == "auto" and response.variance <= choices(epsilon, answers)[0].variance:
        return response
    return choose(epsilon, answers, sort)


def _raised(epsilon: Epsilon, items: int) -> Epsilon:
    if items == 1:
        return epsilon
    return Epsilon.of(f"ln {min(1 + items * (epsilon.exp - 1), _MOST_RAISED)}")
