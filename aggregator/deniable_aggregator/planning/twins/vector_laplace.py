"""Vector Laplace: discrete Laplace noise on every entry."""

from __future__ import annotations

import numpy as np

from deniable.mechanisms import VectorLaplace
from deniable_aggregator.planning.twins import laplace
from deniable_aggregator.planning.twins._arrays import Inputs, Payloads
from deniable_aggregator.planning.twins.gaussian import inputs, sent_entries

__all__ = ["draw", "inputs"]


def draw(mechanism: VectorLaplace, inputs: Inputs, generator: np.random.Generator) -> Payloads:
    """Entries, as bytes."""
    noise, centre = mechanism.noise, mechanism.noise.lowest - mechanism.bound
    sent = laplace.draw(noise, inputs.ravel() + mechanism.bound, generator) + centre
    return sent_entries(sent.reshape(inputs.shape))
