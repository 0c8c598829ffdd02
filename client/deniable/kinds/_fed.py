"""Kinds that are fed: nothing is recorded for them, they are answered from what is recorded for other metrics."""

from __future__ import annotations

from typing import Any, ClassVar

from deniable.errors import InvalidValueError
from deniable.kinds._kind import Kind
from deniable.kinds._values import shown

__all__ = ["Fed"]


class Fed(Kind):
    """A kind whose value is those of its sources in one epoch, reduced as each of them says, by their names.

    `sources` is a field of it, which its `read` takes from `section.sources(cls.takes)`. What they mean is in the
    digest beside its own parameters, and so is their order. A source's value is one that its kind takes: a
    quantity may lie beyond its range, as one that is recorded may.
    """

    __slots__ = ()

    reducers: ClassVar[tuple[str, ...]] = ("last",)

    sources: tuple[tuple[str, Kind], ...]
    """The name and the kind of each."""

    @property
    def of(self) -> tuple[str, ...]:
        """The names of its sources."""
        return tuple(name for name, _ in self.sources)

    def check(self, value: Any) -> dict[str, Any]:
        """Takes a value of every source, by its name, as that source takes it."""
        if type(value) is not dict or value.keys() != set(self.of):
            raise InvalidValueError(f"takes a value for each of {', '.join(self.of)}, not {shown(value)}")
        return {name: kind.check(value[name]) for name, kind in self.sources}
