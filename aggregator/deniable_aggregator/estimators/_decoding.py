"""Decoding: the words whose imprints stand out of what the groups' reports say of all cells.

words:
  score     of a cell, by how much more reports support it than would without any device in it; scaled so that what
            the scores of a word's cells add up to is normal with variance 1 where no device has the word
  path      what a block can begin with: a shelf and the pieces of the first groups, with what their scores add up to
  height    what the scores of a word's cells add up to in all groups, at the least, for it to be looked for
  line      what those of the first groups must add up to, for a path to be followed
  frame, block, piece, shelf   as imprints have them

A tree code is decoded piece by piece, and paths that fall below a line are given up (Fano, 1963, and the algorithms
after him). A word of the height h has, after a part t of the reports, t h and a normal error of variance t (1 - t):
its line is `_SLACK` errors below. How many paths chance alone keeps above it is known beforehand; where that is more
than `_PATHS`, the frame is only searched for words of a greater height, so that the time it takes has a bound,
whatever was reported.

**Frequent words first.** What shares pieces with a frequent word shares its scores, and is no word of its own. So
words are looked for at great heights first, each by a quarter lower than the one before; what is found is taken out
of the scores; and of a path no score counts for more than `_CAP` errors above what its height makes likely.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable.kinds import _imprints as imprints
from deniable.kinds._imprints import Imprints
from deniable_aggregator.estimators._special import log_ndtr

__all__ = ["MOST_PATHS", "MOST_WORK", "heights", "passes", "searched", "standing_out"]

_Floats = NDArray[np.float64]
_Words = NDArray[np.uint64]
_Places = NDArray[np.intp]

_SLACK = 2.3
_CAP = 3.5
_RECENT, _RECENT_SLACK = (1, 2, 3, 4, 6, 8), 3.6
"""Also what the last groups alone add up to has a line: a path that was right until then is not followed for long."""
_PATHS = 1 << 19
"""So many are looked at in one group of a frame, on average, where chance alone decides."""
MOST_PATHS = 1 << 21
"""And so many at the most, whatever was reported: what becomes of the best ones."""
MOST_WORK = 1 << 27
"""So many in all groups, frames and heights together: what is not found until then is not found."""
_TOGETHER = 1 << 15
"""So many at a time: what they need stays in the processor's cache. Twice as many can be memory that is given back
to the system each time and asked for anew, which takes as long again."""
_HIGHER = [step / 100 for step in range(1000)]
"""By how much a frame's height can have to be greater."""
_LOWER = 1.3
"""By what each height is lower than the one before. What shares most of its pieces with a word that is not found yet
is taken for one where steps are larger: with three, of the words found in a small fleet one in five was false."""
_CHANCE = 4.5
"""No sum of a group's scores is higher by chance, of as many as there are cells, in errors."""
_FLOOR = 10.0
"""Below this, words are looked for at the heights of their frames at once."""


def passes(scores: _Floats, floor: float = _FLOOR, count: int = 100) -> list[float]:
    """The heights above a floor at which words are looked for, one after another, so many at the most."""
    most = float(scores.max(axis=1).sum())
    lower = max(_LOWER, (most / floor) ** (1 / count)) if most > 0 else _LOWER
    steps = range(1, math.ceil(math.log(most / floor, lower))) if most > floor else ()
    return [most / lower**step for step in steps]


@cache
def heights(chance: float) -> dict[int, float]:
    """For each frame the least height that is looked for, where words of a bit may stand out by chance so often, and
    those of more bits as much more seldom as there are more of them."""
    found, shorter = {}, imprints.SHORTEST - 1
    for frame in imprints.FRAMES:
        height = standing_out(chance, shorter + 1)
        enough = bisect_left(_HIGHER, True, key=lambda more: _bounded(frame, height + more))
        found[frame], shorter = height + _HIGHER[min(enough, len(_HIGHER) - 1)], frame
    return found


def standing_out(chance: float, length: int) -> float:
    """The height that a word of so many bits has by chance as seldom as it may."""
    return -NormalDist().inv_cdf(min(chance * 2.0**-length, 0.5))


def _bounded(frame: int, height: float) -> bool:
    """Whether no more paths than are wanted are looked at in any group, where chance alone decides."""
    parts = np.arange(1, imprints.GROUPS) / imprints.GROUPS
    above = log_ndtr([-_line(height, part) / math.sqrt(part) for part in parts.tolist()]) / math.log(2)
    bits = math.log2(imprints.SHELVES) + np.cumsum(imprints.pieces(frame))[1:]
    return bool((bits + above).max() <= math.log2(_PATHS))


def _line(height: float, part: float) -> float:
    return height * part - _SLACK * math.sqrt(max(part * (1 - part), 0.0))


def searched(
    code: Imprints, frame: int, height: float, scores: _Floats, parts: Sequence[float], most_paths: int = MOST_PATHS
) -> tuple[list[int], int]:
    """The blocks of a frame whose words are of this height, or higher, and how many paths were looked at, in a group
    so many at the most; parts are the groups' of all reports."""
    paths, work = _Paths(code, frame, height, scores.astype(np.float32), parts), 0
    for group, size in enumerate(imprints.pieces(frame)):
        work += paths.extend(group, size, most_paths)
        if not len(paths):
            return [], work
    return paths.blocks(), work


class _Paths:
    """All that are followed in one frame."""

    def __init__(
        self, code: Imprints, frame: int, height: float, scores: NDArray[np.float32], parts: Sequence[float]
    ) -> None:
        self._scores, self._height, self._parts = scores, height, parts
        self._done = np.concatenate([[0.0], np.cumsum(parts)])
        count = imprints.SHELVES
        self._cells = np.arange(count, dtype=np.intp) * imprints.SYMBOLS
        self._states = np.full(count, code.seeds[frame], dtype=np.uint64)
        self._high, self._low = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        self._sums = [np.zeros(count, np.float32)]

    def __len__(self) -> int:
        return len(self._cells)

    def extend(self, group: int, size: int, most_paths: int) -> int:
        """By the pieces of one group, all that there are; those above the lines are kept. How many there were."""
        if len(self) << size > most_paths:
            self._keep(np.argpartition(-self._sums[-1], most := most_paths >> size)[:most])
        part = self._parts[group]
        scores = np.minimum(self._scores[group], np.float32(self._height * part + _CAP * math.sqrt(part)))
        least, together, looked_at = self._least(group), max(_TOGETHER >> size, 1), len(self) << size
        found = [
            self._extended(scores, least, size, slice(start, start + together))
            for start in range(0, len(self), together)
        ]
        came, states, piece, sums = (np.concatenate(each) for each in zip(*found, strict=True))
        self._keep(came)
        self._states, self._sums = states, [*self._sums[-max(_RECENT) :], sums]
        if size:
            self._high = self._high << np.uint64(size) | self._low >> np.uint64(64 - size)
        self._low = self._low << np.uint64(size) | piece
        return looked_at

    def _least(self, group: int) -> NDArray[np.float32]:
        """What each of them must add up to with a piece of this group, to be above all lines."""
        least = np.full(len(self), _line(self._height, float(self._done[group + 1])), np.float32)
        for recent in _RECENT:
            if group >= recent:
                own = float(self._done[group + 1] - self._done[group + 1 - recent])
                line = np.float32(self._height * own - _RECENT_SLACK * math.sqrt(own))
                np.maximum(least, self._sums[-recent] + line, out=least)
        return least

    def _keep(self, which: _Places) -> None:
        self._states, self._cells = self._states.take(which), self._cells.take(which)
        self._high, self._low = self._high.take(which), self._low.take(which)
        self._sums = [each.take(which) for each in self._sums]

    def _extended(
        self, scores: NDArray[np.float32], least: NDArray[np.float32], size: int, which: slice
    ) -> tuple[_Places, _Words, _Words, NDArray[np.float32]]:
        """Some of them: where each that is kept came from, its state, its last piece and its sum."""
        pieces = np.arange(1 << size, dtype=np.uint64)
        steps = (pieces + np.uint64(1)) * np.uint64(imprints.STEP)
        states = mixed(self._states[which, np.newaxis] + steps)
        cells = (states >> np.uint64(56)).view(np.intp)
        cells += self._cells[which, np.newaxis]
        sums = scores.take(cells, mode="wrap")  # none is beyond the end: the fastest look
        sums += self._sums[-1][which, np.newaxis]
        kept = np.flatnonzero(sums >= least[which, np.newaxis])
        last = pieces.take(kept & (1 << size) - 1)
        return which.start + (kept >> size), states.take(kept), last, sums.take(kept)

    def blocks(self) -> list[int]:
        """The blocks of those whose hash is that of their shelf."""
        hashes = mixed(~self._states) >> np.uint64(64 - (imprints.SHELVES - 1).bit_length())
        own = hashes.astype(np.intp) * imprints.SYMBOLS == self._cells
        pairs = zip(self._high[own].tolist(), self._low[own].tolist(), strict=True)
        return [high << 64 | low for high, low in pairs]


def mixed(numbers: _Words) -> _Words:
    """As imprints mix one number."""
    first, second = (np.uint64(factor) for factor in imprints.FACTORS)
    shifted = numbers >> np.uint64(30)
    found: _Words = numbers ^ shifted
    for factor, shift in ((first, 27), (second, 31)):
        found *= factor
        np.right_shift(found, np.uint64(shift), out=shifted)
        found ^= shifted
    return found
