"""Joint: the table of what goes together, marginals and conditionals, and how much that has to do with each other.

words:
  table         a row a cell: a value of every source, or with `pairs` of the target and a feature
  marginal      the share of one value of one source, "platform: linux"; of a target that has several tables, by all
  conditional   the share of the devices with one value among those with another, "theme: dark given platform: linux"
  association   V of two sources, between 0, nothing to do with each other, and 1: whoever knows one knows the other
  independence  the p-value of what is seen of two sources, if they had nothing to do with each other

Where a device draws a pair, devices that have drawn one are a random sample of those that reported: also where these
alone are meant, an interval has to account for sampling.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Joint
from deniable.kinds.joint import joined
from deniable.mechanisms import Mechanism
from deniable_aggregator.answers._estimate import Estimate, Heading, Keys, Measure, Row, RowId, Series, by_size
from deniable_aggregator.answers._room import Counters, Room, varying
from deniable_aggregator.answers._shares import share_rows
from deniable_aggregator.answers._tables_without import marginal_without, ratios_without, table_without
from deniable_aggregator.consistency import on_simplex
from deniable_aggregator.estimators import (
    Association,
    Shares,
    Sums,
    Table,
    Target,
    association,
    frequencies,
    table,
)

__all__ = ["ASSOCIATION", "CONDITIONALS", "GIVEN", "INDEPENDENCE", "MARGINALS", "TABLE", "JointRoom"]

_Floats = NDArray[np.float64]

TABLE, MARGINALS, CONDITIONALS = "table", "marginals", "conditionals"
ASSOCIATION, INDEPENDENCE = "association", "independence"
_ASSOCIATION, _ASSOCIATION_CELL = 70_000, 10
"""What it takes to make one, and for each cell of its table, in counters."""
GIVEN = "given"
"""Stands between the two values of a conditional."""


class _Names(NamedTuple):
    """What the rows of a kind are called, in the order of the answer."""

    cells: tuple[str, ...]
    marginals: tuple[str, ...]
    conditionals: tuple[str, ...]
    pairs: tuple[str, ...]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.cells) + len(self.marginals) + len(self.conditionals) + 2 * len(self.pairs)


class _Told:
    """What the reports say, of rows in the order of the answer; each is made when it is asked for."""

    def __init__(self, metric: Metric, counters: Counters, target: Target) -> None:
        self._kind, self._target = _kind(metric), target
        self._reported = [(column.mechanism, own) for column, own in zip(metric.columns, counters, strict=True)]
        self.tables = [
            table(mechanism, own, _sizes(self._kind, place)) for place, (mechanism, own) in enumerate(self._reported)
        ]
        """Those of the columns."""
        self._two = list(_unordered(self._kind))
        self._associations: dict[int, Association] = {}

    @property
    def cells(self) -> list[Shares]:
        """Of each table."""
        return [frequencies(mechanism, own) for mechanism, own in self._reported]

    @property
    def marginals(self) -> list[Shares]:
        """Of each source; of a target by what all tables say."""
        return [Sums.averaged([own.marginal(axis) for own, _, axis in self.about(name)]) for name in self._kind.of]

    @property
    def conditionals(self) -> list[Shares]:
        """Of every two sources of a table, in either order."""
        return [self.tables[place].conditionals(one, other) for place, one, other in _ordered(self._kind)]

    def association(self, at: int) -> Association:
        """Of two sources of a table, by their place among all of these; made once."""
        if at not in self._associations:
            place, one, other = self._two[at]
            self._associations[at] = association(self.tables[place], one, other, self._target)
        return self._associations[at]

    def about(self, name: str) -> Iterator[tuple[Table, Mechanism, int]]:
        """The tables that a source is in, how they are asked, and its place in each."""
        for own, (mechanism, _), about in zip(self.tables, self._reported, self._kind.tables, strict=True):
            if name in about:
                yield own, mechanism, about.index(name)


class JointRoom(Room):
    """Five series of one table, or of a table a feature."""

    kind = Joint
    view = "joint"
    combines = True

    def headings(self, metric: Metric) -> tuple[Heading, ...]:
        """Shares, and two numbers between 0 and 1."""
        return (
            Heading(TABLE, Measure.SHARE, adds_up=not _kind(metric).pairs),
            Heading(MARGINALS, Measure.SHARE),
            Heading(CONDITIONALS, Measure.SHARE),
            Heading(ASSOCIATION, Measure.QUANTITY, span=(0.0, 1.0)),
            Heading(INDEPENDENCE, Measure.QUANTITY, span=(0.0, 1.0), chance=True),
        )

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """All of it from the same counters."""
        names = [heading.name for heading in self.headings(metric)]
        return self.only(metric, names, counters, confidence, target)

    def only(
        self, metric: Metric, names: Collection[str], counters: Counters, confidence: float, target: Target
    ) -> Estimate:
        """Without making what is not told."""
        return self._made(metric, names, None, counters, confidence, target)

    def _made(
        self,
        metric: Metric,
        names: Collection[str],
        wanted: Keys | None,
        counters: Counters,
        confidence: float,
        target: Target,
    ) -> Estimate:
        """Some series, or of these some rows."""
        kind, target = _kind(metric), _about(_kind(metric), target)
        keys, told = _names(kind), _Told(metric, counters, target)
        asked, sizes = (confidence, target), _wanted(keys.pairs, wanted, ASSOCIATION)
        chances = _wanted(keys.pairs, wanted, INDEPENDENCE)
        made: dict[str, Callable[[], tuple[Row, ...]]] = {
            TABLE: lambda: _rows(keys.cells, told.cells, *asked),
            MARGINALS: lambda: _rows(keys.marginals, told.marginals, *asked),
            CONDITIONALS: lambda: _rows(keys.conditionals, told.conditionals, *asked),
            ASSOCIATION: lambda: tuple(_size(keys.pairs[at], told.association(at), confidence) for at in sizes),
            INDEPENDENCE: lambda: tuple(_chance(keys.pairs[at], told.association(at)) for at in chances),
        }
        headings = [heading for heading in self.headings(metric) if heading.name in names]
        every = ((heading, made[heading.name]()) for heading in headings)
        series = tuple(Series(heading, _chosen(rows, wanted, heading.name)) for heading, rows in every)
        reports = sum(each.reports for each in told.tables)
        return Estimate(metric.name, reports, series, confidence, target)

    def again(self, metric: Metric, keys: Keys, counters: Counters, confidence: float, target: Target) -> Estimate:
        """Just the rows that are asked for, without making other associations than these are."""
        return self._made(metric, keys, keys, counters, confidence, target)

    def effort(self, metric: Metric) -> int:
        """Besides, of each association: it looks at all cells of its table."""
        kind = _kind(metric)
        return super().effort(metric) + sum(
            _ASSOCIATION + _ASSOCIATION_CELL * kind.sizes[place] for place, *_ in _unordered(kind)
        )

    def row_count(self, metric: Metric) -> int:
        """The cells, twice as many conditionals or more, and what little there is of each source and pair."""
        return _names(_kind(metric)).rows

    def shared(
        self, metric: Metric, counters: Counters, pooled: Estimate, spread: Sequence[float]
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep: all of an association's, and of conditionals
        where they remember."""
        told = _Told(metric, counters, target := _about(_kind(metric), pooled.target))
        asked = max(spread), pooled.confidence, target
        known: dict[str, Callable[[], list[Shares]]] = {TABLE: lambda: told.cells, MARGINALS: lambda: told.marginals}
        if not metric.memoize:
            known |= {CONDITIONALS: lambda: told.conditionals}
        parts = [np.ones((3, 0))]
        for series in pooled.series:
            own = known.get(series.heading.name)
            parts += [each.shared(*asked) for each in own()] if own else [np.ones((3, len(series.rows)))]
        return np.hstack(parts)

    def anew(self, metric: Metric, counters: Counters, pooled: Estimate) -> NDArray[np.float64]:
        """Of cells and marginals all that is not of what devices keep, which is known exactly."""
        kept = self.shared(metric, counters, pooled, [1.0] * len(metric.columns))[1]
        exact = [where.series in {TABLE, MARGINALS} for where in pooled.ids]
        parts: NDArray[np.float64] = np.where(exact, 1 - np.nan_to_num(kept), 1.0)
        return parts

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> _Floats:
        """Of cells, sums and ratios as fakes move them; of what goes together anything."""
        kind, told = _kind(metric), _Told(metric, counters, found.target)
        names, tables = _names(kind), list(zip(told.tables, metric.columns, strict=True))
        named: dict[str, Callable[[], list[_Floats]]] = {
            TABLE: lambda: [table_without(own, column.mechanism, fakes) for own, column in tables],
            MARGINALS: lambda: [marginal_without(list(told.about(name)), own.values, fakes)
                                for name, own in zip(kind.of, told.marginals, strict=True)],
            CONDITIONALS: lambda: [ratios_without(tables[place][0], tables[place][1].mechanism, one, other, fakes)
                                   for place, one, other in _ordered(kind)],
        }  # fmt: skip
        keys = {TABLE: names.cells, MARGINALS: names.marginals, CONDITIONALS: names.conditionals}
        lines = [np.empty((2, 0))]
        for series in found.series:
            name = series.heading.name
            ends = np.hstack(named[name]()).T.tolist() if name in named else []
            known = dict(zip(keys.get(name, ()), ends, strict=True))
            rows = [known.get(row.key, (-np.inf, np.inf)) for row in series.rows]
            lines.append(np.array(rows, dtype=np.float64).reshape(-1, 2).T)
        return np.hstack(lines)

    def values_vary(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:
        """Of cells and marginals as much as bits that occur so often; the others are no means."""
        vary = super().values_vary(metric, found)
        for place, (where, row) in enumerate(zip(found.ids, found.rows, strict=True)):
            if where.series in {TABLE, MARGINALS}:
                vary[place] = varying(row, 0.0, 1.0)
        return vary

    def consistent(self, metric: Metric, found: Estimate) -> list[float | None]:
        """Each table such that its cells are shares of one whole, and what these add up to."""
        kind, names = _kind(metric), _names(_kind(metric))
        if not found.reports or len(found.rows) != names.rows:
            return super().consistent(metric, found)
        raw = np.array([row.value for row in found.series[0].rows])
        tables = [on_simplex(own).reshape(_sizes(kind, place)) for place, own in enumerate(_split(kind, raw))]
        told = [*(own.ravel() for own in tables), *_summed(kind, tables)]
        fitted = [None if math.isnan(value) else value for value in np.concatenate(told).tolist()]
        return [*fitted, *[None] * (2 * len(names.pairs))]

    def leading(self, metric: Metric, found: Estimate) -> RowId:
        """The strongest association."""
        own = next((series for series in found.series if series.heading.name == ASSOCIATION), None)
        if own is None:
            return super().leading(metric, found)
        return RowId(ASSOCIATION, min(own.rows, key=by_size).key)

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """How often each cell occurs, and what follows; of a conditional, where anybody is in what it is given."""
        kind, names = _kind(metric), _names(_kind(metric))
        sources = kind.of
        counted = Counter(map(itemgetter(*sources), values))
        tables = []
        for place, size in enumerate(kind.sizes):
            own = np.zeros(size)
            for cell, devices in counted.items():
                own[kind.place(dict(zip(sources, cell, strict=True)), place)] += devices
            tables.append(own.reshape(_sizes(kind, place)) / len(values))
        cells = np.concatenate([own.ravel() for own in tables]).tolist()
        rest = np.concatenate(list(_summed(kind, tables))).tolist()
        cut = len(names.marginals)
        told = {RowId(TABLE, key): share for key, share in zip(names.cells, cells, strict=True)}
        told |= {RowId(MARGINALS, key): share for key, share in zip(names.marginals, rest[:cut], strict=True)}
        known = zip(names.conditionals, rest[cut:], strict=True)
        told |= {RowId(CONDITIONALS, key): share for key, share in known if not math.isnan(share)}
        sizes = (_cramer(own) for own in _of_two(kind, tables))
        return told | {RowId(ASSOCIATION, key): size for key, size in zip(names.pairs, sizes, strict=True)}


def _wanted(keys: Sequence[str], wanted: Keys | None, series: str) -> list[int]:
    """The places of the rows of a series that are asked for."""
    own = None if wanted is None else set(wanted.get(series, ()))
    return [place for place, key in enumerate(keys) if own is None or key in own]


def _chosen(rows: tuple[Row, ...], wanted: Keys | None, series: str) -> tuple[Row, ...]:
    if wanted is None or len(rows) == len(wanted.get(series, ())):
        return rows
    own = set(wanted.get(series, ()))
    return tuple(row for row in rows if row.key in own)


def _rows(keys: Sequence[str], parts: Sequence[Shares], confidence: float, target: Target) -> tuple[Row, ...]:
    """Those of several parts, one after another."""
    rest = iter(keys)
    return tuple(
        row
        for part in parts
        for row in share_rows(list(itertools.islice(rest, len(part.values))), part, confidence, target)
    )


def _size(key: str, own: Association, confidence: float) -> Row:
    """V; its standard error is that of a normal interval so wide."""
    if not own.reports:
        return Row(key, math.nan, 0.0, 1.0, math.nan)
    below, above = own.interval(_ONE)
    return Row(key, own.value(), *own.interval(confidence), (above - below) / 2)


def _chance(key: str, own: Association) -> Row:
    return Row(key, own.chance(), 0.0, 1.0, math.nan)


_ONE = math.erf(1 / math.sqrt(2))
"""The confidence of an interval that reaches one standard error either way."""


def _ordered(kind: Joint) -> Iterator[tuple[int, int, int]]:
    """Of each table every two of its sources, in either order."""
    for place, about in enumerate(kind.tables):
        for one, other in itertools.permutations(range(len(about)), 2):
            yield place, one, other


def _unordered(kind: Joint) -> Iterator[tuple[int, int, int]]:
    """Of each table every two of its sources."""
    return (found for found in _ordered(kind) if found[1] < found[2])


def _sizes(kind: Joint, place: int) -> tuple[int, ...]:
    return tuple(len(kind.values(name)) for name in kind.tables[place])


def _split(kind: Joint, cells: _Floats) -> list[_Floats]:
    return np.split(cells, np.cumsum(kind.sizes)[:-1])


def _summed(kind: Joint, tables: Sequence[_Floats]) -> Iterator[_Floats]:
    """What tables say of marginals, of a target on average, and of conditionals; these are nan where nobody is."""
    for name in kind.of:
        every = [
            _over(own, about.index(name)) for own, about in zip(tables, kind.tables, strict=True) if name in about
        ]
        yield np.mean(every, axis=0)
    for place, one, other in _ordered(kind):
        pairs = _over(tables[place], other, one)
        among = pairs.sum(axis=1, keepdims=True)
        yield np.divide(pairs, among, out=np.full(pairs.shape, np.nan), where=among > 0).ravel()


def _over(own: _Floats, *axes: int) -> _Floats:
    """A table added up over all but some of its sources, in the order in which these are named."""
    others = tuple(axis for axis in range(own.ndim) if axis not in axes)
    return np.transpose(own.sum(axis=others), np.argsort(np.argsort(axes)))


def _of_two(kind: Joint, tables: Sequence[_Floats]) -> Iterator[_Floats]:
    return (_over(tables[place], one, other) for place, one, other in _unordered(kind))


def _cramer(pairs: _Floats) -> float:
    """V of two sources, whose values nobody has are left out of the squares, and not of how many there are."""
    together = np.outer(pairs.sum(axis=1), pairs.sum(axis=0))
    squares = np.divide((pairs - together) ** 2, together, out=np.zeros(pairs.shape), where=together > 0)
    return math.sqrt(min(float(squares.sum()) / (min(pairs.shape) - 1), 1.0))


@lru_cache(maxsize=64)
def _names(kind: Joint) -> _Names:
    def value(name: str) -> list[str]:
        return [f"{name}: {each}" for each in kind.values(name)]

    conditionals: list[str] = []
    pairs: list[str] = []
    for place, one, other in _ordered(kind):
        first, second = kind.tables[place][one], kind.tables[place][other]
        conditionals += [joined((own, among), GIVEN) for among in value(second) for own in value(first)]
        if one < other:
            pairs.append(joined((first, second)))
    cells = itertools.chain.from_iterable(kind.names(place) for place in range(len(kind.sizes)))
    marginals = itertools.chain.from_iterable(map(value, kind.of))
    return _Names(tuple(cells), tuple(marginals), tuple(conditionals), tuple(pairs))


def _about(kind: Joint, target: Target) -> Target:
    return Target.POPULATION if kind.pairs else target


def _kind(metric: Metric) -> Joint:
    assert isinstance(metric.kind, Joint)
    return metric.kind
