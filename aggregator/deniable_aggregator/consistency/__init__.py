"""Consistent views: what is known of the truth (shares are not negative and add up to 1) put upon raw estimates.

A consistent view is shown beside the raw estimate and never instead of it: it is biased where it corrects, and no
interval of the raw estimate belongs to it.
"""

from __future__ import annotations

from deniable_aggregator.consistency.hierarchy import ContradictionError, Hierarchy
from deniable_aggregator.consistency.monotone import monotone
from deniable_aggregator.consistency.real_numbers import least_squares, nonnegative
from deniable_aggregator.consistency.simplex import on_simplex
from deniable_aggregator.consistency.whole_numbers import integers

__all__ = ["ContradictionError", "Hierarchy", "integers", "least_squares", "monotone", "nonnegative", "on_simplex"]
