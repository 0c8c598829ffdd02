"""Memoized: an answer is randomised once and remembered, and what is remembered is randomised afresh every time.

words:
  permanent   the first randomisation, a symbol for each input; drawn once and paid for once
  fresh       the second, over the remembered symbol; drawn every time, so that what is sent is no fingerprint

However many reports a device sends, together they tell no more of its answer than what is remembered does: the cost
is the permanent epsilon. One report tells no more of what is remembered than the fresh epsilon. The aggregator sees
one channel, the product of both. (RAPPOR: Erlingsson, Pihur, Korolova, arXiv 1407.6981.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.mechanisms._mechanism import Naming
from deniable.mechanisms._support import Supporting
from deniable.mechanisms._wrapper import Twice
from deniable.mechanisms.randomized_response import RandomizedResponse

__all__ = ["Memoized"]


@dataclass(frozen=True, slots=True)
class Memoized(Twice):
    """Randomized response, remembered, under any mechanism over the same inputs."""

    name: ClassVar[str] = "memoized"

    permanent: RandomizedResponse
    """The first randomisation."""
    fresh: Supporting
    """The second; its inputs are what the first sends."""

    def __post_init__(self) -> None:
        if self.permanent.inputs != self.fresh.inputs:
            raise ValueError(f"{self.permanent.inputs} remembered symbols are not {self.fresh.inputs} inputs")

    @property
    def naming(self) -> Naming | None:
        """As the second names them, through both."""
        named = self.fresh.naming
        return named and Naming(named.answers, *self.through(named.own, named.other))

    @property
    def both(self) -> tuple[Fraction, Fraction]:
        """As the second supports two of its inputs, of which one is remembered, or neither."""
        near, far = self.fresh.both
        p, q = self.permanent.p, self.permanent.q
        return (p + q) * near + (1 - p - q) * far, 2 * q * near + (1 - 2 * q) * far

    def probability(self, payload: int, value: int) -> Fraction:
        """Over all symbols that can be remembered."""
        sent = (self.fresh.probability(payload, symbol) for symbol in range(self.inputs))
        kept = (self.permanent.probability(symbol, value) for symbol in range(self.inputs))
        return sum((a * b for a, b in zip(kept, sent, strict=True)), Fraction(0))

    def parameters(self) -> dict[str, int]:
        """Those of both."""
        first = {f"permanent_{name}": value for name, value in self.permanent.parameters().items()}
        return first | {f"fresh_{name}": value for name, value in self.fresh.parameters().items()}
