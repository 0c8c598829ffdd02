"""Words: how often any word occurs, from the reports that support its cells; and which words are found.

words:
  told      what the groups' reports say: how often each cell was supported
  shared    of two words, the part of the reports that asks of a group in which both have one cell
  found     of words that nobody asked for: those that chance does not explain, at a false discovery rate
  frequent  of words, those that stand out so far that they are found at once
  least     of a found word, the reports that had to support it for it to be found

**Any word.** Each report of a group supports each of its cells with a chance of p or q. Added up over the groups,
those that support a word's own cells are binomial: out of n, with a rate of q + (p - q) f, as if all devices had been
asked about just this word (`Frequencies`), and f is exactly its share, and that of other words in parts: of each,
what it has shared. For words that are found that is solved for, together; of all others it is 1 / cells on average,
which is taken off, with an allowance for how much it varies: a word u of the share f_u adds, or does not add, about
f_u / groups, so that the variance of the sum is no more than f (1 / groups cells) times what all others have, where f
is the largest share that can not have been found. A frequent word adds far more to the few that it shares a cell
with, so that frequent ones are known also where no words are looked for, as where just a few are asked for.

**Found.** A word of b bits is found if a count as high as its own has a chance of R a / 2^b at most where no device
has it, R being how many are found: Benjamini and Hochberg's rule with the weights 2^-b, which add up to 1 over all
words (Genovese, Roeder, Wasserman, 2006). Of those found a part a at most is false, on average.

**Having searched.** Who looks only at words that stand out sees them larger than they are. A found word's interval is
of the shares under which its count would be likely among counts that are found (Zhong and Prentice, 2008): so
95% of the intervals that are told hold, although these are told and the others are not. Its value is the share for
which half of those counts are above its own. Far above the least both are what they would be without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable.kinds._imprints import CELLS, GROUPS, Imprint, Imprints
from deniable.mechanisms import Mechanism, Supporting
from deniable_aggregator.estimators._contributions import of_answer, rest
from deniable_aggregator.estimators._decoding import MOST_PATHS, MOST_WORK, heights, passes, searched, standing_out
from deniable_aggregator.estimators._frequencies import Frequencies
from deniable_aggregator.estimators._special import bdtrc, log_ndtr

__all__ = ["FALSE", "Cells", "Found", "Listed", "discovered", "found_of", "frequent", "seen_from"]

_Floats = NDArray[np.float64]
_Counts = NDArray[np.int64]
_Places = NDArray[np.intp]

FALSE = 0.05
"""The part of the words that are found that are false, on average, at the most."""
_STEPS = 60
_FREQUENT = 20.0
"""Words of this height are found in hundredths of a second: lower ones take a hundred times as long."""
_FREQUENT_PASSES, _FREQUENT_PATHS, _FREQUENT_WORK = 5, MOST_PATHS >> 5, MOST_WORK >> 6
"""They are looked for at so many heights. So many paths are looked at in one group, the best, and in all at about the
most, whatever was reported."""

_FEWEST = 500
"""Of fewer reports no words are looked for: a word of four letters would have to be that of every fourth device."""


@dataclass(frozen=True, eq=False)
class Cells:
    """What the groups' reports say."""

    mechanism: Supporting
    """That of every group."""
    reports: _Counts
    """How many there are of each group."""
    supports: _Counts
    """For each group and cell, how many support it; at last, for words that are too long."""

    @classmethod
    def of(cls, mechanism: Mechanism, found: Sequence[Frequencies]) -> Cells:
        """From how often the reports of each group support its cells."""
        assert isinstance(mechanism, Supporting)
        return cls(mechanism, np.array([own.reports for own in found]), np.stack([own.supports for own in found]))

    @cached_property
    def all(self) -> int:
        """How many reports there are."""
        return int(self.reports.sum())

    @cached_property
    def parts(self) -> _Floats:
        """Of all reports, those of each group."""
        found: _Floats = self.reports / max(self.all, 1)
        return found

    @cached_property
    def p(self) -> float:
        """The chance that a report supports its own cell."""
        return float(self.mechanism.p)

    @cached_property
    def q(self) -> float:
        """The chance that it supports another one."""
        return float(self.mechanism.q)

    @property
    def error(self) -> float:
        """The standard error of the share of a word that no device has."""
        return math.sqrt(self.q * (1 - self.q) / max(self.all, 1)) / (self.p - self.q)

    def scores(self) -> _Floats:
        """Of each cell that words have, in units of the error of a word's count."""
        scale = math.sqrt(max(self.all, 1) * self.q * (1 - self.q))
        expected = self.reports[:, np.newaxis] * self.q
        found: _Floats = (self.supports[:, :CELLS] - expected) / scale
        return found

    def count(self, cells: _Places) -> _Counts:
        """For each row of cells, how many reports support them."""
        found: _Counts = self.supports[np.arange(GROUPS), cells].sum(axis=-1)
        return found

    def frequencies(self, cells: _Places) -> Frequencies:
        """How often words occur that have these cells, a row each."""
        return Frequencies(self.all, self.count(cells), self.p, self.q)


@dataclass(frozen=True)
class Found:
    """A word that is found."""

    word: str
    """As it is asked."""
    length: int
    """The bits of its code."""
    cells: tuple[int, ...]
    """Its cell in each group."""
    least: float
    """By how much it had to stand out to be found, in standard errors."""

    @classmethod
    def of(cls, word: str, code: Imprint, count: int) -> Found:
        """Where so many words are found."""
        least = max(standing_out(FALSE * count, code.length), heights(FALSE * count)[code.frame])
        return cls(word, code.length, code.cells, least)


def discovered(cells: Cells, code: Imprints, is_word: Callable[[str], bool]) -> list[Found]:
    """The words that are found, the most frequent first."""
    if cells.all < _FEWEST:
        return []
    search = _Search(cells, code, is_word, MOST_PATHS, MOST_WORK)
    for height in (*passes(search.scores), 0.0):
        search.at(height, 1)
    count = 1
    while (now := _power(len(search.found))) > count:
        before, lower = heights(FALSE * count), heights(FALSE * now)
        search.at(0.0, now, [frame for frame, height in lower.items() if height < before[frame]])
        count = now
    found = [Found.of(word, own, count) for word, own in search.found.items()]
    return sorted(found, key=lambda each: -int(cells.count(np.array(each.cells))))


def frequent(cells: Cells, code: Imprints, is_word: Callable[[str], bool]) -> list[Found]:
    """The words that are found at once: what they share with others would be taken for the others' own."""
    if cells.all < _FEWEST:
        return []
    search = _Search(cells, code, is_word, _FREQUENT_PATHS, _FREQUENT_WORK)
    for height in (*passes(search.scores, _FREQUENT, _FREQUENT_PASSES), _FREQUENT):
        search.at(height, 1)
    return found_of(search.found)


def found_of(words: Mapping[str, Imprint]) -> list[Found]:
    """Words that were found elsewhere."""
    count = _power(len(words))
    return [Found.of(word, code, count) for word, code in words.items()]


def seen_from(cells: Cells, code: Imprint, sure: float) -> float:
    """The share from which on a word is found as surely as that."""
    least = Found.of("", code, 1).least
    return (least + NormalDist().inv_cdf(sure)) * cells.error


def _power(count: int) -> int:
    """The largest power of 2 that is no larger, or 1."""
    return 1 << max(count.bit_length() - 1, 0)


class _Search:
    """What is found so far, and what is left of the scores without it."""

    def __init__(
        self,
        cells: Cells,
        code: Imprints,
        is_word: Callable[[str], bool],
        most_paths: int,
        most_work: int,
    ) -> None:
        self._cells, self._code, self._is_word = cells, code, is_word
        self._most_paths, self._most_work = most_paths, most_work
        self.scores = cells.scores()
        self._work = 0
        self.found: dict[str, Imprint] = {}

    def at(self, height: float, count: int, frames: Sequence[int] = ()) -> None:
        """Look for words of a height in the frames whose words are found at it; at last, 0, at that of each frame, or
        of some; as if so many were found."""
        for frame, least in heights(FALSE * count).items():
            higher = height or least
            wanted = higher >= least and (not frames or frame in frames)
            if wanted and higher * self._cells.error < 1 and self._work < self._most_work:
                parts = self._cells.parts.tolist()
                blocks, work = searched(self._code, frame, higher, self.scores, parts, self._most_paths)
                self._work += work
                self._take(frame, blocks, higher, count)

    def _take(self, frame: int, blocks: Sequence[int], height: float, count: int) -> None:
        """The words of some blocks: the highest first, as what is taken is gone from what others have."""
        words = [found for block in blocks if (found := self._code.word(frame, block))]
        imprints = {word: self._code.of(word) for word, _ in words}
        rows = {word: np.array(own.cells) for word, own in imprints.items()}
        for word in sorted(rows, key=lambda each: -self._height(rows[each])):
            stands, length = self._height(rows[word]), imprints[word].length
            if stands >= height and self._chance(stands) <= FALSE * count * 2.0**-length:
                self.scores[np.arange(GROUPS), rows[word]] -= stands * self._cells.parts
                if self._is_word(word):  # what only fakes have is taken from others too, and not told
                    self.found[word] = imprints[word]

    def _height(self, row: _Places) -> float:
        return float(self.scores[np.arange(GROUPS), row].sum())

    def _chance(self, height: float) -> float:
        """That a word stands out as high where no device has it."""
        reports, q = self._cells.all, self._cells.q
        count = math.floor(reports * q + height * math.sqrt(reports * q * (1 - q)) + 0.5)
        return float(bdtrc(min(max(count - 1, 0), reports), reports, q))


@dataclass(frozen=True, eq=False)
class Listed:
    """The shares of the words that are found, and of any others."""

    cells: Cells
    """What is told."""
    found: Sequence[Found]
    """All that are found, or those of them that are asked for: then with"""
    besides: Sequence[Found] | None = None
    """the frequent ones that are not told."""

    @cached_property
    def rows(self) -> _Places:
        """Of each word that is found, its cells."""
        return self._known[: len(self.found)]

    @cached_property
    def _known(self) -> _Places:
        """The same, and of those besides."""
        every = [each.cells for each in (*self.found, *(self.besides or ()))]
        return np.array(every, dtype=np.intp).reshape(-1, GROUPS)

    @cached_property
    def long(self) -> Frequencies:
        """How many words are too long."""
        return self.cells.frequencies(np.full((1, GROUPS), CELLS))

    @cached_property
    def solved(self) -> _Floats:
        """The shares of the words that are known, without what others have shared with them."""
        raw, size = self.cells.frequencies(self._known).values, len(self._known)
        equations = self._shared(self._known) - 1 / CELLS
        solved = np.linalg.solve(equations, raw - self._others(0.0)) if size else raw
        return np.asarray(solved, np.float64)

    def _shared(self, rows: _Places) -> _Floats:
        """Of each of some words, what those that are known have shared with it."""
        same = rows[:, np.newaxis, :] == self._known[np.newaxis]
        found: _Floats = same @ self.cells.parts
        return found

    def _others(self, found: float) -> float:
        """What words that are not found have shared with a word, on average, where others have so large a share."""
        return min(max(1 - float(self.long.values[0]) - found, 0.0), 1.0) / CELLS

    def shift(self, rows: _Places) -> _Floats:
        """What others have shared with words that are asked for; one that is known shares nothing with itself."""
        shared = self._shared(rows)
        itself = (rows[:, np.newaxis, :] == self._known[np.newaxis]).all(axis=-1)
        others: _Floats = np.where(itself, 0.0, shared) @ self.solved + self._others(float(self.solved.sum()))
        return others

    @property
    def doubt(self) -> float:
        """How much that varies: a standard deviation."""
        height = max(heights(FALSE).values()) if self.besides is None else _FREQUENT
        largest = min(height * self.cells.error, 1.0)
        return math.sqrt(largest * max(1 - float(self.solved.clip(0).sum()), 0.0) / (GROUPS * CELLS))

    @cached_property
    def least(self) -> _Floats:
        """Of each word that is found, the least share that would have been, as it is estimated."""
        return self.cells.error * np.array([each.least for each in self.found])

    def chosen(self, confidence: float, noise_only: bool) -> tuple[_Floats, _Floats, _Floats]:
        """Values, and low and high ends, of the words that are found, among all that could have been."""
        raw = self.cells.frequencies(self.rows).values
        levels = [0.5, (1 + confidence) / 2, (1 - confidence) / 2]
        value, high, low = (self._solved(raw, math.log(level), noise_only) for level in levels)
        shift = raw - self.solved[: len(raw)]
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * self.doubt
        below, above = (np.hypot(each, reach) for each in (value - low, high - value))
        value = value - shift
        return value, np.clip(value - below, 0, 1), np.clip(value + above, 0, 1)

    def without(self, part: float, noise_only: bool) -> tuple[_Floats, _Floats]:
        """From where to where values of the words that are found lie without up to such a part of the reports: those
        of words that would not be found without these from 0 on, and of words that share cells anywhere, as who has
        made one word up can take from the other."""
        found = self.cells.frequencies(self.rows)
        ends = rest(found.values, of_answer(found), part)
        low, high = (self._solved(np.clip(own, -1, 2), math.log(0.5), noise_only) for own in ends)
        shift, mixed = found.values - self.solved[: len(found.values)], self.mixed(self.rows)
        low = np.where((ends[0] < self.least) | mixed, 0.0, low - shift)
        return low, np.where(mixed, 1.0, high - shift)

    def mixed(self, rows: _Places) -> NDArray[np.bool_]:
        """Which words share cells with one that is found and is another one."""
        same = rows[:, np.newaxis, :] == self._known[np.newaxis]
        found: NDArray[np.bool_] = (same.any(axis=-1) & ~same.all(axis=-1)).any(axis=-1)
        return found

    def together(self, confidence: float, noise_only: bool) -> tuple[float, float, float]:
        """The share of devices that have one of the words that are found, and its interval.

        Errors of words are independent but for what is sampled of a whole, so their reaches add up as squares (Zou
        and Donner, 2008). The plain shares of words that were searched are too large on average, those that know it
        too small, as their errors are not even: it goes up from one sum, down from the other; the value is between.
        """
        value, low, _ = self.chosen(confidence, noise_only)
        plain = self.solved[: len(value)]
        errors = np.hypot(self._errors(np.clip(plain, 0, 1), noise_only), self.doubt)
        up = NormalDist().inv_cdf((1 + confidence) / 2) * float(np.hypot.reduce(errors))
        down, middle = float(np.hypot.reduce(value - low)), float(plain.sum() + value.sum()) / 2
        return middle, max(float(value.sum()) - down, 0.0), min(float(plain.sum()) + up, 1.0)

    def _solved(self, raw: _Floats, level: float, noise_only: bool) -> _Floats:
        """The shares under which a count as high has this chance (its logarithm), among those that are found."""
        least = np.where(raw >= self.least, self.least, -1.0)  # of others it is not known how they were chosen
        low, high = np.zeros(len(raw)), np.ones(len(raw))
        for _ in range(_STEPS):
            middle = (low + high) / 2
            error = self._errors(middle, noise_only)
            chance = log_ndtr((middle - raw) / error) - log_ndtr((middle - least) / error)
            too_much = chance > level
            low, high = np.where(too_much, low, middle), np.where(too_much, middle, high)
        found: _Floats = (low + high) / 2
        return found

    def _errors(self, shares: _Floats, noise_only: bool) -> _Floats:
        p, q, reports = self.cells.p, self.cells.q, self.cells.all
        rate = q + shares * (p - q)
        variance = q * (1 - q) + shares * (p - q) * (1 - p - q) if noise_only else rate * (1 - rate)
        found: _Floats = np.sqrt(variance / reports) / (p - q)
        return found
