"""How answers are randomised: one mechanism a file, registered here by the name that a collection file uses."""

from __future__ import annotations

from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms.laplace import Laplace
from deniable.mechanisms.randomized_response import RandomizedResponse

__all__ = ["MECHANISMS", "Laplace", "Mechanism", "RandomizedResponse"]

MECHANISMS: dict[str, type[Mechanism]] = {
    RandomizedResponse.name: RandomizedResponse,
    Laplace.name: Laplace,
}
"""Every mechanism, by name."""
