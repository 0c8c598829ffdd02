"""Memoized subset: a subset of the answers is drawn once and remembered, and one answer is named afresh every time.

words:
  permanent   the first randomisation, a subset of the answers (of a set: of the drawn slot's); paid for once
  remembered  that subset; one answer alone where the permanent mechanism names just one
  told        the most that one report tells of what is remembered
  inside      the threshold of naming an answer of the remembered subset: P = inside / 2^64, each of them alike

What is remembered may be one of 10^11 subsets of 48 answers, and is as accurate as subset selection is; what is sent
is one of 48 answers, nearly alike for all subsets. An answer is named with `high` where it is in the subset and with
`low` where it is not, high / low <= e^told. However many reports a device sends, together they tell no more of its
answer than the subset does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from deniable.epsilon import Epsilon
from deniable.mechanisms._mechanism import Mechanism, Naming
from deniable.mechanisms._sorts import Sorts
from deniable.mechanisms._support import inside_threshold
from deniable.mechanisms._wrapper import Memory
from deniable.mechanisms.pad_and_sample import PadAndSample
from deniable.mechanisms.subset_selection import SubsetSelection
from deniable.payload import Bitmap, Symbol
from deniable.randomness import WORD, below, coin

__all__ = ["MemoizedSubset"]


@dataclass(frozen=True, slots=True)
class MemoizedSubset(Memory):
    """Names one answer, those of a remembered subset more often than others."""

    name: ClassVar[str] = "memoized_subset"

    permanent: SubsetSelection | PadAndSample
    """The first randomisation."""
    told: Epsilon
    """For the second."""
    inside: int = field(init=False)
    """The threshold of naming an answer of the remembered subset."""

    def __post_init__(self) -> None:
        _ = self._naming  # checks that there is a subset to remember
        object.__setattr__(self, "inside", inside_threshold(self.told, self.size, self.answers))

    @property
    def _inner(self) -> Mechanism:
        """What draws the subset."""
        return self.permanent.wrapped or self.permanent

    @property
    def _naming(self) -> Naming:
        """How it names the subset."""
        if self._inner.naming is None:
            raise ValueError(f"{self._inner.name} remembers no subset of its {self._inner.inputs} answers")
        return self._inner.naming

    @property
    def answers(self) -> int:
        """How many can be named."""
        return self._inner.inputs

    @property
    def size(self) -> int:
        """How many are remembered."""
        return self._inner.supported

    @property
    def instantaneous(self) -> Epsilon:
        """What is told of the subset."""
        return self.told

    @property
    def plain(self) -> bool:
        """A payload is an answer."""
        return True

    @property
    def both(self) -> tuple[Fraction, Fraction]:
        """Never: one answer is named."""
        return Fraction(0), Fraction(0)

    @property
    def naming(self) -> Naming | None:
        """One answer; of a set's, which stand for items that are drawn, nothing is said."""
        return Naming(1, self.p, self.q) if self.permanent.naming else None

    @property
    def sorts(self) -> Sorts:
        """The answers of the subset, and the others."""
        return Sorts(self.high * self.size, self.size, self.answers)

    @property
    def shape(self) -> Symbol:
        """One symbol an answer."""
        return Symbol(self.answers)

    @property
    def high(self) -> Fraction:
        """The chance of an answer that is remembered."""
        return Fraction(self.inside, WORD * self.size)

    @property
    def low(self) -> Fraction:
        """The chance of another one."""
        return Fraction(WORD - self.inside, WORD * (self.answers - self.size))

    @property
    def reported(self) -> tuple[Fraction, Fraction]:
        """For an answer that is remembered, and for another one."""
        return self.high, self.low

    def renew(self, remembered: int) -> int:
        """An answer of the subset, or another one: both are always drawn, and all answers put in order."""
        own, other = below(self.size), self.size + below(self.answers - self.size)
        digits = format(self.subset(remembered), f"0{self.answers}b")
        ordered = sorted(range(self.answers), key=digits[::-1].__getitem__, reverse=True)
        return ordered[(other, own)[coin(self.inside)]]

    def renewed(self, payload: int, remembered: int) -> Fraction:
        """By whether the answer is in the subset."""
        return self.high if self.subset(remembered) >> payload & 1 else self.low

    def likeness(self, value: int) -> int:
        """The subset of the answer (of a set: of its first slot) and those that come after it."""
        answer = self.permanent.slots(value)[0]
        return self.remembered((answer + further) % self.answers for further in range(self.size))

    def remembered(self, subset: Iterable[int]) -> int:
        """Some answers, as they are remembered."""
        bits = sum(1 << answer for answer in subset)
        return bits if isinstance(self._inner.shape, Bitmap) else bits.bit_length() - 1

    def subset(self, remembered: int) -> int:
        """What is remembered, as a bitmap."""
        return remembered if isinstance(self._inner.shape, Bitmap) else 1 << remembered

    @property
    def own(self) -> Fraction:
        """The chance that the own answer (of a set: that of the drawn slot) is named."""
        return self._named(self._naming.own)

    def _named(self, remembered: Fraction) -> Fraction:
        """The chance that an answer is named which is remembered with a chance."""
        return self.low + (self.high - self.low) * remembered

    def probability(self, payload: int, value: int) -> Fraction:
        """By the chance that the answer is remembered: over the slots of a set, of which each is as likely."""
        slots = self.permanent.slots(value)
        return _chance(self, slots.count(payload), len(slots))

    def payloads(self) -> Iterator[int]:
        """All answers."""
        return iter(range(self.answers))

    def parameters(self) -> dict[str, int]:
        """Those of the first, and the threshold of the second."""
        return {f"permanent_{name}": value for name, value in self.permanent.parameters().items()} | {
            "inside": self.inside
        }


@lru_cache(maxsize=256)
def _chance(mechanism: MemoizedSubset, own: int, slots: int) -> Fraction:
    """Of an answer that is in so many of the slots: of all payloads and values there are few such numbers."""
    named = mechanism._naming  # noqa: SLF001
    return mechanism._named((own * named.own + (slots - own) * named.other) / slots)  # noqa: SLF001
