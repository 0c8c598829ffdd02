"""Joints for tests: sources of so many values, and what a table of shares makes devices record."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import Metric
from deniable.kinds import Joint
from deniable.mechanisms import Supporting
from deniable.payload import Bitmap
from support.asked import asked
from support.cases import listed

__all__ = ["associated", "exactly", "joint", "recorded", "sources"]

_Floats = NDArray[np.float64]


def sources(sizes: Mapping[str, int]) -> str:
    """The tables of categories of so many values, by name: "theme0", "theme1"."""
    return "".join(
        f'[metrics.{name}]\nkind = "category"\ndescription = "d"\nepsilon = 1\n'
        f"values = {listed([f'{name}{number}' for number in range(size)])}\n"
        for name, size in sizes.items()
    )


def joint(sizes: Mapping[str, int], epsilon: float | str = 1, more: str = "") -> Metric:
    """The joint of such categories."""
    return asked("joint", f"of = {listed(list(sizes))}\nepsilon = {epsilon}\n{more}\n{sources(sizes)}", 10_000)


def recorded(metric: Metric) -> list[dict[str, Any]]:
    """What there is to record for all sources together, the last one's values changing fastest."""
    kind = metric.kind
    assert isinstance(kind, Joint)
    values = itertools.product(*(kind.values(name) for name in kind.of))
    return [dict(zip(kind.of, each, strict=True)) for each in values]


def associated(first: Sequence[float], second: Sequence[float], part: float) -> _Floats:
    """The shares of two sources of which this part of the devices has a second value that follows the first."""
    one, other = (np.array(shares) / np.sum(shares) for shares in (first, second))
    follows = np.zeros((len(one), len(other)))
    follows[np.arange(len(one)), np.arange(len(one)) % len(other)] = one
    return (1 - part) * np.outer(one, other) + part * follows


def exactly(metric: Metric, shares: _Floats, reports: int = 10**9) -> list[NDArray[np.int64]]:
    """The counters that devices with these shares of a table of all sources make on average, to whole reports."""
    kind, counters = metric.kind, []
    assert isinstance(kind, Joint)
    for about, column in zip(kind.tables, metric.columns, strict=True):
        own, mechanism = reports // len(metric.columns), column.mechanism
        assert isinstance(mechanism, Supporting)
        axes = [kind.of.index(name) for name in about]
        others = tuple(axis for axis in range(len(kind.of)) if axis not in axes)
        cells = np.transpose(shares.sum(axis=others), np.argsort(np.argsort(axes))).ravel()
        counts = np.rint(own * (float(mechanism.q) + float(mechanism.p - mechanism.q) * cells)).astype(np.int64)
        counters.append(np.concatenate([[own], counts]) if isinstance(mechanism.shape, Bitmap) else counts)
    return counters
