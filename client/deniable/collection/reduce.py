"""Reducers: how several values of one epoch become the one that is answered.

words:
  state   what has been recorded of one metric in one epoch so far; JSON, and no longer than it must be
  merge   adds a later state to an earlier one, so that processes that share a file can record independently
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deniable.randomness import below

__all__ = ["REDUCERS", "Reducer"]


@dataclass(frozen=True, slots=True)
class Reducer:
    """One way to reduce an epoch's values."""

    name: str
    start: Callable[[Any], Any]
    """The state of one value."""
    merge: Callable[[Any, Any], Any]
    """The state of an earlier and a later state."""
    finish: Callable[[Any], Any]
    """The one value that is answered."""

    def after(self, check: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The state of one value that is checked first; most reducers keep that as it is, which costs no call."""
        start = self.start
        return check if start is _itself else lambda value: start(check(value))


def _itself(value: Any) -> Any:
    return value


def _later(_: Any, later: Any) -> Any:
    return later


def _either(earlier: Any, later: Any) -> Any:
    """For truth values, or; for sets of names, their union."""
    if isinstance(earlier, bool):
        return earlier or later
    return sorted({*earlier, *later})


def _both(earlier: Any, later: Any) -> Any:
    """For truth values, and; for sets of names, what they share."""
    if isinstance(earlier, bool):
        return earlier and later
    return sorted({*earlier} & {*later})


def _added(earlier: Any, later: Any) -> Any:
    return [a + b for a, b in zip(earlier, later, strict=True)]


def _sampled(earlier: Any, later: Any) -> Any:
    """Every value recorded is kept with the same chance."""
    count = earlier[0] + later[0]
    return [count, earlier[1] if below(count) < earlier[0] else later[1]]


REDUCERS: dict[str, Reducer] = {
    reducer.name: reducer
    for reducer in (
        Reducer("last", _itself, _later, _itself),
        Reducer("any", _itself, _either, _itself),
        Reducer("all", _itself, _both, _itself),
        Reducer("sum", _itself, lambda earlier, later: earlier + later, _itself),
        Reducer("mean", lambda value: [1, value], _added, lambda state: state[1] / state[0]),
        Reducer("max", _itself, max, _itself),
        Reducer("min", _itself, min, _itself),
        Reducer("sample", lambda value: [1, value], _sampled, lambda state: state[1]),
    )
}
"""Every reducer, by the name that a collection file uses."""
