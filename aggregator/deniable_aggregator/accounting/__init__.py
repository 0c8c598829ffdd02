"""Accounting: what answers tell that are put together, hidden among others, or weighed against what was known."""

from __future__ import annotations

from deniable_aggregator.accounting.composition import Spent, advanced, composed_delta, group, parallel, sequential
from deniable_aggregator.accounting.exposure import Exposed, exposed
from deniable_aggregator.accounting.participation import dummied, sampled
from deniable_aggregator.accounting.posterior import Belief, after, belief, beliefs
from deniable_aggregator.accounting.sensitivity import Move, Neighbours, moved
from deniable_aggregator.accounting.shuffling import shuffled, shuffled_delta, variation

__all__ = [
    "Belief",
    "Exposed",
    "Move",
    "Neighbours",
    "Spent",
    "advanced",
    "after",
    "belief",
    "beliefs",
    "composed_delta",
    "dummied",
    "exposed",
    "group",
    "moved",
    "parallel",
    "sampled",
    "sequential",
    "shuffled",
    "shuffled_delta",
    "variation",
]
