"""Norm-Sub: the nearest shares that are not negative and add up to 1.

One amount is subtracted from all shares, and what falls below zero becomes zero. This is the Euclidean projection
onto the simplex (Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball, 2008), and the most
likely truth under equal normal noise (Wang, Lopuhaa-Zwakenberg, Li, Skoric, Li: Locally differentially private
frequency estimation with consistency, 2020, where it has its name).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["on_simplex"]


def on_simplex(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares of the simplex that are nearest to these; nan where any of these is not known."""
    if not np.isfinite(shares).all():
        return np.full(len(shares), np.nan)
    descending = np.sort(shares)[::-1]
    # Of the k largest, each keeps x - (their sum - 1) / k; k is the most for which all of them keep something.
    cuts = (np.cumsum(descending) - 1) / np.arange(1, len(shares) + 1)
    cut = cuts[np.flatnonzero(descending > cuts)[-1]]
    nearest: NDArray[np.float64] = np.maximum(shares - cut, 0.0)
    return nearest
