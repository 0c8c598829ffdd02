"""Everything that can be wrong, by whose turn it is to mend it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BudgetExceededError",
    "CollectionError",
    "DeniableError",
    "InvalidValueError",
    "Problem",
    "StateError",
    "UnknownMetricError",
]


class DeniableError(Exception):
    """The root of all errors of this package."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a collection file."""

    file: str
    """The file, or "<text>"."""
    where: str
    """The key, from the top of the file, such as "metrics.dark_mode.epsilon"; empty for the file as a whole."""
    what: str
    """What is wrong, and what would be right."""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.where, self.what) if part)


class CollectionError(DeniableError, ValueError):
    """A collection file that can not be loaded: every problem that was found in it."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)
        """Every problem that was found, in the order of the file."""


class UnknownMetricError(DeniableError, KeyError):
    """A metric that the collection does not have."""

    def __init__(self, metric: str, nearest: str | None) -> None:
        hint = f"; did you mean {nearest!r}?" if nearest else ""
        self.metric = metric
        self.message = f"the collection has no metric {metric!r}{hint}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class InvalidValueError(DeniableError, ValueError):
    """A value that the metric's kind does not take."""


class BudgetExceededError(DeniableError):
    """The ledger refuses: the answer would cost more than the device may spend."""


class StateError(DeniableError):
    """The device's state file can not be used."""
