"""Tree: one leaf of a hierarchy, by its levels.

words:
  path       the names of a node and of all above it, from the top, with a slash between two: europe/france
  node       a place of the hierarchy, called by its path
  leaf       a node with none below it: what a device has; leaves need not be equally deep
  carried    of a leaf that is not as deep as others: it is a node of every level further down as well
  known      of a node what share of all devices is there, from elsewhere; in answers it is kept, and all else fits it

A device answers one level, that it draws: which node of that level its leaf is in. Shallow levels have few nodes,
each of many devices; what they say and what deeper ones say of the same nodes is fitted together.
"""

from __future__ import annotations

import io
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from deniable._section import Section, a_number, a_table, distinct_texts
from deniable.kinds import _levels
from deniable.kinds._levelled import Levelled
from deniable.kinds._names import check_name, literal

__all__ = ["BETWEEN", "Tree", "nearest_known"]

BETWEEN = "/"
"""Stands between two names of a path."""
MOST_LEAVES = 1 << 14
MOST_LEVELS = 16

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tree(Levelled):
    """One of the leaves that have these `paths`."""

    name: ClassVar[str] = "tree"
    reducers: ClassVar[tuple[str, ...]] = ("last", "sample")

    paths: tuple[str, ...]
    known: tuple[tuple[str, Fraction], ...] = ()
    """Nodes whose shares are known."""
    nodes: tuple[tuple[str, ...], ...] = field(init=False, repr=False, compare=False)
    """The paths of every level's nodes, siblings side by side, in the order in which they are first named."""
    above: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    """For every node of each level the place of its parent in the level above; in the first level 0."""
    index: dict[str, tuple[int, ...]] = field(init=False, repr=False, compare=False)
    """For every leaf its node's place in each level."""

    def __post_init__(self) -> None:
        paths = _ordered([_names(path) for path in self.paths])
        nodes: list[list[str]] = []
        above: list[list[int]] = []
        index: dict[str, list[int]] = {BETWEEN.join(path): [] for path in paths}
        for depth in range(1, max(map(len, paths)) + 1):
            nodes.append([])
            above.append([])
            for path, places in zip(paths, index.values(), strict=True):
                node = BETWEEN.join(path[:depth])
                if not nodes[-1] or nodes[-1][-1] != node:
                    nodes[-1].append(node)
                    above[-1].append(places[-1] if places else 0)
                places.append(len(nodes[-1]) - 1)
        for depth, (before, after) in enumerate(pairwise([1, *map(len, nodes)]), 1):
            if before == after:
                raise ValueError(
                    f"level {depth} has as many nodes as the one above it, and tells nothing: leave it out"
                )
        object.__setattr__(self, "nodes", tuple(map(tuple, nodes)))
        object.__setattr__(self, "above", tuple(map(tuple, above)))
        object.__setattr__(self, "index", {leaf: tuple(places) for leaf, places in index.items()})
        _check_known(dict(self.known), {node for level in nodes for node in level}, index)

    @classmethod
    def read(cls, section: Section) -> Tree | None:
        """Reads `paths`, a list or the name of a CSV file with a line for each, and `known`, shares by node."""
        paths = section.take("paths", _listed_or_named)
        if isinstance(paths, str):
            paths = _of_file(section)
        nothing: tuple[tuple[str, Fraction], ...] = ()
        known = section.take("known", _shares, nothing)
        if paths is None or known is None:
            return None
        key = "paths"
        try:
            found = cls(paths)
            key = "known"
            return replace(found, known=known) if known else found
        except ValueError as error:
            section.wrong(key, str(error))
            return None

    def parameters(self) -> dict[str, Any]:
        """The paths, wherever they stood, in their order, and what is known of nodes."""
        known = {node: str(share) for node, share in self.known}
        return {"paths": list(self.paths)} | ({"known": known} if known else {})

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has."""
        return tuple(map(len, self.nodes))

    def slopes(self, variances: Sequence[float]) -> _levels.Slopes:
        """As `slopes` says of these sizes."""
        return slopes(self.sizes, variances)

    def check(self, value: Any) -> str:
        """Takes the path of a leaf."""
        return check_name(value, self.index, "leaves of this tree")

    def apart(self) -> tuple[str, str]:
        """The first leaf and the last one, which have no node in common."""
        leaves = list(self.index)
        return leaves[0], leaves[-1]

    @property
    def annotation(self) -> str:
        """Values are some of these texts."""
        return literal(self.index)

    def names(self, place: int) -> tuple[str, ...]:
        """Payloads of a level are called by the paths of its nodes."""
        return self.nodes[place]

    def place(self, value: str, level: int) -> int:
        """The node that the leaf is in."""
        return self.index[value][level]


def slopes(sizes: Sequence[int], variances: Sequence[float]) -> _levels.Slopes:
    """How the sum over the levels of a node's variance falls with the share of each level, if all nodes are alike.

    Of a node's variance, what is left once its parent is known is a part (g - 1) / g of what it and all below it say,
    where a parent has g children; and it has a part 1 / g^2 of its parent's.
    """
    growth = [float(sizes[0]), *(after / before for before, after in pairwise(sizes))]
    constants, counted = [], 0.0
    for each in reversed(growth):
        counted += 1
        constants.append((each - 1) / each * counted)
        counted /= each * each
    constants.reverse()
    return _levels.falling(growth, variances, constants)


def _names(path: str) -> _Path:
    """The names of a path."""
    names = tuple(path.split(BETWEEN))
    if len(names) > MOST_LEVELS:
        raise ValueError(f"{path!r} has {len(names)} names: {MOST_LEVELS} are the most")
    if any(not name or name.strip() != name or not name.isprintable() for name in names):
        raise ValueError(f"{path!r} is no path: names with a {BETWEEN} between two, such as europe/france")
    return names


def _ordered(paths: Sequence[_Path]) -> list[_Path]:
    """The paths with siblings side by side: in the order in which each node is first named."""
    first: dict[_Path, int] = {}
    for number, path in enumerate(paths):
        for depth in range(1, len(path) + 1):
            first.setdefault(path[:depth], number)
    inner = {path[:depth] for path in paths for depth in range(1, len(path))}
    for path in paths:
        if path in inner:
            raise ValueError(f"{BETWEEN.join(path)!r} is a leaf, and there are others below it")
    return sorted(paths, key=lambda path: [first[path[:depth]] for depth in range(1, len(path) + 1)])


def _shares(value: Any) -> tuple[tuple[str, Fraction], ...]:
    """Reads a table of shares by their nodes' paths."""
    return tuple((node, a_number(share)) for node, share in a_table(value).items())


def nearest_known(node: str, known: Container[str]) -> str:
    """The path of the nearest node above one that is known; empty where it is all devices."""
    above = node.rpartition(BETWEEN)[0]
    return above if not above or above in known else nearest_known(above, known)


def _check_known(known: Mapping[str, Fraction], nodes: Container[str], leaves: Iterable[str]) -> None:
    """A ValueError where not all of it can be so."""
    below = dict.fromkeys(["", *known], Fraction(0))
    for node, share in known.items():
        if node not in nodes:
            raise ValueError(f"has no node {node!r}")
        if not 0 <= share <= 1:
            raise ValueError(f"a share of all devices is from 0 to 1, not {float(share):g}")
        below[nearest_known(node, known)] += share
    more = {nearest_known(leaf, known) for leaf in leaves if leaf not in known}
    for node, part in below.items():
        whole = known.get(node, Fraction(1))
        if part > whole or (0 < part < whole and node not in more):
            name = repr(node) if node else "all of it"
            raise ValueError(f"{name} is known to be {float(whole):g}, and what is known below it {float(part):g}")


def _listed_or_named(value: Any) -> tuple[str, ...] | str:
    """Reads a list of paths, or the name of a file."""
    return value if isinstance(value, str) else distinct_texts(2, MOST_LEAVES)(value)


def _of_file(section: Section) -> tuple[str, ...] | None:
    """The paths of a CSV file; None where it has problems."""
    import csv  # by those who have such a file

    file = section.file("paths")
    if file is None:
        return None
    found: dict[str, int] = {}
    problems = []
    lines = csv.reader(io.StringIO(file.text), strict=True)
    try:
        for cells in lines:
            path = _path(cells)
            if path in found:
                problems.append((lines.line_num, f"has {path!r} twice: first in line {found[path]}"))
            elif path:
                found[path] = lines.line_num
    except (csv.Error, ValueError) as error:
        problems.append((lines.line_num, str(error)))
    for line, problem in problems:
        section.wrong("paths", problem, file.at(line))
    if not problems and not 2 <= len(found) <= MOST_LEAVES:
        section.wrong("paths", f"must have 2 to {MOST_LEAVES} paths, not {len(found)}", file.label)
        return None
    return None if problems else tuple(found)


def _path(cells: Sequence[str]) -> str:
    """The path of a line, whose last cells may be empty; empty where all of them are."""
    names = [cell.strip() for cell in cells]
    while names and not names[-1]:
        names.pop()
    path = BETWEEN.join(names)
    if any(BETWEEN in name for name in names):
        raise ValueError(f"a name has no {BETWEEN}: {path!r}")
    if names:
        _names(path)
    return path
