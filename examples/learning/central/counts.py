"""Naive Bayes where somebody has what all devices have: tables of counts, with noise added to every cell.

Why it keeps epsilon. Of each feature a device is counted in one cell of a table of it and the target. Where one
device has something else, two cells of each table change by 1: all counts together by 2 a feature, which is what the
noise of Laplace's law is for. (Lecture notes have half of
that: where a device may be there or not, but is not replaced.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from deniable.kinds.joint import joined
from deniable_aggregator.answers.naive_bayes import NaiveBayes, naive_bayes

__all__ = ["model", "noisy", "scale"]

_Floats = NDArray[np.float64]


def scale(features: int, epsilon: float) -> float:
    """Of the noise of every cell."""
    return 2 * features / epsilon


def noisy(tables: Mapping[str, _Floats], epsilon: float, generator: np.random.Generator) -> dict[str, _Floats]:
    """The counts of every feature's table with their noise."""
    width = scale(len(tables), epsilon)
    return {name: counts + generator.laplace(scale=width, size=counts.shape) for name, counts in tables.items()}


def model(
    target: str,
    values: Mapping[str, Sequence[str]],
    tables: Mapping[str, _Floats],
    epsilon: float,
    generator: np.random.Generator,
) -> NaiveBayes:
    """The model of noisy counts, made as that of local reports is. `tables` has a row a class of the target for each
    feature."""
    devices = float(next(iter(tables.values())).sum())
    width = scale(len(tables), epsilon)
    cells = []
    for name, counts in noisy(tables, epsilon, generator).items():
        shares = counts / devices
        sampled = np.clip(shares, 0, 1) * np.clip(1 - shares, 0, 1) / devices
        errors = np.sqrt(sampled + 2 * (width / devices) ** 2)
        keys = [f"{name}: {joined((one, other))}" for one in values[target] for other in values[name]]
        cells += list(zip(keys, shares.ravel().tolist(), errors.ravel().tolist(), strict=True))
    marginals = [(f"{name}: {value}", 0.0, 0.0) for name, own in values.items() for value in own]
    return naive_bayes("counts", round(devices), {"table": cells, "marginals": marginals}, target)
