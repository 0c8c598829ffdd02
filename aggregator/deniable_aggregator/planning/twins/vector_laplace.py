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
    sent = laplace.draw(mechanism.noise, inputs.ravel() + mechanism.bound, generator) - (mechanism.bound + 2)
    return sent_entries(sent.reshape(inputs.shape))
