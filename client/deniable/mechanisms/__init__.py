"""How answers are randomised: one mechanism a file, registered here by the name that a collection file uses.

MECHANISMS is the one list of this side: what a category or a set can be asked by, what `auto` chooses from, what is
estimated, simulated, tested and audited follows from it. docs/adding.md walks through adding one.
"""

from __future__ import annotations

from deniable.mechanisms._choice import Choice, choices, choose, fitting
from deniable.mechanisms._gain import ALLOWANCE, TEN, gain_over, gain_over_ten, least_moved
from deniable.mechanisms._mechanism import Mechanism, Naming
from deniable.mechanisms._support import Supporting
from deniable.mechanisms._wrapper import Memory, Wrapper
from deniable.mechanisms.bitwise_response import BitwiseResponse
from deniable.mechanisms.codewords import Codewords
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
    "ALLOWANCE",
    "MECHANISMS",
    "TEN",
    "BitwiseResponse",
    "Choice",
    "Codewords",
    "Exponential",
    "Gaussian",
    "Hybrid",
    "Laplace",
    "Mechanism",
    "Memoized",
    "MemoizedBitwise",
    "MemoizedSubset",
    "Memory",
    "Naming",
    "PadAndSample",
    "ProjectiveGeometryResponse",
    "RandomizedResponse",
    "SubsetSelection",
    "Supporting",
    "VectorLaplace",
    "Wrapper",
    "choices",
    "choose",
    "fitting",
    "gain_over",
    "gain_over_ten",
    "least_moved",
]

MECHANISMS: dict[str, type[Mechanism]] = {
    each.name: each
    for each in (
        RandomizedResponse,
        SubsetSelection,
        ProjectiveGeometryResponse,
        Laplace,
        Hybrid,
        Memoized,
        Exponential,
        BitwiseResponse,
        MemoizedBitwise,
        MemoizedSubset,
        PadAndSample,
        Gaussian,
        VectorLaplace,
        Codewords,
    )
}
"""Every mechanism, by name. Of two that ask for the same with the same variance, `auto` takes the first."""
