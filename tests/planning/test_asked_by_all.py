"""Kinds that ask a category within: a set, a tree, a distribution and a joint, by every mechanism that asks one.

A mechanism's own cases ask a category by it. What else a file may ask by it is taken from what the kinds say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deniable import Collection, Metric, Report
from deniable.kinds import KINDS
from deniable.mechanisms import fitting
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.answers import answer, truth
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.simulate import randomized, simulate
from support.collection_files import head

SOURCES = """
[metrics.few]
kind = "category"
values = ["a", "b", "c"]
description = "d"
epsilon = 1
[metrics.yes]
kind = "boolean"
description = "d"
epsilon = 1
"""
WITHIN: dict[str, tuple[str, list[Any]]] = {
    "set": ('values = ["a", "b", "c", "d", "e"]\nmax_items = 2', [[], ["b"], ["a", "e"]]),
    "tree": ('paths = ["a/x", "a/y", "b"]', ["a/x", "a/y", "b", "b"]),
    "distribution": ("range = [0, 100]\nbuckets = 8", [0, 20, 30, 99]),
    "joint": ('of = ["few", "yes"]', [{"few": "a", "yes": True}, {"few": "c", "yes": False}]),
}
"""How each kind is asked in a few cells, and some answers."""
ASKED = [(kind, name) for kind in WITHIN for name in KINDS[kind].mechanisms]
EACH = pytest.mark.parametrize(("kind", "name"), ASKED)


def by(kind: str, name: str) -> tuple[Metric, list[Any]]:
    """A metric of the kind that is asked by the mechanism, and answers of its own form."""
    table, values = WITHIN[kind]
    text = f'{SOURCES}[metrics.one]\nkind = "{kind}"\nmechanism = "{name}"\ndescription = "d"\nepsilon = 2\n{table}\n'
    metric = Collection.loads(head("c", 9.0) + text).metrics["one"]
    return metric, [metric.kind.check(value) for value in values]


def people(metric: Metric, values: list[Any], devices: int) -> Population:
    """So many devices, of which twice as many have the second answer as have the first, and so on."""
    weights = np.arange(1, len(values) + 1)
    drawn = np.random.default_rng(len(metric.columns)).choice(len(values), devices, p=weights / weights.sum())
    return Population(values, drawn)


def test_every_kind_that_asks_a_category_within_is_here() -> None:
    """By its own word: what may be asked by several of a category's mechanisms, but for the category itself, and for
    texts, whose groups of words take seconds each, and have tests of their own."""
    sorts = fitting(2).keys()
    within = {kind for kind, own in KINDS.items() if len(sorts & set(own.mechanisms)) > 1}
    assert within - {"category", "text"} == set(WITHIN)
    assert {name for _, name in ASKED} >= sorts


@EACH
def test_counters_are_those_of_the_reports(kind: str, name: str) -> None:
    """Of 300 devices, each of which answers once: as ingest adds up the reports."""
    metric, values = by(kind, name)
    fleet, reports = people(metric, values, 300), []
    for sent in randomized(metric, fleet, np.random.default_rng(3)):
        rows = [row.tobytes() for row in sent.payloads] if sent.column.shape.wide else []
        numbers = [int.from_bytes(row, "little") for row in rows] or sent.payloads.tolist()
        reports += [Report(sent.column.number, number) for number in numbers]
    assert len(reports) == 300
    found = simulate(metric, fleet, np.random.default_rng(3))
    assert [own.tolist() for own in found] == [own.tolist() for own in accumulate(metric, reports)]


@EACH
def test_estimates_are_near_the_truth(kind: str, name: str) -> None:
    """Of 30,000 devices: within 6 standard errors, which chance leaves once in a million runs of all rows here.
    Answers that are taken for other ones leave them, too."""
    metric, values = by(kind, name)
    fleet = people(metric, values, 30_000)
    found = answer(metric, simulate(metric, fleet, np.random.default_rng(4)))
    known = truth(metric, fleet)
    swapped = truth(metric, people(metric, values[::-1], 30_000))
    looked = [(row, known[where], swapped[where]) for where, row in found.by_id.items() if where in known]
    assert all(abs(row.value - true) < 6 * row.std_error + 1e-9 for row, true, _ in looked)
    assert any(abs(row.value - wrong) > 6 * row.std_error for row, _, wrong in looked)
