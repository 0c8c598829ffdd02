"""A tree: which node of each level a leaf is in, which level a device draws, and that no leaf shows in the draw."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from deniable import Collection, CollectionError, InvalidValueError
from deniable.kinds import Tree, _levels
from deniable.kinds.tree import slopes
from deniable.randomness import WORD
from support.asked import LINKABLE, ONCE, asked, refused

PATHS = ["west/c/d", "north/a", "south", "north/b", "west/f", "west/c/e"]
LISTED = f"paths = {PATHS}\nepsilon = 1\n".replace("'", '"')
FILE = """\
[collection]
name = "one"
epoch = "1d"
owner = "a"
[budget]
epoch = 40
[metrics.region]
kind = "tree"
description = "d"
epsilon = 1.0
paths = "data/regions.csv"
"""


def listed(more: str = "") -> Tree:
    """The kind of these paths."""
    kind = asked("tree", LISTED + more).kind
    assert isinstance(kind, Tree)
    return kind


def test_siblings_are_side_by_side_and_leaves_are_carried_down() -> None:
    """Nodes are in the order in which they are first named; a leaf is a node of all further levels, too."""
    kind = listed()
    assert kind.nodes == (
        ("west", "north", "south"),
        ("west/c", "west/f", "north/a", "north/b", "south"),
        ("west/c/d", "west/c/e", "west/f", "north/a", "north/b", "south"),
    )
    assert kind.above == ((0, 0, 0), (0, 0, 1, 1, 2), (0, 0, 1, 2, 3, 4))
    assert kind.index["west/c/e"] == (0, 0, 1)
    assert kind.index["south"] == (2, 4, 5)
    assert all(
        kind.nodes[level][places[level]] == "/".join(leaf.split("/")[: level + 1])
        for leaf, places in kind.index.items()
        for level in range(3)
    )


@pytest.mark.parametrize(
    ("paths", "complaint"),
    [
        ('["a"]', "one.paths: must be a list of 2 to 16384 texts, not 1 of them"),
        ('["a", "a"]', "one.paths: has 'a' twice"),
        ('["a", "a/b"]', "one.paths: 'a' is a leaf, and there are others below it"),
        (
            '["a/b", "a/c"]',
            "one.paths: level 1 has as many nodes as the one above it, and tells nothing: leave it out",
        ),
        (
            '["a/b", "c/d"]',
            "one.paths: level 2 has as many nodes as the one above it, and tells nothing: leave it out",
        ),
        ('["a//b", "c"]', "one.paths: 'a//b' is no path: names with a / between two, such as europe/france"),
        ('["a/ b", "c"]', "one.paths: 'a/ b' is no path: names with a / between two, such as europe/france"),
        ("3", "one.paths: must be a list of 2 to 16384 texts, not 3"),
    ],
)
def test_what_is_no_hierarchy_is_said(paths: str, complaint: str) -> None:
    """A leaf with something below it, levels that split nothing, names that are none."""
    assert refused("tree", f"paths = {paths}\nepsilon = 1") == [complaint]


@pytest.mark.parametrize(
    ("known", "complaint"),
    [
        ("{ east = 0.5 }", "has no node 'east'"),
        ("{ west = 1.5 }", "a share of all devices is from 0 to 1, not 1.5"),
        ("{ west = -0.5 }", "a share of all devices is from 0 to 1, not -0.5"),
        ("{ west = 0.7, north = 0.4 }", "all of it is known to be 1, and what is known below it 1.1"),
        ('{ west = 0.2, "west/c" = 0.3 }', "'west' is known to be 0.2, and what is known below it 0.3"),
        (
            '{ north = 0.5, "north/a" = 0.1, "north/b" = 0.3 }',
            "'north' is known to be 0.5, and what is known below it 0.4",
        ),
        ("{ west = 0.5, north = 0.3, south = 0.1 }", "all of it is known to be 1, and what is known below it 0.9"),
        ('{ west = "half" }', "must be a number, not 'half'"),
        ("0.5", "must be a table, not 0.5"),
    ],
)
def test_what_can_not_be_known_of_nodes_is_said(known: str, complaint: str) -> None:
    """Nodes that are not there, shares that are none, and parts that are more than the whole, or less where there is
    nothing else."""
    assert refused("tree", f"{LISTED}known = {known}") == [f"one.known: {complaint}"]


def test_what_is_known_of_nodes_is_part_of_the_question() -> None:
    """A table of shares, as they are written; without one nothing is said of it: a collection stays what it is."""
    assert "known" not in listed().parameters()
    kind = listed('known = { west = 0.6, "west/c" = 0.1, south = 0 }')
    assert kind.parameters()["known"] == {"west": "3/5", "west/c": "1/10", "south": "0"}
    every = listed('known = { west = 0.6, "north/a" = 0.1, "north/b" = 0.2, south = 0.1 }')
    assert dict(every.known)["west"] == Fraction(3, 5)


def test_a_device_takes_the_path_of_a_leaf_and_nothing_else() -> None:
    """No node above one, no name alone; what is nearly right is asked for."""
    kind = listed()
    assert kind.check("west/c/d") == "west/c/d"
    for value in ("west", "d", "", 3, None, ["west", "f"]):
        with pytest.raises(InvalidValueError, match="not one of the 6 leaves of this tree"):
            kind.check(value)
    with pytest.raises(InvalidValueError, match="did you mean 'west/c/d'"):
        kind.check("west/c/D")


def test_the_level_is_drawn_by_chance_alone() -> None:
    """For every word all leaves are at the same level, as often as its share: which one it is tells nothing."""
    metric = asked("tree", LISTED)
    kind, columns = metric.kind, [column.mechanism for column in metric.columns]
    assert isinstance(kind, Tree)
    words = [place * WORD // 1_000 for place in range(1_000)]
    drawn = [{kind.encode(leaf, columns, words[place].__int__)[0] for leaf in kind.index} for place in range(1_000)]
    assert {len(levels) for levels in drawn} == {1}
    shares = np.bincount([level for levels in drawn for level in levels], minlength=3) / len(words)
    assert shares == pytest.approx(kind.allotment(columns), abs=2e-3)


def test_all_levels_cost_the_same_and_no_more_than_is_claimed() -> None:
    """Of whatever level: the worst ratio of any payload between any two leaves is at most e^epsilon, exactly."""
    metric = asked("tree", LISTED)
    for level, column in enumerate(metric.columns):
        nodes = range(len(metric.kind.names(level)))
        for payload in column.mechanism.payloads():
            chances = [column.mechanism.probability(payload, node) for node in nodes]
            assert max(chances) <= metric.epsilon.exp * min(chances)


def test_a_level_is_not_drawn_for_life() -> None:
    """Unless it is repeated as it is, which identifies the device anyway."""
    assert refused("tree", LISTED + "memoize = true") == [f"one: a drawn level {ONCE}"]
    assert asked("tree", LISTED + "memoize = true\n" + LINKABLE).memoize


@pytest.mark.parametrize("sizes", [(3, 5, 6), (2, 40), (10, 100, 1000), (7,)])
def test_the_allotment_is_that_of_the_least_error(sizes: tuple[int, ...]) -> None:
    """Of trees whose nodes are all alike: the slopes are those of the error that is meant (by differences), and no
    share that is moved from one level to another makes it less."""
    variances = [1.0 + 0.1 * level for level in range(len(sizes))]

    def error(shares: list[float]) -> float:
        growth = [sizes[0], *(after / before for before, after in pairwise(sizes))]
        own: list[float] = []
        below = 0.0
        for level in range(len(sizes) - 1, -1, -1):
            own.insert(0, 1 / (shares[level] / variances[level] + below))
            below = 1 / (growth[level] * own[0])
        total = above = 0.0
        for each, known in zip(growth, own, strict=True):
            above = known * (1 - 1 / each) + above / each**2
            total += above
        return total

    found = _levels.shares(len(sizes), slopes(sizes, variances))
    falls = slopes(sizes, variances)(found)
    for level in range(len(sizes)):
        more = [share + 1e-6 * (level == place) for place, share in enumerate(found)]
        assert (error(found) - error(more)) / 1e-6 == pytest.approx(falls[level], rel=1e-3)
    for one in range(len(sizes)):
        for other in range(len(sizes)):
            moved = [share + 1e-3 * ((place == one) - (place == other)) for place, share in enumerate(found)]
            assert error(moved) >= error(found) - 1e-9


def written(directory: Path, text: str) -> Path:
    """A collection whose paths are in a file."""
    (directory / "data").mkdir()
    (directory / "data/regions.csv").write_text(text, encoding="utf-8")
    path = directory / "metrics.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_paths_can_stand_in_a_file(tmp_path: Path) -> None:
    """A line a leaf, a cell a name, with empty cells at the end where others are deeper: the same collection as if
    they were listed, with the same digest, and so is its bundle."""
    path = written(tmp_path, 'west,c,d\nnorth,a,\n"south",,\n\nnorth, b\nwest,f\nwest,c,e\n')
    named = Collection.load(path)
    spelt = Collection.loads(FILE.replace('"data/regions.csv"', str(PATHS).replace("'", '"')))
    assert named.metrics["region"].kind == spelt.metrics["region"].kind == listed()
    assert named.digest == spelt.digest


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("a,b\nc\na,b\n", 3, "has 'a/b' twice: first in line 1"),
        ("a,b\nc/d\n", 2, "a name has no /: 'c/d'"),
        ("a,,b\nc\n", 1, "'a//b' is no path: names with a / between two, such as europe/france"),
        ('a\n"b\n', 2, "unexpected end of data"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_by_its_line(tmp_path: Path, text: str, line: int, complaint: str) -> None:
    """In the words of the file's name and the line's number."""
    with pytest.raises(CollectionError) as refusal:
        Collection.load(written(tmp_path, text))
    (problem,) = refusal.value.problems
    assert problem.file.endswith(f"regions.csv:{line}")
    assert problem.what == complaint


def test_a_file_that_says_nothing_is_refused(tmp_path: Path) -> None:
    """There are two leaves at the least."""
    with pytest.raises(CollectionError, match="must have 2 to 16384 paths, not 0"):
        Collection.load(written(tmp_path, "\n,,\n"))
