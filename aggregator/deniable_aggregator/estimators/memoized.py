"""Memoized: what the fresh mechanism's reports support, with the chances of both randomisations together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from deniable.mechanisms import Memoized
from deniable_aggregator.estimators._frequencies import Frequencies

__all__ = ["through"]


def through(mechanism: Memoized, fresh: Frequencies) -> Frequencies:
    """The frequencies of the inputs, from those of the remembered symbols."""
    p, q = mechanism.through(Fraction(fresh.p), Fraction(fresh.q))
    kept = float(mechanism.permanent.p), float(mechanism.permanent.q)
    return replace(fresh, p=float(p), q=float(q), kept=kept)
