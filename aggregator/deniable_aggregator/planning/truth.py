"""The truth of a simulated fleet: what its devices would answer, from a TOML file.

    [dark_mode]
    values = [true, false]
    weights = [3, 7]              # optional: how often each value occurs; equal without

    [theme_by_platform]           # fed from dark_mode and platform: then these have no tables of their own
    values = [{dark_mode = true, platform = "linux"}, {dark_mode = false, platform = "linux"}]
    weights = [1, 4]

A metric that is fed and has no table is answered from what its sources have, which are then drawn independently.

Simulated devices have no privacy to lose: here, and only here, a seeded generator draws.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deniable import Collection, InvalidValueError
from deniable._paths import why
from deniable_aggregator.planning.population import Fleet, Population, Shares

__all__ = ["Truth", "TruthError"]

_HEAVIEST = 1e300
"""No weight is greater: sums of them stay finite."""


class TruthError(ValueError):
    """A truth file that does not fit its collection."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What occurs in a fleet, and how often."""

    values: Mapping[str, tuple[list[Any], list[float]]]
    """By metric: of one that is fed, what its sources have together."""
    fed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The sources of the metrics that are fed."""

    @classmethod
    def load(cls, path: str | Path, collection: Collection) -> Truth:
        """The truth of a file, checked against the collection."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TruthError(f"{path}: can not be read: {why(error)}") from error
        return cls.loads(text, collection, str(path))

    @classmethod
    def loads(cls, text: str, collection: Collection, path: str = "<text>") -> Truth:
        """The truth of a text, which errors call `path`."""
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise TruthError(f"{path}: {error}") from error
        fed = {name: metric.kind.of for name, metric in collection.metrics.items() if metric.sources}
        _check_tables(path, table, collection, fed)
        return cls({name: _values(f"{path}: {name}", collection, name, own) for name, own in table.items()}, fed)

    def of(self, name: str) -> tuple[list[Any], list[float]] | None:
        """What occurs of a metric, and how often: by its own table, or by that of one that it feeds; None without."""
        if name in self.values:
            return self.values[name]
        for fed, sources in self.fed.items():
            if name in sources and fed in self.values:
                values, weights = self.values[fed]
                return [value[name] for value in values], weights
        return None

    def fleet(self, name: str) -> Fleet:
        """What any number of devices would answer to one metric."""
        if found := self.of(name):
            return Shares.of(*found)
        return lambda devices, generator: self.draw(devices, generator)[name]

    def draw(self, devices: int, generator: np.random.Generator) -> dict[str, Population]:
        """What each of so many devices would answer."""
        drawn = {}
        for name, (values, weights) in self.values.items():
            shares = np.asarray(weights, dtype=np.float64) / math.fsum(weights)
            drawn[name] = Population(values, generator.choice(len(values), size=devices, p=shares))
            for source in self.fed.get(name, ()):
                drawn[source] = Population([value[source] for value in values], drawn[name].places)
        for name, sources in self.fed.items():
            if name not in drawn:
                drawn[name] = Population.together({source: drawn[source] for source in sources})
        return drawn


def _check_tables(
    path: str | Path, table: Mapping[str, Any], collection: Collection, fed: Mapping[str, tuple[str, ...]]
) -> None:
    """Every metric that is recorded for has one table: its own, or that of one that it feeds."""
    told = Counter(source for name in table for source in fed.get(name, (name,)))
    recorded = collection.metrics.keys() - fed.keys()
    missing, unknown = sorted(recorded - told.keys()), sorted(told.keys() - recorded)
    if missing or unknown:
        odd = [f"{what}: {', '.join(names)}" for what, names in (("missing", missing), ("unknown", unknown)) if names]
        raise TruthError(f"{path}: takes a table for each metric and no other; {'; '.join(odd)}")
    if twice := sorted(name for name, times in told.items() if times > 1):
        raise TruthError(f"{path}: told twice, by a table and by one of what it feeds: {', '.join(twice)}")


def _values(where: str, collection: Collection, name: str, own: Any) -> tuple[list[Any], list[float]]:
    values = own.get("values") if isinstance(own, dict) else None
    if not isinstance(values, list) or not values:
        raise TruthError(f"{where}: needs a list `values`")
    if unknown := sorted(own.keys() - {"values", "weights"}):
        raise TruthError(f"{where}: takes `values` and `weights`, not {', '.join(unknown)}")
    weights = own.get("weights", [1] * len(values))
    if not _weighing(weights, len(values)):
        raise TruthError(f"{where}: `weights` are a list of as many numbers as values, none negative, not all zero")
    try:
        return [collection.metrics[name].kind.check(value) for value in values], weights
    except InvalidValueError as error:
        raise TruthError(f"{where}: {error}") from error


def _weighing(weights: Any, count: int) -> bool:
    """Whether these say how often each of so many values occurs."""
    if (
        not isinstance(weights, list)
        or len(weights) != count
        or any(type(each) not in {int, float} for each in weights)
    ):
        return False
    return all(0 <= each <= _HEAVIEST for each in weights) and any(weights)
