"""From counters to estimates: one mechanism a file, as on the client's side, registered here by its name.

A file has what its mechanism can estimate, each as a function of the mechanism and its column's counters:

  frequencies   how often each of the mechanism's answers occurs
  means         where on its range a quantity lies on average
  ranks         how often each place of an order occurs, and which is the mean
  entries       what each entry of a vector is on average

What kinds of several columns make of them is here as well: `fit`, one tree out of what is told of its levels, and
`discovered`, the words that stand out of what is told of their cells.

The file of a wrapper has `through` in place of `frequencies`: it takes what the wrapped mechanism's file makes of the
counters. docs/adding.md walks through adding one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism, Memory
from deniable_aggregator.estimators import (
    bitwise_response,
    codewords,
    exponential,
    gaussian,
    hybrid,
    laplace,
    memoized,
    memoized_bitwise,
    memoized_subset,
    pad_and_sample,
    projective_geometry,
    randomized_response,
    subset_selection,
    vector_laplace,
)
from deniable_aggregator.estimators._association import Association, association
from deniable_aggregator.estimators._coins import Drawn, drawn
from deniable_aggregator.estimators._contributions import (
    Contributions,
    Part,
    named,
    of_answer,
    of_levels,
    of_vector,
    reached,
    rest,
    summed,
)
from deniable_aggregator.estimators._frequencies import Frequencies
from deniable_aggregator.estimators._impossible import (
    added_up,
    idle_chances,
    level_chances,
    mean_chances,
    share_chances,
    vector_chances,
)
from deniable_aggregator.estimators._intervals import simultaneous
from deniable_aggregator.estimators._levels import Fit, Told, Tree, told
from deniable_aggregator.estimators._means import Means, OneBit
from deniable_aggregator.estimators._ranks import Ranks, Shares
from deniable_aggregator.estimators._readings import Spread
from deniable_aggregator.estimators._tables import Conditionals, Sums, Table
from deniable_aggregator.estimators._target import Target
from deniable_aggregator.estimators._vectors import Entries
from deniable_aggregator.estimators._words import (
    FALSE,
    Cells,
    Found,
    Listed,
    discovered,
    found_of,
    frequent,
    seen_from,
)

__all__ = [
    "FALSE",
    "ROOMS",
    "Association",
    "Cells",
    "Conditionals",
    "Contributions",
    "Drawn",
    "Entries",
    "Fit",
    "Found",
    "Frequencies",
    "Listed",
    "Means",
    "OneBit",
    "Part",
    "Ranks",
    "Shares",
    "Spread",
    "Sums",
    "Table",
    "Target",
    "Told",
    "Tree",
    "added_up",
    "association",
    "discovered",
    "divisible",
    "drawn",
    "entries",
    "expected",
    "farthest",
    "fit",
    "found_of",
    "frequencies",
    "frequent",
    "idle",
    "idle_chances",
    "level_chances",
    "mean_chances",
    "means",
    "named",
    "of_answer",
    "of_levels",
    "places",
    "ranks",
    "reached",
    "rest",
    "seen_from",
    "share_chances",
    "simultaneous",
    "summed",
    "table",
    "vector_chances",
]

ROOMS: dict[str, ModuleType] = {
    room.__name__.rpartition(".")[2]: room
    for room in (
        randomized_response,
        subset_selection,
        projective_geometry,
        laplace,
        hybrid,
        memoized,
        exponential,
        bitwise_response,
        memoized_bitwise,
        memoized_subset,
        pad_and_sample,
        gaussian,
        vector_laplace,
        codewords,
    )
}
"""The file of every mechanism, by its name."""


def _of(mechanism: Mechanism, what: str) -> Callable[..., Any]:
    """What the mechanism's file has."""
    room = ROOMS[mechanism.name]
    if not hasattr(room, what):
        raise TypeError(f"{mechanism.name} estimates no {what}")
    found: Callable[..., Any] = getattr(room, what)
    return found


def frequencies(mechanism: Mechanism, counters: NDArray[np.int64]) -> Frequencies:
    """How often each of the mechanism's answers occurs."""
    if mechanism.wrapped is None:
        found: Frequencies = _of(mechanism, "frequencies")(mechanism, counters)
    else:
        found = _of(mechanism, "through")(mechanism, frequencies(mechanism.wrapped, counters))
    return found


def divisible(mechanism: Mechanism) -> bool:
    """Whether counters of fewer reports may be parts of whole ones."""
    while mechanism.wrapped is not None:
        mechanism = mechanism.wrapped
    return getattr(ROOMS[mechanism.name], "DIVISIBLE", False)


def fit(mechanisms: Sequence[Mechanism], tree: Tree, counters: Sequence[NDArray[np.int64]]) -> Fit:
    """One tree out of the counters of its levels, each with its mechanism."""
    pairs = zip(mechanisms, counters, strict=True)
    return Fit(tree, [told(mechanism, frequencies(mechanism, own)) for mechanism, own in pairs])


def table(mechanism: Mechanism, counters: NDArray[np.int64], sizes: Sequence[int]) -> Table:
    """What goes together, where the mechanism's answers are the cells of a table."""
    found, remembered = told(mechanism, frequencies(mechanism, counters)), None
    if isinstance(mechanism, Memory):
        first = mechanism.permanent
        near, far = first.both
        remembered = float(first.p), float(first.q), float(near), float(far)
    return Table(found, tuple(sizes), remembered)


def expected(mechanisms: Sequence[Mechanism], tree: Tree, shares: Sequence[float], reports: int) -> Fit:
    """The fit of so many reports, of which each level has its share, where as many devices are in each leaf."""
    levels = [
        told(mechanism, frequencies(mechanism, np.zeros(mechanism.shape.counters, dtype=np.int64)))
        for mechanism in mechanisms
    ]
    alike = tree.alike()
    every = zip(levels, alike, shares, strict=True)
    return Fit(
        tree, [own._replace(values=values, reports=max(round(reports * share), 1)) for own, values, share in every]
    )


def means(mechanism: Mechanism, counters: NDArray[np.int64]) -> Means | OneBit:
    """Where on its range a quantity lies on average; mechanisms that count tell it from one of two ends."""
    if not hasattr(ROOMS[mechanism.name], "means"):
        return OneBit(frequencies(mechanism, counters))
    found: Means = _of(mechanism, "means")(mechanism, counters)
    return found


def tells_spread(mechanism: Mechanism) -> bool:
    """Whether reports of a quantity tell how much devices differ: one of two ends does not."""
    return hasattr(ROOMS[mechanism.name], "means")


def ranks(mechanism: Mechanism, counters: NDArray[np.int64]) -> Ranks:
    """How often each place of an order occurs, and which is the mean."""
    found: Ranks = _of(mechanism, "ranks")(mechanism, counters)
    return found


def entries(mechanism: Mechanism, counters: NDArray[np.int64]) -> Entries:
    """What each entry of a vector is on average."""
    found: Entries = _of(mechanism, "entries")(mechanism, counters)
    return found


def farthest(mechanism: Mechanism) -> tuple[float, float]:
    """How far from 0 one entry of a vector can be that is sent, and how long all of it: in steps of the grid."""
    nothing = np.zeros(mechanism.shape.counters, dtype=np.int64)
    return of_vector(mechanism.shape, entries(mechanism, nothing).step)


def places(mechanism: Mechanism) -> tuple[float, float]:
    """The least and the greatest place that a report of a quantity counts as, on its range or beyond it."""
    found = [mechanism.place_of(payload) for payload in (0, mechanism.shape.size - 1)]
    least, most = (0.0 if each is None else each for each in found)
    return least, most


def idle(mechanism: Mechanism, counters: NDArray[np.int64]) -> tuple[NDArray[np.int64], float] | None:
    """How many reports support each of what stands for no answer, and with which chance each does, whatever devices
    answer; None where everything that can be sent stands for some."""
    inner = mechanism
    while inner.wrapped is not None:
        inner = inner.wrapped
    room = ROOMS[inner.name]
    found: tuple[NDArray[np.int64], float] | None = room.idle(inner, counters) if hasattr(room, "idle") else None
    return found
