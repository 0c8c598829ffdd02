"""The cases of every registered mechanism, from the file of its name in tests/mechanisms/cases/.

Conformance, facts, twins, timing, audit, simulation, leverage and coverage all take what they judge from CASES, and
fail where a registered mechanism is missing: a mechanism that nobody tested can not exist.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from deniable import Collection, Metric
from deniable.mechanisms import MECHANISMS
from support.cases import Asked, Cases

__all__ = ["ASKED", "CASES", "ROOM", "beside"]

_HEAD = '[collection]\nname = "cases"\nowner = "a"\nepoch = "1d"\n[budget]\nepoch = 100\n'
ROOM = Path(__file__).resolve().parent / "cases"
CASES: dict[str, Cases] = {
    name: importlib.import_module(f"mechanisms.cases.{name}").CASES
    for name in MECHANISMS
    if (ROOM / f"{name}.py").exists()
}
"""By name; of a mechanism without a file there are none, and `test_registered.py` fails."""
ASKED: dict[str, Asked] = {asked.name: asked for cases in CASES.values() for asked in cases.asked}
"""All metrics, by name."""


def beside(known: Iterable[Metric], epsilon: str) -> Iterator[tuple[Asked, Metric]]:
    """What the mechanisms ask that are in none of the metrics which a suite has of its own, at one epsilon."""
    there = {mechanism.name for metric in known for mechanism in metric.mechanisms}
    for name, cases in CASES.items():
        for asked in cases.asked if name not in there else ():
            if asked.values:
                text = f'{_HEAD}[metrics.one]\ndescription = "d"\nepsilon = {epsilon}\n{asked.table}\n'
                yield asked, Collection.loads(text).metrics["one"]
