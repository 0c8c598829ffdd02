"""Codewords: whole codebooks as arrays, some devices at a time.

Every device has a codebook of its own, as the client's do: two that shared one would err together, and intervals
would be too short. A million devices take a minute for few dimensions, and far longer for many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable import codebook
from deniable.mechanisms import Codewords
from deniable_aggregator.codebook import table
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, coins
from deniable_aggregator.planning.twins.gaussian import inputs

__all__ = ["draw", "inputs"]

_HELD = 1 << 16
"""So many entries of codebooks are held at a time: they stay in the processor's cache."""


def draw(mechanism: Codewords, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Codewords of seeds."""
    count, nearest = len(inputs), mechanism.nearest
    seeds = generator.integers(0, mechanism.seeds, size=count)
    near = generator.integers(0, nearest, size=count)
    far = generator.integers(0, mechanism.codewords - nearest, size=count)
    place = np.where(coins(generator, mechanism.inside, count), near, nearest + far)
    lifted = _lifted(mechanism, inputs)
    numbers = np.empty(count, dtype=np.int64)
    held = max(_HELD // (mechanism.codewords * lifted.shape[1]), 1)
    for start in range(0, count, held):
        own = slice(start, start + held)
        ranked = _ranked(mechanism, seeds[own], lifted[own])
        numbers[own] = np.take_along_axis(ranked, place[own, np.newaxis], axis=1)[:, 0]
    sent: Payloads = seeds * mechanism.codewords + numbers
    return sent


def _lifted(mechanism: Codewords, inputs: Inputs) -> NDArray[np.float64]:
    """With one more entry, all are as long."""
    entries = inputs.astype(np.float64)
    left = float(mechanism.bound) ** 2 - np.einsum("ij,ij->i", entries, entries)
    return np.column_stack((entries, np.floor(mechanism.fine * np.sqrt(left)) / mechanism.fine))


def _ranked(mechanism: Codewords, seeds: NDArray[np.int64], lifted: NDArray[np.float64]) -> NDArray[np.int64]:
    """For each device the numbers of its codewords, the nearest one first: of sums that floats have exactly."""
    size = lifted.shape[1]
    pages = [page for seed in seeds.tolist() for page in codebook.pages(seed, mechanism.codewords, size)]
    words = np.frombuffer(b"".join(pages), "<u2")
    books = table().take(words).reshape(len(seeds), mechanism.codewords, size)
    along = np.matmul(books, lifted[:, :, np.newaxis])[:, :, 0]
    marks = along / np.sqrt(np.einsum("nij,nij->ni", books, books))
    ranked: NDArray[np.int64] = np.argsort(-marks, axis=1, kind="stable")
    return ranked
