"""How answers are randomised: one mechanism a file, registered here by the name that a collection file uses."""

from __future__ import annotations

from deniable.mechanisms._choice import Choice, choices, choose
from deniable.mechanisms._mechanism import Mechanism
from deniable.mechanisms.bitwise_response import BitwiseResponse
from deniable.mechanisms.exponential import Exponential
from deniable.mechanisms.gaussian import Gaussian
from deniable.mechanisms.hybrid import Hybrid
from deniable.mechanisms.laplace import Laplace
from deniable.mechanisms.memoized import Memoized
from deniable.mechanisms.memoized_bitwise import MemoizedBitwise
from deniable.mechanisms.memoized_subset import MemoizedSubset
from deniable.mechanisms.pad_and_sample import PadAndSample
from deniable.mechanisms.projective_geometry import ProjectiveGeometryResponse
from deniable.mechanisms.randomized_response import RandomizedResponse
from deniable.mechanisms.subset_selection import SubsetSelection
from deniable.mechanisms.vector_laplace import VectorLaplace

__all__ = [
    "MECHANISMS",
    "BitwiseResponse",
    "Choice",
    "Exponential",
    "Gaussian",
    "Hybrid",
    "Laplace",
    "Mechanism",
    "Memoized",
    "MemoizedBitwise",
    "MemoizedSubset",
    "PadAndSample",
    "ProjectiveGeometryResponse",
    "RandomizedResponse",
    "SubsetSelection",
    "VectorLaplace",
    "choices",
    "choose",
]

MECHANISMS: dict[str, type[Mechanism]] = {
    RandomizedResponse.name: RandomizedResponse,
    SubsetSelection.name: SubsetSelection,
    ProjectiveGeometryResponse.name: ProjectiveGeometryResponse,
    Laplace.name: Laplace,
    Hybrid.name: Hybrid,
    Memoized.name: Memoized,
    Exponential.name: Exponential,
    BitwiseResponse.name: BitwiseResponse,
    MemoizedBitwise.name: MemoizedBitwise,
    MemoizedSubset.name: MemoizedSubset,
    PadAndSample.name: PadAndSample,
    Gaussian.name: Gaussian,
    VectorLaplace.name: VectorLaplace,
}
"""Every mechanism, by name."""
