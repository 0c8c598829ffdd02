"""Memoized: an answer is randomised once and remembered, and what is remembered is randomised afresh every time.

words:
  permanent   the first randomisation, a symbol for each input; drawn once and paid for once
  fresh       the second, over the remembered symbol; drawn every time, so that what is sent is no fingerprint

However many reports a device sends, together they tell no more of its answer than what is remembered does: the cost
is the permanent epsilon. One report tells no more of what is remembered than the fresh epsilon. The aggregator sees
one channel, the product of both. (RAPPOR: Erlingsson, Pihur, Korolova, arXiv 1407.6981.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms.randomized_response import RandomizedResponse
from deniable.payload import Shape

__all__ = ["Memoized"]


@dataclass(frozen=True, slots=True)
class Memoized(Mechanism):
    """Randomized response, remembered, under any mechanism over the same inputs."""

    name: ClassVar[str] = "memoized"
    tight: ClassVar[bool] = False

    permanent: RandomizedResponse
    """The first randomisation."""
    fresh: Mechanism
    """The second; its inputs are what the first sends."""

    def __post_init__(self) -> None:
        if self.permanent.inputs != self.fresh.inputs:
            raise ValueError(f"{self.permanent.inputs} remembered symbols are not {self.fresh.inputs} inputs")

    @property
    def first(self) -> Mechanism:
        """The permanent one."""
        return self.permanent

    @property
    def epsilon(self) -> Epsilon:  # type: ignore[override]
        """What all reports of one answer together cost."""
        return self.permanent.epsilon

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """As many as both have."""
        return self.permanent.inputs

    @property
    def plain(self) -> bool:
        """Where it is to the second."""
        return self.fresh.plain

    @property
    def shape(self) -> Shape:
        """What the second sends."""
        return self.fresh.shape

    def randomize(self, value: int) -> int:
        """Both, as for an answer that was never given before."""
        return self.renew(self.remember(value))

    def remember(self, value: int) -> int:
        """The symbol that stands for the answer from now on."""
        return self.permanent.randomize(value)

    def renew(self, remembered: int) -> int:
        """A payload for the remembered symbol."""
        return self.fresh.randomize(remembered)

    def through(self, own: Fraction, other: Fraction) -> tuple[Fraction, Fraction]:
        """For an event with one probability for its own symbol and one for all others: the same for its own input.

        p = p1 own + (1 - p1) other, q = q1 own + (1 - q1) other.
        """
        p, q = self.permanent.p, self.permanent.q
        return p * own + (1 - p) * other, q * own + (1 - q) * other

    def probability(self, payload: int, value: int) -> Fraction:
        """Over all symbols that can be remembered."""
        sent = (self.fresh.probability(payload, symbol) for symbol in range(self.inputs))
        kept = (self.permanent.probability(symbol, value) for symbol in range(self.inputs))
        return sum((a * b for a, b in zip(kept, sent, strict=True)), Fraction(0))

    def payloads(self) -> Iterator[int]:
        """What the second can send."""
        return self.fresh.payloads()

    def parameters(self) -> dict[str, int]:
        """Those of both."""
        first = {f"permanent_{name}": value for name, value in self.permanent.parameters().items()}
        return first | {f"fresh_{name}": value for name, value in self.fresh.parameters().items()}
