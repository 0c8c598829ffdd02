"""How often something is found, of few trials that are dear and many that are cheap: the cheap ones are foretold.

words:
  trial      two fleets, before and after, each told by one number
  margin     by how many reaches a trial's difference is away from none: it is found beyond 1
  foretold   a trial's margin by a parabola of both numbers, which is fitted to the dear trials

Whether a dear trial is found is known, and of a cheap one whether it is foretold to be. How often that is, and by how
much more often dear trials are found than foretold, add up to how often trials are found, whatever the parabola: it
only has to be good for few trials to say much. Where it foretells 99 of 100 of them, 400 say as much as 6,000.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dear", "Often", "often", "weights"]

_Floats = NDArray[np.float64]


class Dear(NamedTuple):
    """Trials that have been looked at."""

    before: _Floats
    after: _Floats
    margins: _Floats
    found: NDArray[np.bool_]


class Often(NamedTuple):
    """How often a trial is found."""

    chance: float
    error: float
    """Its standard error."""


def weights(sums: _Floats, told: _Floats) -> _Floats:
    """What to make one number of sums with, so that it is as near as can be to what was told of each, but for a
    constant."""
    own: _Floats = np.linalg.lstsq(sums - sums.mean(axis=0), told - told.mean(), rcond=None)[0]
    return own


def often(dear: Dear, before: _Floats, after: _Floats) -> Often:
    """From dear trials, and from both numbers of cheap ones. The error of what no trial has shown is not nothing: one
    more trial counts as not foretold."""
    whole = np.concatenate([dear.before, dear.after])
    middle, scale = whole.mean(), max(whole.std(), 1e-300)

    def terms(*numbers: _Floats) -> _Floats:
        one, two = ((own - middle) / scale for own in numbers)
        return np.column_stack([np.ones(len(one)), one, two, one * one, one * two, two * two])

    fitted = np.linalg.lstsq(terms(dear.before, dear.after), dear.margins, rcond=None)[0]
    expected = terms(before, after) @ fitted > 1
    off = dear.found.astype(np.float64) - (terms(dear.before, dear.after) @ fitted > 1)
    count, chance = len(off), float(expected.mean())
    varies = float(off.var()) + 1 / count
    return Often(chance + float(off.mean()), math.sqrt(varies / count + chance * (1 - chance) / len(expected)))
