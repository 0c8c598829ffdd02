"""Synthetic rows: as near to the answer as is said, by as many of them as that takes, whatever was answered."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from deniable import Metric
from deniable_aggregator.answers import answer, consistent
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.telling.synthesis import (
    MISSED,
    reach,
    rows_for,
    synthesis,
    to_csv,
    to_parquet,
)
from support import joints
from support.asked import asked
from support.joints import associated, joint

DRAWS = 1_000
THREE = {"theme": 2, "platform": 3, "mood": 4}
CUBE = associated([6, 4], [5, 3, 2], 0.4)[:, :, np.newaxis] * np.array([4, 3, 2, 1]) / 10


def rows_of(metric: Metric, counters: list[np.ndarray]) -> list[dict[str, Any]]:
    """The rows of an answer, as a table has them."""
    found = answer(metric, counters)
    fitted = consistent(metric, found)
    return [
        {"metric": metric.name, "series": where.series, "key": where.key, "parent": row.parent, "consistent": fit,
         "low": row.low, "high": row.high}
        for where, row, fit in zip(found.ids, found.rows, fitted, strict=True)
    ]  # fmt: skip


def shares(columns: list[np.ndarray], wanted: Sequence[tuple[str, ...]]) -> list[float]:
    """The share of each cell among rows."""
    cells = list(zip(*(own.tolist() for own in columns), strict=True))
    return [cells.count(cell) / len(cells) for cell in wanted]


def test_a_thousand_draws_keep_to_the_bound() -> None:
    """Of as many rows as it asks for within two points, for tables of 2 to 1,024 cells: no more than 5% of the draws
    have a share farther off. (They have far fewer; more by chance, if it were 2.5%, less than once in 10^6 times.)
    Power: a tenth of the rows does not keep to it."""
    generator = np.random.default_rng(1)
    for cells in (1024, 24, 2):
        chances = generator.dirichlet(np.ones(cells))
        rows = rows_for(cells, 0.02)
        assert reach(cells, rows) <= 0.02

        def off(count: int, chances: np.ndarray = chances) -> float:
            drawn = generator.multinomial(count, chances, size=DRAWS) / count
            return float((np.abs(drawn - chances).max(axis=1) > 0.02).mean())

        assert off(rows) <= MISSED
    assert off(rows // 10) > MISSED


def test_the_bound_is_the_larger_of_what_is_promised_and_what_is_drawn() -> None:
    """log2(K) / a^2, for 1,024 shares within a tenth: 1,000 rows, as in the textbook. Of two shares that is 100, of
    which a draw keeps within a tenth less often than is said, so that more are taken."""
    assert rows_for(1024, 0.1) == 1000
    assert rows_for(2, 0.1) == math.ceil(math.log(80) / 0.02) == 220
    with pytest.raises(ValueError, match="between 0 and 1"):
        rows_for(10, 1.5)


def test_rows_of_a_joint_are_its_table() -> None:
    """Every cell within the bound, all sources as columns; and of pairs the target with each feature."""
    metric = joint(THREE, 2)
    found = synthesis(rows_of(metric, joints.exactly(metric, CUBE)))
    assert found.columns == tuple(THREE)
    assert found.told == 24 + 9
    columns = found.draw(20_000, np.random.default_rng(2))
    wanted = [tuple(value.values()) for value in joints.recorded(metric)]
    assert shares(columns, wanted) == pytest.approx(CUBE.ravel().tolist(), abs=reach(found.told, 20_000))
    pairs = joint(THREE, 2, 'pairs = "theme"')
    found = synthesis(rows_of(pairs, joints.exactly(pairs, CUBE)))
    assert "independent given theme" in found.note
    theme, platform, _ = found.draw(20_000, np.random.default_rng(3))
    two = [(f"theme{one}", f"platform{other}") for one in range(2) for other in range(3)]
    assert shares([theme, platform], two) == pytest.approx(CUBE.sum(axis=2).ravel().tolist(), abs=0.02)


def test_rows_of_a_tree_are_leaves_and_of_a_distribution_values() -> None:
    """Leaves as often as their shares, of the consistent view; values whose curve is the answer's."""
    tree = asked("tree", 'paths = ["west/a", "west/b", "east"]\nepsilon = 4')
    values = ["west/a"] * 5_000 + ["west/b"] * 3_000 + ["east"] * 2_000
    found = synthesis(rows_of(tree, simulate(tree, values, np.random.default_rng(4))))
    (leaves,) = found.draw(10_000, np.random.default_rng(5))
    assert set(leaves) == {"west/a", "west/b", "east"}
    assert float(np.mean(leaves == "west/a")) == pytest.approx(0.5, abs=0.05)
    spread = asked("distribution", "range = [0, 100]\nbuckets = 50\nepsilon = 4")
    delays = np.random.default_rng(6).triangular(0, 20, 100, size=20_000).round().tolist()
    rows = rows_of(spread, simulate(spread, delays, np.random.default_rng(7)))
    (drawn,) = synthesis(rows).draw(50_000, np.random.default_rng(8))
    assert 0 <= drawn.min() <= drawn.max() <= 100
    assert float(np.mean(drawn)) == pytest.approx(40, abs=2)
    assert float(np.median(drawn)) == pytest.approx(float(np.median(delays)), abs=3)


def test_what_can_not_be_drawn_from_says_why() -> None:
    """Other kinds, and answers that nothing is known of."""
    yes = asked("boolean", "epsilon = 1")
    with pytest.raises(ValueError, match="one is no joint, tree or distribution"):
        synthesis(rows_of(yes, [np.array([3, 4])]))
    metric = joint(THREE)
    empty = [np.zeros(column.shape.counters, dtype=np.int64) for column in metric.columns]
    with pytest.raises(ValueError, match="has no reports"):
        synthesis(rows_of(metric, empty))


def test_rows_are_written_as_files() -> None:
    """CSV with a header, and Parquet with the same, whatever is in a value."""
    values = [np.array(['a, "b"', "c\nd"], dtype=object), np.array([1.5, 2.0])]
    assert to_csv(("one", "two"), values) == b'one,two\n"a, ""b""",1.5\n"c\nd",2.0\n'
    table = pq.read_table(io.BytesIO(to_parquet(("one", "two"), values)))
    assert table.to_pydict() == {"one": ['a, "b"', "c\nd"], "two": [1.5, 2.0]}
