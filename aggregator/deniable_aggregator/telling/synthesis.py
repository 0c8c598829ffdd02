"""Synthesis: a data set that is drawn from an answer, for whoever works on rows and not on shares.

words:
  synthetic  a row that is drawn from the consistent view of an answer: it is no device's, and costs no privacy
  told       the shares that the answer has: of cells and marginals, of nodes, or of what lies below each boundary
  within     how far a share of the rows may be from the answer's

**How many rows.** Each told share of N rows drawn independently is off by more than a with a chance of at most
2 e^(-2 N a^2) (Hoeffding), so that all K are within a but for a chance of 2 K e^(-2 N a^2). The bound of the small
database (Blum, Ligett and Roth), log2(K) / a^2, promises that there is such a data set; one that is drawn is it but
for a chance of 2 K^-1.89, which is no promise for few shares (0.54 for two). So the larger number is taken.

Both are about the answer. How far that is from the devices its intervals say, and no number of rows makes it better.
Pairs of a joint tell what goes with the target alone: its features are drawn as if they were independent given that.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.kinds.joint import parted

__all__ = ["MISSED", "Synthesis", "reach", "rows_for", "synthesis", "to_csv", "to_parquet"]

MISSED = 0.05
"""The chance that some share of the rows is farther off than is said."""

_Floats = NDArray[np.float64]
_Rows = Sequence[dict[str, Any]]
_Column = NDArray[Any]


class Synthesis(NamedTuple):
    """What rows are drawn from."""

    columns: tuple[str, ...]
    """What is known of a row: the sources of a joint, or the metric."""
    told: int
    """How many shares the answer has."""
    error: float
    """The largest half of an interval of these."""
    note: str
    """What the rows do not have."""
    draw: Callable[[int, np.random.Generator], list[_Column]]
    """So many rows, a column after another."""


def rows_for(told: int, within: float) -> int:
    """How many rows it takes that all shares are within so much of the answer's."""
    if not 0 < within < 1:
        raise ValueError(f"rows are within a share between 0 and 1 of an answer, not {within}")
    drawn = math.log(2 * told / MISSED) / (2 * within**2)
    return math.ceil(max(drawn, math.log2(max(told, 1)) / within**2))


def reach(told: int, rows: int) -> float:
    """How far from the answer's any share of so many rows is, but for the chance `MISSED`."""
    return math.sqrt(math.log(2 * told / MISSED) / (2 * rows))


def synthesis(rows: _Rows) -> Synthesis:
    """What the rows of one answer, as a table has them, are drawn from; a ValueError where that can not be."""
    series: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        series.setdefault(row["series"], []).append(row)
    made = {"table": _joint, "curve": _distribution, "devices": _tree}
    name = next((each for each in made if each in series), None)
    if name is None:
        metric = rows[0]["metric"] if rows else "it"
        raise ValueError(
            f"{metric} is no joint, tree or distribution: its shares are all that there is to know of it"
        )
    if any(row["consistent"] is None for row in series[name]):
        raise ValueError(f"{series[name][0]['metric']} has no reports, or too few for a consistent view")
    return made[name](series)


def _joint(series: dict[str, list[dict[str, Any]]]) -> Synthesis:
    values: dict[str, list[str]] = {}
    for row in series["marginals"]:
        name, _, value = row["key"].partition(": ")
        values.setdefault(name, []).append(value)
    cells = series["table"]
    every = [*cells, *series["marginals"]]
    if all(len(parted(row["key"])) == len(values) and ": " not in row["key"].split(" / ")[0] for row in cells):
        names, shares = [parted(row["key"]) for row in cells], _shares(cells)

        def whole(rows: int, generator: np.random.Generator) -> list[_Column]:
            places = generator.choice(len(names), size=rows, p=shares)
            return [np.array([name[axis] for name in names], dtype=object)[places] for axis in range(len(values))]

        return Synthesis(tuple(values), len(every), _error(every), "", whole)
    return _pairs(values, cells, every)


def _pairs(values: dict[str, list[str]], cells: _Rows, every: _Rows) -> Synthesis:
    tables: dict[str, dict[tuple[str, ...], float]] = {}
    for row in cells:
        feature, _, cell = row["key"].partition(": ")
        tables.setdefault(feature, {})[parted(cell)] = row["consistent"]
    (target,) = values.keys() - tables.keys()
    shares = {
        name: np.array([[own[one, other] for other in values[name]] for one in values[target]])
        for name, own in tables.items()
    }
    prior = np.mean([own.sum(axis=1) for own in shares.values()], axis=0)

    def drawn(rows: int, generator: np.random.Generator) -> list[_Column]:
        classes = generator.choice(len(prior), size=rows, p=prior / prior.sum())
        found = {target: classes}
        for name, own in shares.items():
            ends = np.cumsum(own + 1e-12, axis=1)
            found[name] = (generator.random(rows)[:, np.newaxis] > (ends / ends[:, -1:])[classes, :-1]).sum(axis=1)
        return [np.array(own, dtype=object)[found[name]] for name, own in values.items()]

    note = f"features are drawn as if they were independent given {target}"
    return Synthesis(tuple(values), len(every), _error(every), note, drawn)


def _tree(series: dict[str, list[dict[str, Any]]]) -> Synthesis:
    nodes = series["shares"]
    inner = {row["parent"] for row in nodes}
    leaves = [row for row in nodes if row["key"] not in inner]
    names, shares = np.array([row["key"] for row in leaves], dtype=object), _shares(leaves)

    def drawn(rows: int, generator: np.random.Generator) -> list[_Column]:
        return [names[generator.choice(len(names), size=rows, p=shares)]]

    return Synthesis((nodes[0]["metric"],), len(nodes), _error(nodes), "", drawn)


def _distribution(series: dict[str, list[dict[str, Any]]]) -> Synthesis:
    curve = sorted(series["curve"], key=lambda row: float(row["key"]))
    bars = [row["key"].split(" to ") for row in series["histogram"]]
    ends = np.array([float(bars[0][0]), *(float(row["key"]) for row in curve), float(bars[-1][1])])
    below = np.array([0.0, *(row["consistent"] for row in curve), 1.0])
    shares = np.maximum(np.array([after - before for before, after in pairwise(below)]), 0)

    def drawn(rows: int, generator: np.random.Generator) -> list[_Column]:
        places = generator.choice(len(shares), size=rows, p=shares / shares.sum())
        return [ends[places] + (ends[places + 1] - ends[places]) * generator.random(rows)]

    note = "between two boundaries of the curve values are drawn evenly"
    return Synthesis((curve[0]["metric"],), len(curve), _error(curve), note, drawn)


def _shares(rows: _Rows) -> _Floats:
    shares = np.maximum(np.array([row["consistent"] for row in rows], dtype=np.float64), 0)
    found: _Floats = shares / shares.sum()
    return found


def _error(rows: _Rows) -> float:
    return max(float(row["high"] - row["low"]) / 2 for row in rows)


def to_csv(columns: Sequence[str], values: Sequence[_Column]) -> bytes:
    """A table with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(own.tolist() for own in values), strict=True))
    return text.getvalue().encode()


def to_parquet(columns: Sequence[str], values: Sequence[_Column]) -> bytes:
    """The content of a Parquet file; needs `pyarrow`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = io.BytesIO()
    pq.write_table(pa.table({name: own.tolist() for name, own in zip(columns, values, strict=True)}), content)
    return content.getvalue()
