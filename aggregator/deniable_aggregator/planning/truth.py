"""The truth of a simulated fleet: what its devices would answer, from a TOML file.

    [dark_mode]
    values = [true, false]
    weights = [3, 7]              # optional: how often each value occurs; equal without

Simulated devices have no privacy to lose: here, and only here, a seeded generator draws.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deniable import Collection, InvalidValueError
from deniable_aggregator.planning.population import Population

__all__ = ["Truth", "TruthError"]


class TruthError(ValueError):
    """A truth file that does not fit its collection."""


@dataclass(frozen=True, slots=True)
class Truth:
    """For each metric, the values that occur and how often each does."""

    values: Mapping[str, tuple[list[Any], list[float]]]

    @classmethod
    def load(cls, path: str | Path, collection: Collection) -> Truth:
        """The truth of a file, checked against the collection."""
        try:
            table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise TruthError(f"{path}: {error}") from error
        if table.keys() != collection.metrics.keys():
            odd = sorted(table.keys() ^ collection.metrics.keys())
            raise TruthError(f"{path}: a table for each metric and no other; differs in: {', '.join(odd)}")
        return cls({name: _values(f"{path}: {name}", collection, name, own) for name, own in table.items()})

    def draw(self, devices: int, generator: np.random.Generator) -> dict[str, Population]:
        """What each of so many devices would answer."""
        drawn = {}
        for name, (values, weights) in self.values.items():
            shares = np.asarray(weights) / np.sum(weights)
            drawn[name] = Population(values, generator.choice(len(values), size=devices, p=shares))
        return drawn


def _values(where: str, collection: Collection, name: str, own: Any) -> tuple[list[Any], list[float]]:
    values = own.get("values") if isinstance(own, dict) else None
    if not isinstance(values, list) or not values:
        raise TruthError(f"{where}: needs a list `values`")
    weights = own.get("weights", [1] * len(values))
    if len(weights) != len(values) or min(weights) < 0 or not sum(weights):
        raise TruthError(f"{where}: `weights` are as many as the values, none negative, not all zero")
    try:
        return [collection.metrics[name].kind.check(value) for value in values], weights
    except InvalidValueError as error:
        raise TruthError(f"{where}: {error}") from error
