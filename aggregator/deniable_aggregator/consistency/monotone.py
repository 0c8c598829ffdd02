"""A curve that never falls: the nearest one to a curve that is estimated point by point.

Isotonic regression: where estimates fall, they are pooled with their neighbours until they rise (Ayer, Brunk, Ewing,
Reid, Silverman, 1955; scipy has it). Of all curves that never fall none is nearer, so it is never farther from the
truth than what it is made of.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["monotone"]


def monotone(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares between 0 and 1 that do not fall; nan where any of these is not known."""
    if not np.isfinite(shares).all():
        return np.full(len(shares), np.nan)
    if not len(shares):
        return shares
    from scipy.optimize import isotonic_regression  # takes long to load, and most answers need none

    nearest: NDArray[np.float64] = np.clip(isotonic_regression(shares).x, 0.0, 1.0)
    return nearest
