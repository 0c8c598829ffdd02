"""Lasting: which part of a report's variance a device brings along into every epoch, where it randomises afresh.

words:
  remembered  with P and Q: the chances that what is remembered supports the own input, and another one
  sent        with p and q: the same of what is sent
  part        of the variance of what one report says of a share: what the remembered answer alone would have

For a share f of devices, m = Q + f (P - Q) is how many remember the input, l = q + f (p - q) how many send it. What
is sent depends on what is remembered by just whether the input is in it: of the variance l (1 - l) / (p - q)^2, the
part m (1 - m) / (P - Q)^2 is a device's for as long as its answer stays, and the rest is drawn anew each time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import Mechanism, Memoized, MemoizedBitwise, MemoizedSubset
from deniable_aggregator.estimators._frequencies import Frequencies

__all__ = ["lasting"]


def lasting(mechanism: Mechanism, found: Frequencies, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each share the part of its variance that lasts; all of it without a second randomisation."""
    if not isinstance(mechanism, Memoized | MemoizedBitwise | MemoizedSubset):
        return np.ones(len(shares))
    first = mechanism.permanent
    remembered = _spread(np.clip(shares, 0, 1), float(first.p), float(first.q))
    part: NDArray[np.float64] = np.minimum(remembered / _spread(np.clip(shares, 0, 1), found.p, found.q), 1.0)
    return part


def _spread(shares: NDArray[np.float64], p: float, q: float) -> NDArray[np.float64]:
    support = q + shares * (p - q)
    spread: NDArray[np.float64] = support * (1 - support) / (p - q) ** 2
    return spread
