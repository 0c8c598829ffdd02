"""Codewords that devices name, drawn from their law without any codebook: for fleets of millions.

A codeword is one of M random directions, by its rank. The tail of the cosine that has rank r, counted from 1, has the
law Beta(r, M + 1 - r); around the lifted vector its direction is uniform. So it is drawn by the tail, not by its
seed: what a hundred draws of the twin cost makes ten thousand here. tests/mechanisms/test_codewords.py holds the
twin, which has codebooks, against the same law.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable.codebook import LENGTH
from deniable.mechanisms import Codewords

__all__ = ["moments", "named"]

_Floats = NDArray[np.float64]
_NODES = 1 << 14


@lru_cache(maxsize=8)
def _cosines(entries: int) -> tuple[_Floats, _Floats]:
    """Tails, rising, and their cosines."""
    angles = np.linspace(np.pi / 2, -np.pi / 2, _NODES)
    heights = np.clip(np.cos(angles), 0, None) ** (entries - 2)
    tails = np.concatenate([[0.0], np.cumsum(heights[1:] + heights[:-1])])
    return tails / tails[-1], np.sin(angles)


def moments(mechanism: Codewords, inputs: NDArray[np.int64]) -> tuple[_Floats, _Floats]:
    """The mean and the variance of what is counted, for each entry."""
    (none, whole), shares = mechanism.spread, _lifted(mechanism, inputs)[:, :-1]
    return LENGTH * mechanism.reach * shares, LENGTH**2 * (none + shares**2 * (whole - none))


def _lifted(mechanism: Codewords, inputs: NDArray[np.int64]) -> _Floats:
    """The vectors with one more entry, of length 1."""
    shares = inputs / mechanism.bound
    return np.column_stack((shares, np.sqrt(np.maximum(1 - (shares**2).sum(axis=1), 0))))


def named(mechanism: Codewords, inputs: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """What is counted of the codeword that each device names."""
    count, every, nearest = len(inputs), mechanism.codewords, mechanism.nearest
    near = generator.random(count) < float(mechanism.p)
    ranks = 1 + np.where(
        near, generator.integers(nearest, size=count), generator.integers(nearest, every, size=count)
    )
    tails, cosines = _cosines(mechanism.dimensions + 1)
    along = np.interp(generator.beta(ranks, every + 1 - ranks), tails, cosines)[:, np.newaxis]
    vectors = _lifted(mechanism, inputs)
    across = generator.normal(size=vectors.shape)
    across -= vectors * np.einsum("ij,ij->i", across, vectors)[:, np.newaxis]
    across *= np.sqrt((1 - along**2) / np.einsum("ij,ij->i", across, across)[:, np.newaxis])
    return np.rint(LENGTH * (along * vectors + across)[:, :-1]).astype(np.int64)
