"""How often intervals of joints hold, and p-values of their independence: `tests/statistics/test_joints.py` and
docs/joints.md are made of it.

words:
  setting   a joint of two sources or three, so many devices, and how they are spread over its table
  follows   the part of the devices whose second value follows the first; 0: nothing goes together
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tools.fleets import Case, Fleet
from tools.samples import drawn

from deniable import Collection, Metric
from deniable_aggregator.answers import answer, truth
from deniable_aggregator.planning.population import Population

__all__ = ["CASES", "Found", "Setting", "measured"]

_Floats = NDArray[np.float64]
_MANY = 10_000
"""Devices of which the truth is told: shares are rounded to so many parts."""


@dataclass(frozen=True)
class Setting:
    """What is measured."""

    epsilon: str
    reports: int
    first: Sequence[int]
    """How the values of the first source are spread;"""
    second: Sequence[int]
    """and of the second one."""
    follows: float
    third: Sequence[int] = (1,)
    """And of another one, which has nothing to do with them; a single value: there is none."""
    more: str = ""
    """What else the joint's table says."""

    def __str__(self) -> str:
        sizes = [len(spread) for spread in self._spreads.values()]
        more = {"": "", 'pairs = "a"': ", in pairs"}.get(self.more, ", remembered")
        told = f"epsilon {self.epsilon}, {self.reports:,} reports, {self.follows:g} follow"
        return f"{' by '.join(map(str, sizes))}{more}, {told}"

    @property
    def _spreads(self) -> dict[str, Sequence[int]]:
        every = {"a": self.first, "b": self.second, "c": self.third}
        return {name: spread for name, spread in every.items() if len(spread) > 1}

    @property
    def shares(self) -> _Floats:
        """The share of every cell."""
        one, other = (np.array(each) / np.sum(each) for each in (self.first, self.second))
        after = np.zeros((len(one), len(other)))
        after[np.arange(len(one)), np.arange(len(one)) % len(other)] = one
        whole: _Floats = (1 - self.follows) * np.outer(one, other) + self.follows * after
        found: _Floats = np.multiply.outer(whole, np.array(self.third) / np.sum(self.third))
        return found

    @property
    def metric(self) -> Metric:
        """The joint."""
        texts = ['[collection]\nname = "joints"\nepoch = "1d"\nowner = "a"\n[budget]\nepoch = 100\n']
        for name, values in self._values.items():
            own = f'[metrics.{name}]\nkind = "category"\nvalues = {values}\ndescription = "d"\nepsilon = 1\n'
            texts.append(own.replace("'", '"'))
        about = f'of = {list(self._values)}\nepsilon = {self.epsilon}\ndescription = "d"\n{self.more}\n'
        texts.append('[metrics.j]\nkind = "joint"\n' + about.replace("'", '"'))
        return Collection.loads("".join(texts)).metrics["j"]

    @property
    def _values(self) -> dict[str, list[str]]:
        return {name: [f"{name}{number}" for number in range(len(own))] for name, own in self._spreads.items()}

    @property
    def case(self) -> Case:
        """The joint, and a fleet of which nobody is a part."""
        names = self._values
        values = [dict(zip(names, cell, strict=True)) for cell in itertools.product(*names.values())]
        devices = np.rint(self.shares.ravel() * _MANY).astype(int).tolist()
        return Case(str(self), self.metric, Fleet("", values, devices))


class Found(NamedTuple):
    """What came of it."""

    covered: dict[str, list[float]]
    """For each series how often the interval of each row held."""
    chances: list[float]
    """The p-values."""


CASES = (
    Setting("1", 50_000, [6, 4], [5, 3, 2], 0.4),
    Setting("2", 20_000, [5, 3, 2], [6, 5, 4, 5], 0.4),
    Setting("4", 2_000, [5, 3, 2], [6, 5, 4, 5], 0.4),
    Setting("1", 20_000, [5, 3, 2], [6, 5, 4, 5], 0.0),
    Setting("4", 1_000, [6, 4], [5, 3, 2], 0.0),
    Setting("8", 1_000, [6, 4], [5, 3, 2], 0.6),
    Setting("8", 1_000, [9, 1], [5, 3, 2], 0.0),
    Setting("2", 30_000, [6, 4], [5, 3, 2], 0.4, [3, 2]),
    Setting("2", 30_000, [6, 4], [5, 3, 2], 0.4, [3, 2], 'pairs = "a"'),
    Setting("4", 50_000, [6, 4], [5, 3, 2], 0.4, more="memoize = true\ninstantaneous_epsilon = 2.0"),
    Setting("4", 50_000, [6, 4], [5, 3, 2], 0.0, more="memoize = true\ninstantaneous_epsilon = 2.0"),
)


def measured(setting: Setting, samples: int, seed: int) -> Found:
    """So many samples of the setting."""
    case = setting.case
    everybody = Population(case.fleet.values, np.repeat(np.arange(len(case.fleet.values)), case.fleet.devices))
    known = truth(case.metric, everybody)
    held: dict[str, list[list[bool]]] = {}
    chances = []
    for counters in drawn(case, setting.reports, samples, np.random.default_rng(seed)):
        for series in answer(case.metric, counters).series:
            if series.heading.chance:
                chances += [row.value for row in series.rows]
                continue
            name = series.heading.name
            true = [known[name, row.key] for row in series.rows]  # type: ignore[index]
            held.setdefault(name, []).append(
                [row.low - 1e-9 <= own <= row.high + 1e-9 for row, own in zip(series.rows, true, strict=True)]
            )
    return Found({name: np.mean(rows, axis=0).tolist() for name, rows in held.items()}, chances)
