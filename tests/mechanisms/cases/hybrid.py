"""Hybrid: few bands and many."""

from __future__ import annotations

from deniable.mechanisms import Hybrid
from support.cases import EPSILONS, TWO, Asked, Cases, Family, Subject

__all__ = ["CASES"]

CASES = Cases(
    families=(Family(Hybrid, EPSILONS, (13, 41, 131), (("2", 19),), (("1", 11), ("1", 20), ("1", 1003))),),
    scripted=(Subject(Hybrid.best(TWO), (0, 5, 12)),),
    fitted=(Subject(Hybrid.best(TWO), (0, 5)),),
    timed=(Subject(Hybrid.best(TWO), (0, 5, 12)),),
    asked=(Asked("minutes", 'kind = "number"\nrange = [0, 60]', [0, 33.3, 60, 75], 800_000),),
)
