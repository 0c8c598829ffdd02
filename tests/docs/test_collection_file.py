"""docs/collections.md says all that a collection file can say: what it leaves out or makes up is found."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from deniable import Collection, CollectionError
from deniable.collection.reduce import REDUCERS
from deniable.kinds import KINDS
from deniable_aggregator.planning.truth import Truth
from support.commands import ROOT

PAGE = (ROOT / "docs" / "collections.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
HEAD = """
[collection]
name = "asked"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 1.0
"""


def rows(heading: str) -> dict[str, list[str]]:
    """The table under a heading: cells by what the first cell names."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if "|" in line]
    return {re.sub(r"[`| ]", "", cells[0]): cells[1:] for cells in lines if cells[0].startswith(("`", "| `", " `"))}


def known(text: str, place: str) -> set[str]:
    """The keys that the reader knows in a table, as it says where there is one that it does not."""
    with pytest.raises(CollectionError) as wrong:
        Collection.loads(text)
    (told,) = re.findall(rf"^<text>: {re.escape(place)}: unknown key; known: (.*)$", str(wrong.value), re.MULTILINE)
    return set(told.split(", "))


COMMON, EACH = rows("What every metric can say"), rows("What every kind can say")


def test_the_example_is_a_collection() -> None:
    """It loads, and spends what its budget says."""
    found = Collection.loads(EXAMPLES[0])
    assert sum(metric.epsilon.value for metric in found.metrics.values()) == found.budget.epoch


def test_the_truth_is_one_of_the_example(tmp_path: Path) -> None:
    """Simulated devices have what the page's last example says."""
    (tmp_path / "truth.toml").write_text(EXAMPLES[-1])
    drawn = Truth.load(tmp_path / "truth.toml", Collection.loads(EXAMPLES[0])).draw(7, np.random.default_rng(1))
    assert {name: len(population) for name, population in drawn.items()} == {"open": 7, "loaves": 7, "flours": 7}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_has_the_keys_that_the_page_says(kind: str) -> None:
    """Those of every metric and its own, and no others."""
    own = set(re.findall(r"`(\w+)`", EACH[kind][1]))
    assert own.isdisjoint(COMMON)
    metric = f'[metrics.one]\nkind = "{kind}"\nqqqqqqqqqqqq = 1\n'
    assert known(HEAD + metric, "metrics.one.qqqqqqqqqqqq") == own | COMMON.keys()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_has_the_words_that_the_page_says(kind: str) -> None:
    """How it is reduced, in this order, as the first is what it is unless said, and by what it is randomised."""
    _, _, reduce, mechanism = EACH[kind]
    assert tuple(reduce.split(", ")) == KINDS[kind].reducers
    assert set(reduce.split(", ")) <= REDUCERS.keys()
    assert set(mechanism.split(", ")) == set(KINDS[kind].mechanisms)


def test_all_kinds_are_there_and_no_other() -> None:
    """A row each."""
    assert EACH.keys() == KINDS.keys()


@pytest.mark.parametrize("table", ["collection", "budget"])
def test_the_other_tables_are_shown(table: str) -> None:
    """Each key of the file's own tables is in the example."""
    asked = '[metrics.one]\nkind = "boolean"\ndescription = "d"\nepsilon = 1.0\n'
    text = (HEAD + asked).replace(f"[{table}]\n", f"[{table}]\nqqqqqqqqqqqq = 1\n")
    for key in known(text, f"{table}.qqqqqqqqqqqq"):
        assert re.search(rf"\b{key}\b", EXAMPLES[0]), key
