"""Text: the words that are found, with their shares; and any others that are asked for.

words:
  written     a word as a key: what can not be seen, turns the line round or moves a cursor stands as a number in it,
              and so does the first sign of what a spreadsheet would run
  candidate   a word that is asked for, whether or not it was found
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Text
from deniable_aggregator.answers._estimate import Estimate, Heading, Keys, Measure, Row, RowId, Series, by_size
from deniable_aggregator.answers._room import Counters, Room, varying
from deniable_aggregator.answers._shares import SHARES, share_rows
from deniable_aggregator.estimators import (
    FALSE,
    Cells,
    Found,
    Listed,
    Target,
    discovered,
    found_of,
    frequencies,
    frequent,
    of_answer,
    rest,
    seen_from,
)

__all__ = ["CANDIDATES", "FOUND", "LONG", "MOST_WORDS", "TextRoom", "read", "word_key"]

_Floats = NDArray[np.float64]

CANDIDATES = "candidates"
"""The series of words that are asked for."""
FOUND = "found"
"""The series of how much of the fleet the words cover that are found."""
LONG = "too long"
"""The series of words that are too long, and the key of its row."""
_ANY = "any found word"
MOST_WORDS = 500
"""Of those that are found the most frequent are told."""
_HEADINGS = tuple(Heading(name, Measure.SHARE) for name in (SHARES, FOUND, LONG, CANDIDATES))
_TYPICAL = (4, 8, 16)
"""Letters of words of which is said how frequent they must be to be found."""
_MIDDLE = 8
_SURE = 0.95
_REMEMBERED = 8
_COLUMN, _COUNTER, _FREQUENT = 12_000, 5, 2_000_000
"""What a column, a counter and finding frequent words take, counted in counters as prices are."""
_FORMULA = re.compile(r"[=\uff1d]|[-+@\uff0b\uff0d\uff20].*[(|!]", re.DOTALL)
"""What a spreadsheet would run that opens a table of words; names such as @team/core are none."""
_NUMBERED = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


_Made = TypeVar("_Made")


class TextRoom(Room):
    """The words that are found, how many devices have one of them, how many are too long, and those asked for."""

    kind = Text
    view = "text"
    combines = True
    searching = 50_000_000

    def __init__(self) -> None:
        self._words: _Remembered[tuple[Found, ...]] = _Remembered()
        self._sums: _Remembered[Cells] = _Remembered()

    def headings(self, metric: Metric) -> tuple[Heading, ...]:  # noqa: ARG002
        """All are shares of devices."""
        return _HEADINGS

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """With the words that are found, the most frequent first."""
        cells = self._cells(metric, counters)
        found = _estimate(metric, Listed(cells, self._found(metric, cells)), {FOUND: [_ANY]}, confidence, target)
        words, *others = found.series
        return replace(found, series=(replace(words, rows=tuple(sorted(words.rows, key=by_size))), *others))

    def only(
        self, metric: Metric, names: Collection[str], counters: Counters, confidence: float, target: Target
    ) -> Estimate:
        """Without looking for words that are not told, unless they are frequent."""
        if {SHARES, FOUND} & set(names):
            return self.answer(metric, counters, confidence, target)
        return self.again(metric, {}, counters, confidence, target)

    def again(self, metric: Metric, keys: Keys, counters: Counters, confidence: float, target: Target) -> Estimate:
        """With the words that were found elsewhere, in their order, and some that are asked for."""
        kind, cells = _kind(metric), self._cells(metric, counters)
        words = {read(key): kind.imprint(kind.word(read(key))) for key in keys.get(SHARES, ())}
        found = found_of({word: code for word, code in words.items() if code})
        told = {each.cells for each in found}
        besides = [each for each in frequent(cells, kind.code, kind.is_word) if each.cells not in told]
        listed = Listed(cells, found, besides)
        return _estimate(metric, listed, keys, confidence, target)

    def asked(self, metric: Metric, rows: Sequence[RowId]) -> None:
        """Any word; of those that are too long nothing is known of each."""
        for row in rows:
            if row.series != CANDIDATES:
                super().asked(metric, [row])
            elif not _kind(metric).word(read(row.key)):
                raise ValueError(f"{metric.name} has no word that is blank")

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """Of any word."""
        return _Known(_kind(metric), values)

    def row_count(self, metric: Metric) -> int:  # noqa: ARG002
        """The words that are told, all of them, and those that are too long."""
        return MOST_WORDS + 2

    def effort(self, metric: Metric) -> int:
        """Columns, whose counters are only looked through, and frequent words."""
        return sum(_COLUMN + _COUNTER * column.shape.counters for column in metric.columns) + _FREQUENT

    def shared(
        self, metric: Metric, counters: Counters, pooled: Estimate, spread: Sequence[float]
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep: their words, whatever groups they draw."""
        own = self._cells(metric, counters).frequencies(_places(_kind(metric), pooled.ids))
        parts = own.shared(spread[0], pooled.confidence, pooled.target)
        for place, (where, row) in enumerate(pooled.by_id.items()):
            if where.series == FOUND:
                # Whether a device has one of some words is sampled, whatever the variance of the words' sum besides.
                whole = row.std_error**2 * max(pooled.reports, 1)
                parts[:, place] = min(varying(row, 0.0, 1.0) / whole, 1.0) if whole > 0 else 1.0
        return parts

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> _Floats:
        """Words as they would have come out, with no devices where they would not have been found. Of words that have
        cells of a found one nothing is known. What is found together is of the same words. That fakes have had the
        search spell a frequent word otherwise is not seen: what is bounded is how often its cells are told."""
        kind, cells = _kind(metric), self._cells(metric, counters)
        part = fakes / max(cells.all, 1)
        words = {read(key): kind.imprint(kind.word(read(key))) for key in found.keys.get(SHARES, ())}
        listed = Listed(cells, found_of({word: code for word, code in words.items() if code}))
        told = iter(np.stack(listed.without(part, found.target is Target.REPORTING)).T.tolist())
        plain = of_answer(cells.frequencies(np.empty((0, len(kind.sizes)), np.intp)))
        lines = []
        for where, row in found.by_id.items():
            own = np.array([row.value])
            if where.series == SHARES:
                low, high = next(told)
                lines.append((min(low, row.value), max(high, row.value)))
            elif where.series == FOUND:
                least = len(listed.found) * plain.least
                lines.append((-np.inf, float(rest(own, plain._replace(least=least), part)[1][0])))
            elif where.series == CANDIDATES and listed.mixed(_places(kind, [where])).any():
                lines.append((-np.inf, np.inf))
            else:
                low, high = rest(own, plain, part)
                lines.append((float(low[0]), float(high[0])))
        return np.array(lines, dtype=np.float64).reshape(-1, 2).T

    def values_vary(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:  # noqa: ARG002
        """As much as bits that occur so often."""
        return np.array([varying(row, 0.0, 1.0) for row in found.rows])

    def _found(self, metric: Metric, cells: Cells) -> tuple[Found, ...]:
        """The words that are found: remembered, as looking for them takes a second."""
        kind = _kind(metric)
        asked = repr((kind, cells.mechanism, cells.reports.tolist()))
        return self._words.get(
            _digest(asked, [cells.supports]),
            lambda: tuple(discovered(cells, kind.code, kind.is_word)[:MOST_WORDS]),
        )

    def _cells(self, metric: Metric, counters: Counters) -> Cells:
        """What reports say of all cells: remembered, as a comparison asks for it three times, of 300,000 counters."""
        columns = metric.columns

        def made() -> Cells:
            every = [frequencies(column.mechanism, own) for column, own in zip(columns, counters, strict=True)]
            return Cells.of(columns[0].mechanism, every)

        return self._sums.get(_digest(repr([column.mechanism for column in columns]), counters), made)


class _Remembered(Generic[_Made]):
    """The latest few of what takes long to make."""

    def __init__(self) -> None:
        self._made: OrderedDict[bytes, _Made] = OrderedDict()

    def get(self, key: bytes, make: Callable[[], _Made]) -> _Made:
        """What was made before of the same, or what is made now."""
        found = self._made.pop(key, None)
        if found is None:
            found = make()
        self._made[key] = found
        while len(self._made) > _REMEMBERED:
            self._made.popitem(last=False)
        return found


def _digest(asked: str, counters: Counters) -> bytes:
    """What is the same only of the same counters, that are asked the same."""
    state = hashlib.blake2b(asked.encode(), digest_size=16)
    for own in map(np.asarray, counters):  # of fewer reports than there are, counters are no whole numbers
        state.update(own.dtype.str.encode() + own.tobytes())
    return state.digest()


def _estimate(metric: Metric, listed: Listed, keys: Keys, confidence: float, target: Target) -> Estimate:
    """With the rows besides the words and those that are too long that `keys` asks for."""
    reports, candidates = listed.cells.all, keys.get(CANDIDATES, ())
    if reports:
        rows = _rows(metric, listed, candidates, confidence, target)
    else:
        rows = {LONG: [_unknown(LONG)], CANDIDATES: [_unknown(key) for key in candidates], FOUND: [_unknown(_ANY)]}
        rows[SHARES] = [_unknown(word_key(each.word)) for each in listed.found]
    if not keys.get(FOUND):
        rows[FOUND] = []
    least = _least(_kind(metric), listed.cells, _MIDDLE) if reports else 1.0
    series = tuple(
        Series(heading, tuple(rows[heading.name]), min(least, 1.0) if heading.name == SHARES else None)
        for heading in _HEADINGS
    )
    note = _note(_kind(metric), listed) if reports else ""
    return Estimate(metric.name, reports, series, confidence, target, note=note)


def _rows(
    metric: Metric, listed: Listed, candidates: Sequence[str], confidence: float, target: Target
) -> dict[str, list[Row]]:
    kind, cells = _kind(metric), listed.cells
    value, low, high = listed.chosen(confidence, target is Target.REPORTING)
    own = cells.frequencies(listed.rows)
    keys = [word_key(each.word) for each in listed.found]
    told = {SHARES: _told(keys, value, low, high, own.std_errors(target))}
    errors = float(np.hypot.reduce(own.std_errors(target)))
    told[FOUND] = [Row(_ANY, *listed.together(confidence, target is Target.REPORTING), errors)]
    told[LONG] = list(share_rows([LONG], listed.long, confidence, target))
    others = _places(kind, [RowId(CANDIDATES, key) for key in candidates])
    plain, shift = cells.frequencies(others), listed.shift(others)
    lows, highs = plain.intervals(confidence, target)
    doubt = NormalDist().inv_cdf((1 + confidence) / 2) * listed.doubt
    below, above = np.hypot(plain.values - lows, doubt), np.hypot(highs - plain.values, doubt)
    middle = plain.values - shift
    # What reaches to none or to all of the devices does so whatever others have shared.
    ends = np.where(lows <= 0, 0.0, middle - below), np.where(highs >= 1, 1.0, middle + above)
    rows = _told(candidates, middle, *ends, plain.std_errors(target))
    told[CANDIDATES] = [row if _imprint(kind, row.key) else _unknown(row.key) for row in rows]
    return told


def _told(keys: Sequence[str], *columns: _Floats) -> list[Row]:
    value, low, high, error = columns
    ends = np.clip([low, high], 0, 1)
    numbers = zip(value.tolist(), *ends.tolist(), error.tolist(), strict=True)
    return [Row(key, *own) for key, own in zip(keys, numbers, strict=True)]


def _unknown(key: str) -> Row:
    return Row(key, math.nan, 0.0, 1.0, math.nan)


def _note(kind: Text, listed: Listed) -> str:
    """How many of the words that are found may be false, and from which share on words are found."""
    shares = [_least(kind, listed.cells, letters) for letters in _TYPICAL]
    told = [f"{share:.2%}" if share < 1 else "more than all devices" for share in shares]
    return (
        f"one in {1 / FALSE:.0f} of the words that are found may be false; words of {_listed(_TYPICAL)} letters are "
        f"found nearly always where {_listed(told)} of the devices have them"
    )


def _least(kind: Text, cells: Cells, letters: int) -> float:
    """The share from which on words of so many letters are found nearly always."""
    return seen_from(cells, kind.code.of("e" * letters), _SURE)


def _listed(each: Sequence[Any]) -> str:
    return f"{', '.join(map(str, each[:-1]))} and {each[-1]}"


def _places(kind: Text, rows: Sequence[RowId]) -> NDArray[np.intp]:
    """The cells of each row's word."""
    long = tuple(size - 1 for size in kind.sizes)
    words = (_imprint(kind, row.key) if row.series in {SHARES, CANDIDATES} else None for row in rows)
    every = [own or long for own in words]
    return np.array(every, dtype=np.intp).reshape(len(every), len(long))


def _imprint(kind: Text, key: str) -> tuple[int, ...] | None:
    word = kind.word(read(key))
    return _coded(kind, word) if len(word.encode()) <= kind.max_bytes else None


@lru_cache(maxsize=1 << 14)
def _coded(kind: Text, word: str) -> tuple[int, ...] | None:
    """The cells of a word of no more bytes than its kind takes: no longer one is remembered."""
    found = kind.imprint(word)
    return None if found is None else found.cells


def word_key(word: str) -> str:
    """A word as a key."""
    run = _FORMULA.match(word) is not None
    shown = (each.isprintable() and each != "\\" and not (run and not place) for place, each in enumerate(word))
    return "".join(each if own else f"\\u{{{ord(each):x}}}" for each, own in zip(word, shown, strict=True))


def read(key: str) -> str:
    """The word of a key."""
    return _NUMBERED.sub(lambda found: chr(min(int(found[1], 16), sys.maxunicode)), key)


class _Known(Mapping[RowId, float]):
    """The share of any word, where those of all devices are known. Which words are found devices do not say."""

    def __init__(self, kind: Text, values: Sequence[Any]) -> None:
        counted = Counter(values)
        long = sum(count for word, count in counted.items() if kind.imprint(word) is None)
        self._shares = {word_key(word): count / len(values) for word, count in counted.items()}
        self._long = long / len(values)

    def __getitem__(self, where: RowId) -> float:
        if where.series == FOUND:  # by which words an answer has
            raise KeyError(where)
        if where.series == LONG:
            return self._long
        if where.series == FOUND:
            raise KeyError(where)
        return self._shares.get(where.key, 0.0)

    def __iter__(self) -> Iterator[RowId]:
        yield from (RowId(SHARES, key) for key in self._shares)
        yield RowId(LONG, LONG)

    def __len__(self) -> int:
        return len(self._shares) + 1


def _kind(metric: Metric) -> Text:
    assert isinstance(metric.kind, Text)
    return metric.kind
