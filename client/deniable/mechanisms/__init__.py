"""How answers are randomised: one mechanism a file, registered here by the name that a collection file uses."""

from __future__ import annotations

from deniable.mechanisms._choice import Choice, choices, choose
from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms.laplace import Laplace
from deniable.mechanisms.memoized import Memoized
from deniable.mechanisms.projective_geometry import ProjectiveGeometryResponse
from deniable.mechanisms.randomized_response import RandomizedResponse
from deniable.mechanisms.subset_selection import SubsetSelection

__all__ = [
    "MECHANISMS",
    "Choice",
    "Laplace",
    "Mechanism",
    "Memoized",
    "ProjectiveGeometryResponse",
    "RandomizedResponse",
    "SubsetSelection",
    "choices",
    "choose",
]

MECHANISMS: dict[str, type[Mechanism]] = {
    RandomizedResponse.name: RandomizedResponse,
    SubsetSelection.name: SubsetSelection,
    ProjectiveGeometryResponse.name: ProjectiveGeometryResponse,
    Laplace.name: Laplace,
    Memoized.name: Memoized,
}
"""Every mechanism, by name."""
