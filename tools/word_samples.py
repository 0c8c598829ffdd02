"""Samples of texts: what devices with some words report, group by group, whose payloads are too many to be listed.

words:
  rank     of a payload, for one word in one group: those below `supporting` support the word's cell
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tools.fleets import Case

from deniable.kinds import Text
from deniable.mechanisms import Mechanism, ProjectiveGeometryResponse
from deniable_aggregator.planning.twins.projective_geometry import ranked

__all__ = ["Words"]

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


class Words:
    """The words of a fleet."""

    def __init__(self, case: Case) -> None:
        kind, mechanism = case.metric.kind, case.metric.columns[0].mechanism
        assert isinstance(kind, Text)
        self.shares: _Floats = np.array(case.fleet.devices) / sum(case.fleet.devices)
        """How many of the devices have each."""
        words = [kind.check(value) for value in case.fleet.values]
        self._groups = len(kind.sizes)
        self._ranked = [
            [_by_rank(mechanism, kind.place(word, group)) for group in range(self._groups)] for word in words
        ]
        """Of each word and group, the payloads by their ranks."""
        self._supporting = mechanism.supporting if isinstance(mechanism, ProjectiveGeometryResponse) else 1
        self._points = mechanism.shape.counters
        self._inside = float(mechanism.p)  # type: ignore[attr-defined]

    def fresh(self, sent: Sequence[int], generator: np.random.Generator) -> list[_Ints]:
        """The counters of each group, of so many reports of each word."""
        counters = np.zeros((self._groups, self._points), np.int64)
        for word, reports in enumerate(sent):
            own = generator.multinomial(reports, [1 / self._groups] * self._groups)
            for group, count in enumerate(own.tolist()):
                payloads = self._drawn(word, group, count, generator)
                counters[group] += np.bincount(payloads, minlength=self._points)
        return list(counters)

    def remembered(
        self, kept: _Ints, epochs: int, chances: Sequence[float], generator: np.random.Generator
    ) -> list[list[_Ints]]:
        """The counters of each epoch and group: each device draws its group and its payload once."""
        found = np.zeros((epochs, self._groups, self._points), np.int64)
        for word, own in enumerate(kept.tolist()):
            for devices, chance in zip(own, chances, strict=True):
                for group, count in enumerate(generator.multinomial(devices, [1 / self._groups] * self._groups)):
                    payloads = self._drawn(word, group, int(count), generator)
                    here = generator.random((epochs, len(payloads))) < chance
                    for epoch in range(epochs):
                        np.add.at(found[epoch, group], payloads[here[epoch]], 1)
        return [list(epoch) for epoch in found]

    def _drawn(self, word: int, group: int, count: int, generator: np.random.Generator) -> _Ints:
        """The payloads of so many devices."""
        inside = int(generator.binomial(count, self._inside))
        ranks = [
            generator.integers(self._supporting, size=inside),
            generator.integers(self._supporting, self._points, size=count - inside),
        ]
        payloads: _Ints = self._ranked[word][group][np.concatenate(ranks)]
        return payloads


def _by_rank(mechanism: Mechanism, cell: int) -> _Ints:
    if isinstance(mechanism, ProjectiveGeometryResponse):
        points = np.arange(mechanism.shape.counters)
        return ranked(mechanism, np.full(len(points), cell), points)
    others = np.arange(mechanism.shape.counters)
    return np.concatenate([[cell], others[others != cell]])
