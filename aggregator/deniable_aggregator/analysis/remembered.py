"""What has been found from counters that have not changed since; what was not asked for longest is forgotten."""

from __future__ import annotations

import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["Key", "Remembered", "state_of"]

Key = tuple[int, str, int, int, Hashable]
"""A question's number, a metric, the epochs from and to; and how many rows are asked for, or which."""

_MOST_ROWS = 400_000
_MOST_NUMBERS = 1000
_BESIDES = 3
"""What is kept besides an answer's rows takes as much room as so many of them."""
_Kept = TypeVar("_Kept")


def state_of(versions: Sequence[int | tuple[int, ...]]) -> bytes:
    """What tells versions of epochs from others: as long for ten years as for a day."""
    return hashlib.blake2b(np.asarray(versions, "<i8").tobytes(), digest_size=16).digest()


class Remembered:
    """Answers, by what was asked."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._next = itertools.count()
        self._kept: OrderedDict[Key, tuple[bytes, Any, int]] = OrderedDict()
        self._rows = 0

    def number(self, asked: Hashable) -> int:
        """The number of a question, but for the metric and the epochs: it is quick to look up.

        None is given twice, also after all are forgotten: who has an old one may still be answering.
        """
        if len(self._numbers) >= _MOST_NUMBERS and asked not in self._numbers:
            self._numbers.clear()
            self._kept.clear()
            self._rows = 0
        if asked not in self._numbers:
            self._numbers[asked] = next(self._next)
        return self._numbers[asked]

    def find(self, key: Key, state: bytes) -> Any:
        """What is kept of this state; None where nothing is."""
        kept = self._kept.get(key)
        if kept is None or kept[0] != state:
            return None
        self._kept.move_to_end(key)
        return kept[1]

    def keep(self, key: Key, state: bytes, made: _Kept, rows: Callable[[_Kept], int]) -> _Kept:
        """Keep what was made, and forget what was not asked for longest where there is too much."""
        before = self._kept.pop(key, None)
        if before is not None:
            self._rows -= before[2]
        size = rows(made) + _BESIDES
        self._kept[key] = state, made, size
        self._rows += size
        while self._rows > _MOST_ROWS and len(self._kept) > 1:
            _, (_, _, fewer) = self._kept.popitem(last=False)
            self._rows -= fewer
        return made
