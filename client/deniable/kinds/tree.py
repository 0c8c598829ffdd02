"""Tree: one leaf of a hierarchy, by its levels.

words:
  path       the names of a node and of all above it, from the top, with a slash between two: europe/france
  node       a place of the hierarchy, called by its path
  leaf       a node with none below it: what a device has; leaves need not be equally deep
  carried    of a leaf that is not as deep as others: it is a node of every level further down as well

A device answers one level, that it draws: which node of that level its leaf is in. Shallow levels have few nodes,
each of many devices; what they say and what deeper ones say of the same nodes is fitted together.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

from deniable._section import Section, distinct_texts
from deniable.kinds import _levels
from deniable.kinds._levelled import Levelled
from deniable.kinds._names import check_name, literal

__all__ = ["BETWEEN", "Tree"]

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

    @classmethod
    def read(cls, section: Section) -> Tree | None:
        """Reads `paths`: a list of them, or the name of a CSV file with a line for each."""
        paths = section.take("paths", _listed_or_named)
        if isinstance(paths, str):
            paths = _of_file(section)
        if paths is None:
            return None
        try:
            return cls(paths)
        except ValueError as error:
            section.wrong("paths", str(error))
            return None

    def parameters(self) -> dict[str, Any]:
        """The paths, wherever they stood, in their order."""
        return {"paths": list(self.paths)}

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


def _listed_or_named(value: Any) -> tuple[str, ...] | str:
    """Reads a list of paths, or the name of a file."""
    return value if isinstance(value, str) else distinct_texts(2, MOST_LEAVES)(value)


def _of_file(section: Section) -> tuple[str, ...] | None:
    """The paths of a CSV file; None where it has problems."""
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
