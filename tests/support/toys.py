"""Two kinds of these tests alone: one is fed from two metrics, one names a file beside the collection."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest import mock

from deniable._section import Section
from deniable.epsilon import Epsilon
from deniable.errors import InvalidValueError
from deniable.kinds import KINDS, Boolean, Category, Fed, Kind
from deniable.mechanisms import Mechanism, Memoized, RandomizedResponse

__all__ = ["TOYS", "Listed", "Pair", "known"]


@dataclass(frozen=True, slots=True)
class Pair(Fed):
    """What two metrics say together, by randomized response over all pairs of their values."""

    name: ClassVar[str] = "pair"
    mechanisms: ClassVar[tuple[str, ...]] = (RandomizedResponse.name,)
    takes: ClassVar[tuple[str, ...]] = ("boolean", "category")

    sources: tuple[tuple[str, Kind], ...]

    @classmethod
    def read(cls, section: Section) -> Pair | None:
        """Reads `of`."""
        sources = section.sources(cls.takes)
        if sources is not None and len(sources) != 2:
            section.wrong("of", f"takes two metrics, not {len(sources)}")
        return cls(tuple(sources.items())) if sources is not None and len(sources) == 2 else None

    def parameters(self) -> dict[str, Any]:
        """None of its own."""
        return {}

    @property
    def pairs(self) -> list[dict[str, Any]]:
        """Every value, the first source's most significant."""
        values = ((False, True) if isinstance(kind, Boolean) else kind.names(0) for _, kind in self.sources)
        return [dict(zip(self.of, pair, strict=True)) for pair in itertools.product(*values)]

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:  # noqa: ARG002
        """One: the place of the pair."""
        return (RandomizedResponse(epsilon, len(self.pairs)),)

    def memoized(self, epsilon: Epsilon, fresh: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:  # noqa: ARG002
        """Randomized response twice."""
        pairs = len(self.pairs)
        return (Memoized(RandomizedResponse(epsilon, pairs), RandomizedResponse(fresh, pairs)),)

    def apart(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Any two pairs."""
        return self.pairs[0], self.pairs[-1]

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:  # noqa: ARG002
        """The place of the pair."""
        return 0, self.pairs.index(value)


@dataclass(frozen=True, slots=True)
class Listed(Kind):
    """One of the lines of a file."""

    name: ClassVar[str] = "listed"
    reducers: ClassVar[tuple[str, ...]] = Category.reducers
    mechanisms: ClassVar[tuple[str, ...]] = (RandomizedResponse.name,)

    lines: tuple[str, ...]

    @classmethod
    def read(cls, section: Section) -> Listed | None:
        """Reads the file that `lines` names: no line is empty, none is there twice."""
        file = section.file("lines")
        if file is None:
            return None
        lines = file.text.removesuffix("\n").split("\n")
        wrong = False
        for number, line in enumerate(lines, 1):
            if not line or line in lines[: number - 1]:
                section.wrong("lines", "is there twice" if line else "is empty", file.at(number))
                wrong = True
        return None if wrong else cls(tuple(lines))

    def parameters(self) -> dict[str, Any]:
        """The lines, in their order."""
        return {"lines": list(self.lines)}

    def columns(self, epsilon: Epsilon, mechanism: str) -> tuple[Mechanism, ...]:  # noqa: ARG002
        """One: the number of the line."""
        return (RandomizedResponse(epsilon, len(self.lines)),)

    def check(self, value: Any) -> str:
        """Takes one of the lines."""
        if type(value) is not str or value not in self.lines:
            raise InvalidValueError("takes a line of its file")
        return value

    def apart(self) -> tuple[str, str]:
        """Any two lines."""
        return self.lines[0], self.lines[-1]

    def encode(self, value: Any, columns: Sequence[Mechanism], draw: Callable[[], int]) -> tuple[int, int]:  # noqa: ARG002
        """The number of the line."""
        return 0, self.lines.index(value)


TOYS: dict[str, type[Kind]] = {kind.name: kind for kind in (Pair, Listed)}
"""By the name that a collection file uses, as `KINDS` has the others."""


@contextlib.contextmanager
def known() -> Iterator[None]:
    """Collections can ask for these kinds."""
    with mock.patch.dict(KINDS, TOYS):
        yield
