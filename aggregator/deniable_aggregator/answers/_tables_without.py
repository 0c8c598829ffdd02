"""A joint without some fakes: cells, sums of them, and ratios of sums.

A report contributes to a sum of cells by how many of them it supports, and where a device draws one of several
tables, fakes choose which. A conditional is a ratio of two sums, each of which a report moves: among all that one
could support of either, the ratio is least and greatest at a corner. Of an association nothing is bounded: fakes that
agree on which values they claim together make any two sources look as if they had to do with each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism
from deniable_aggregator.estimators import Contributions, Part, Sums, Table, named, rest, summed

__all__ = ["marginal_without", "ratios_without", "table_without"]

_Floats = NDArray[np.float64]
_WHOLE = Contributions.between(0.0, 1.0)


def table_without(table: Table, mechanism: Mechanism, fakes: float) -> _Floats:
    """Of each cell."""
    found = _contributions(table, mechanism, 1)
    return np.stack(rest(table.told.values, found, fakes / max(table.reports, 1)))


def marginal_without(tables: Sequence[tuple[Table, Mechanism, int]], values: _Floats, fakes: float) -> _Floats:
    """Of each value of a source, by the tables that it is in and its place in each."""
    if len(tables) == 1:
        ((table, mechanism, axis),) = tables
        found = _contributions(table, mechanism, table.cells(axis))
        return np.stack(rest(values, found, fakes / max(table.reports, 1)))
    known = [each for each in tables if each[0].reports]
    weights = Sums.weights([table.marginal(axis) for table, _, axis in known])
    parts = []
    for weight, (table, mechanism, axis) in zip(weights.tolist(), known, strict=True):
        said, each = _contributions(table, mechanism, table.cells(axis)), table.summed(axis)
        ends = (Contributions(*(weight * own for own in pair)) for pair in (said, _WHOLE))
        parts.append(Part(table.reports, weight * each, *ends))
    down, up = summed(parts, fakes)
    return np.stack([values - up, values + down])


def ratios_without(table: Table, mechanism: Mechanism, axis: int, given: int, fakes: float) -> _Floats:
    """Of each conditional of a source's values, given another one's; infinite where all ratios are possible."""
    share, ratios = fakes / max(table.reports, 1), table.conditionals(axis, given)
    ends = np.tile([[-np.inf], [np.inf]], (1, len(ratios.part)))
    if share >= 1:
        return ends
    few, many = table.cells(axis, given), table.cells(given)
    told, size = table.told, len(table.told.values)
    parts, among = [ratios.part], [ratios.among]
    for own, others in _corners(mechanism, few, many - few, size - many):
        said = ((count - cells * told.q) / (told.p - told.q) for count, cells in ((own, few), (own + others, many)))
        part, whole = said
        parts.append((ratios.part - share * part) / (1 - share))
        among.append((ratios.among - share * whole) / (1 - share))
    every, below = np.stack(parts), np.stack(among)
    known = (below > 0).all(axis=0)
    quotients = np.divide(every, below, out=np.zeros(every.shape), where=below > 0)
    ends[:, known] = quotients.min(axis=0)[known], quotients.max(axis=0)[known]
    return ends


def _contributions(table: Table, mechanism: Mechanism, cells: int) -> Contributions:
    """Of a report to a sum of so many cells."""
    told = table.told
    counts = named(mechanism, cells, len(told.values))
    least, most = ((own - cells * told.q) / (told.p - told.q) for own in counts)
    return Contributions.between(least, most)


def _corners(mechanism: Mechanism, own: int, others: int, beyond: int) -> Iterator[tuple[int, int]]:
    """How many cells one report can support of a sum's own, and of the others that it is a part of: at the corners of
    all that is possible."""
    most = mechanism.supported
    least = max(most - beyond, 0) if mechanism.naming is not None else 0
    for first, swapped in itertools.product((0, 1), repeat=2):
        sizes = (others, own) if swapped else (own, others)
        one = min(most, sizes[0]) if first else max(least - sizes[1], 0)
        for other in {max(least - one, 0), min(most - one, sizes[1])}:
            yield (other, one) if swapped else (one, other)
