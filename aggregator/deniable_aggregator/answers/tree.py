"""Tree: the share of every node of a hierarchy, and how many devices that is, in whole numbers that add up.

Both series are of one estimate, fitted to what is told of all levels: children add up to their parents in it as
well, but some of it may be negative, and none of it is a whole number. The consistent view is: of all non-negative
whole numbers in which children add up to their parents, and the first level to the reports that there are, the
nearest ones, each error in units of the standard error. Of shares it is these numbers' part of the reports.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Tree as Kind
from deniable.kinds.tree import BETWEEN, nearest_known
from deniable_aggregator.answers._estimate import Estimate, Heading, Measure, Row, RowId, Series
from deniable_aggregator.answers._room import Counters, Room, varying
from deniable_aggregator.answers._shares import SHARES
from deniable_aggregator.consistency import ContradictionError, Hierarchy, integers, nonnegative
from deniable_aggregator.estimators import Fit, Target, Tree, fit, reached

__all__ = ["DEVICES", "TreeRoom", "hierarchy_of", "whole_numbers"]

_Floats = NDArray[np.float64]

DEVICES = "devices"
"""The series of whole numbers."""
_WHOLE = 10**9
"""Shares are fitted as so many parts of all devices, of which whole numbers are known."""
_HEADINGS = (Heading(SHARES, Measure.SHARE), Heading(DEVICES, Measure.TOTAL, "devices"))


class TreeRoom(Room):
    """Two series, each with a row a node: those below a node after it, and it is their parent."""

    kind = Kind
    view = "tree"
    combines = True

    def headings(self, metric: Metric) -> tuple[Heading, ...]:  # noqa: ARG002
        """Shares, and numbers of devices."""
        return _HEADINGS

    def answer(self, metric: Metric, counters: Counters, confidence: float, target: Target) -> Estimate:
        """The devices that have drawn a level are a random sample of those that reported: also where these alone are
        meant, an interval has to account for sampling."""
        shape = _shape(_kind(metric))
        fitted = fit([column.mechanism for column in metric.columns], shape.tree, counters)
        values, errors, low, high = shape.read(fitted, NormalDist().inv_cdf((1 + confidence) / 2))
        if not fitted.reports:
            values, errors, low, high = (np.full(len(values), each) for each in (math.nan, math.nan, 0.0, 1.0))
        series = []
        for heading, whole in zip(_HEADINGS, (1, fitted.reports), strict=True):
            columns = ((whole * numbers).tolist() for numbers in (values, low, high, errors))
            lines = zip(shape.nodes, *columns, shape.above, strict=True)
            series.append(Series(heading, tuple(Row(*line) for line in lines)))
        return Estimate(metric.name, fitted.reports, tuple(series), confidence, target)

    def without(self, metric: Metric, counters: Counters, found: Estimate, fakes: float) -> _Floats:
        """Of a node by what each level says of it, at the weights that levels have in this answer."""
        kind, mechanisms = _kind(metric), [column.mechanism for column in metric.columns]
        shape = _shape(kind)
        fitted, keys = fit(mechanisms, shape.tree, counters), list(dict.fromkeys(row.key for row in found.rows))
        paths = [{names[place] for names, place in zip(kind.nodes, own, strict=True)} for own in kind.index.values()]
        leaves = np.array([[key in path for key in keys] for path in paths], dtype=np.float64)
        down, up = reached(fitted, mechanisms, leaves, fakes)
        moved = dict(zip(keys, zip(down.tolist(), up.tolist(), strict=True), strict=True))
        lines = []
        for heading, row in zip(found.headings, found.rows, strict=True):
            less, more = moved[row.key]
            whole, rest = (1.0, 1.0) if heading.name == SHARES else (fitted.reports, fitted.reports - fakes)
            low, high = row.value / whole - more, row.value / whole + less
            lines.append((min(low * rest, low * whole), max(high * rest, high * whole)))
        return np.array(lines).T

    def truth(self, metric: Metric, values: Sequence[Any]) -> Mapping[RowId, float]:
        """How many devices are at each node or below it."""
        kind = _kind(metric)
        counted: Counter[str] = Counter()
        for leaf, devices in Counter(values).items():
            for node in {names[place] for names, place in zip(kind.nodes, kind.index[leaf], strict=True)}:
                counted[node] += devices
        nodes = _shape(kind).nodes
        shares = {RowId(SHARES, node): counted[node] / len(values) for node in nodes}
        return shares | {RowId(DEVICES, node): float(counted[node]) for node in nodes}

    def row_count(self, metric: Metric) -> int:
        """Two a node."""
        return len(_HEADINGS) * len(_shape(_kind(metric)).nodes)

    def swaying(self, metric: Metric, most: int) -> int:
        """All of them for each node."""
        nodes = len(_shape(_kind(metric)).nodes)
        return nodes * min(nodes, most or nodes)

    def shared(
        self,
        metric: Metric,  # noqa: ARG002
        counters: Counters,  # noqa: ARG002
        pooled: Estimate,
        spread: Sequence[float],  # noqa: ARG002
    ) -> NDArray[np.float64]:
        """What of the variance of each row is of what devices keep: that of their leaves, whatever levels they draw,
        by the share which is nearest to a half of all in its interval."""
        rows = pooled.series[0].rows
        low, high, errors = (np.array([getattr(row, part) for row in rows]) for part in ("low", "high", "std_error"))
        nearest = np.clip(0.5, low, high)
        with np.errstate(invalid="ignore"):
            parts = nearest * (1 - nearest) / (pooled.reports * np.square(errors))
        return np.tile(np.clip(np.nan_to_num(parts, nan=1.0), 0.0, 1.0), (3, len(_HEADINGS)))

    def ends(self, metric: Metric, found: Estimate) -> _Floats:
        """Of devices, none and all that there are."""
        ends = super().ends(metric, found)
        for place, heading in enumerate(found.headings):
            if heading.name == DEVICES:
                ends[:, place] = 0, found.size
        return ends

    def values_vary(self, metric: Metric, found: Estimate) -> NDArray[np.float64]:  # noqa: ARG002
        """Shares as much as bits that occur so often."""
        shares = [heading.name == SHARES for heading in found.headings]
        return np.array(
            [varying(row, 0.0, 1.0) if own else math.inf for row, own in zip(found.rows, shares, strict=True)]
        )

    def consistent(self, metric: Metric, found: Estimate) -> list[float | None]:
        """Whole numbers of devices, and what share of the reports these are, with what is known of nodes.

        Where shares alone are told, as of a weighted answer: the nearest that add up, and of which none is negative.
        """
        return _fitted(found, dict(_kind(metric).known))

    def consistent_part(self, metric: Metric, found: Estimate) -> list[float | None]:
        """The same; of a part of the devices no more is known than where nobody is."""
        return _fitted(found, {node: share for node, share in _kind(metric).known if not share})


def _fitted(found: Estimate, known: Mapping[str, Fraction]) -> list[float | None]:
    if not _is_known(found):
        return [None] * len(found.rows)
    if [series.heading.name for series in found.series] == [SHARES]:
        totals = _apportioned(known, _WHOLE)
        tree, values, weights = _fitting(found.rows)
        given = np.array([_WHOLE, *(totals.get(row.key, -1) for row in found.rows)])
        return [*map(float, nonnegative(tree, _WHOLE * values, weights, given)[1:] / _WHOLE)]
    whole = round(found.size)
    devices = whole_numbers(found, _apportioned(known, whole)).values()
    return [*(own / whole for own in devices), *map(float, devices)]


def _apportioned(known: Mapping[str, Fraction], whole: int) -> dict[str, int]:
    """How many of a whole the nodes are whose shares are known, so that all of it fits together: the whole is a line,
    on which each node has a piece of its parent's, and the ends of pieces are rounded."""
    used, found = {"": Fraction(0)}, {}
    for node in sorted(known, key=lambda node: node.count(BETWEEN)):
        above = nearest_known(node, known)
        start, end = used[above], used[above] + known[node]
        used[above], used[node] = end, start
        found[node] = round(whole * end) - round(whole * start)
    return found


def whole_numbers(found: Estimate, known: Mapping[str, int] | None = None) -> dict[str, int]:
    """How many devices are at each node of a tree and below it, in whole numbers: the nearest to its answer in which
    children add up to their parents, the first level to all devices, and nodes that are known (by their paths, such
    as those where nobody is) are what they are.

    A LookupError where there is no such node; a ValueError where totals contradict each other, or nothing is known.
    """
    if found.series[0].heading.name != SHARES or found.series[-1].heading.name != DEVICES or not _is_known(found):
        raise ValueError(f"{found.metric} is no tree, or has no reports")
    rows = found.series[-1].rows
    if strange := sorted(set(known or ()) - {row.key for row in rows}):
        raise LookupError(f"{found.metric} has no node {strange[0]!r}")
    totals = np.array([round(found.size), *((known or {}).get(row.key, -1) for row in rows)])
    try:
        devices = integers(*_fitting(rows), totals)
    except ContradictionError as error:
        node = ["all of it", *(repr(row.key) for row in rows)][error.node]
        raise ValueError(f"{node} is known to be {error.total}, and what is known below it {error.below}") from error
    return dict(zip([row.key for row in rows], devices[1:].tolist(), strict=True))


def _fitting(rows: Sequence[Row]) -> tuple[Hierarchy, _Floats, _Floats]:
    """The nodes of some rows below one that is all of them, what is estimated of each, and how much that weighs."""
    places = {"": 0} | {row.key: place for place, row in enumerate(rows, 1)}
    values, errors = (np.array([getattr(row, part) for row in rows]) for part in ("value", "std_error"))
    tree = Hierarchy.of(np.array([-1, *(places[row.parent] for row in rows)]))
    return tree, np.concatenate([[0.0], values]), np.concatenate([[0.0], np.square(errors.min() / errors)])


def _is_known(found: Estimate) -> bool:
    rows = found.rows
    return (
        bool(rows)
        and found.reports > 0
        and all(math.isfinite(row.value) and 0 < row.std_error < math.inf for row in rows)
    )


def hierarchy_of(kind: Kind) -> Tree:
    """The nodes of every level, each with its parent."""
    return _shape(kind).tree


class _Shape(NamedTuple):
    """What a kind's answers are of."""

    tree: Tree
    """The nodes of every level."""
    nodes: tuple[str, ...]
    """The path of every node once, those below a node after it."""
    above: tuple[str, ...]
    """Of each its parent's path; empty for those of the first level."""
    places: tuple[tuple[int, ...], ...]
    """For every level, which of its nodes are not in the level above, by their place;"""
    rows: tuple[tuple[int, ...], ...]
    """and where they are among all nodes."""

    def read(self, fitted: Fit, reach: float) -> _Floats:
        """The share of every node, its standard error, and the ends of its interval."""
        found = np.empty((4, len(self.nodes)))
        for level, (places, rows) in enumerate(zip(self.places, self.rows, strict=True)):
            own = np.array(places, dtype=np.intp)
            spread = fitted.nodes(level, own)
            found[:, list(rows)] = fitted.shares[level][own], np.sqrt(spread.variances), *spread.ends(reach)
        found[2:] = np.clip(found[2:], 0, 1)
        return found


@lru_cache(maxsize=64)
def _shape(kind: Kind) -> _Shape:
    parents = tuple(np.array(above, dtype=np.intp) for above in kind.above)
    first: dict[str, tuple[int, int]] = {}
    above: dict[str, str] = {}
    for level, names in enumerate(kind.nodes):
        for place, node in enumerate(names):
            if node not in first:
                first[node] = level, place
                above[node] = kind.nodes[level - 1][kind.above[level][place]] if level else ""
    nodes: dict[str, int] = {}
    for places in kind.index.values():
        for names, place in zip(kind.nodes, places, strict=True):
            nodes.setdefault(names[place], len(nodes))
    levels: list[list[tuple[int, int]]] = [[] for _ in kind.nodes]
    for node, (level, place) in first.items():
        levels[level].append((place, nodes[node]))
    return _Shape(
        Tree(parents),
        tuple(nodes),
        tuple(above[node] for node in nodes),
        tuple(tuple(place for place, _ in level) for level in levels),
        tuple(tuple(row for _, row in level) for level in levels),
    )


def _kind(metric: Metric) -> Kind:
    assert isinstance(metric.kind, Kind)
    return metric.kind
