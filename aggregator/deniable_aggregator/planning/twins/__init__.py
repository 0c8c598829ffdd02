"""Vectorised twins: the client's mechanisms over whole populations at once, for simulation only.

words:
  twin      draws from the same channel as the client's mechanism of that name, from the same integer thresholds;
            tests hold both against the exact probabilities
  inputs    a row a device: the mechanism's input as numpy can hold it (a number, bits, entries, what slots hold)
  payloads  a row a device: of narrow shapes the payload, of wide ones the bytes that travel

Every mechanism's file has `inputs` and `draw`. That of a wrapper has `through` in place of `draw`: its first step,
which makes rows of inputs for the wrapped mechanism. docs/adding.md walks through adding one.

Devices that protect somebody draw from the operating system, one answer at a time; a simulated fleet has nobody to
protect, and its generator can be seeded. A coin of more than 64 bits is thrown here by its upper 64: that moves a
probability by less than 2^-64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np

from deniable.mechanisms import Mechanism
from deniable_aggregator.planning.twins import (
    bitwise_response,
    codewords,
    exponential,
    gaussian,
    hybrid,
    laplace,
    memoized,
    memoized_bitwise,
    memoized_subset,
    pad_and_sample,
    projective_geometry,
    randomized_response,
    subset_selection,
    vector_laplace,
)
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads, words
from deniable_aggregator.planning.twins.gaussian import packed

__all__ = ["ROOMS", "Inputs", "Payloads", "draw", "inputs", "packed", "words"]

_DEVICES = 1 << 15
"""So many are drawn at a time: what they need stays in the processor's cache."""


ROOMS: dict[str, ModuleType] = {
    room.__name__.rpartition(".")[2]: room
    for room in (
        randomized_response,
        subset_selection,
        projective_geometry,
        laplace,
        hybrid,
        memoized,
        exponential,
        bitwise_response,
        memoized_bitwise,
        memoized_subset,
        pad_and_sample,
        gaussian,
        vector_laplace,
        codewords,
    )
}
"""The file of every mechanism's twin, by its name."""


def inputs(mechanism: Mechanism, chosen: Sequence[int]) -> Inputs:
    """The client's inputs as rows."""
    rows: Inputs = ROOMS[mechanism.name].inputs(mechanism, chosen)
    return rows


def draw(mechanism: Mechanism, rows: Inputs, generator: np.random.Generator) -> Payloads:
    """A randomised answer for every row of inputs."""
    room, inner = ROOMS[mechanism.name], mechanism.wrapped
    step: Callable[..., Payloads] = room.draw if inner is None else room.through
    starts = range(0, max(len(rows), 1), _DEVICES)
    made = np.concatenate([step(mechanism, rows[start : start + _DEVICES], generator) for start in starts])
    return made if inner is None else draw(inner, made, generator)
