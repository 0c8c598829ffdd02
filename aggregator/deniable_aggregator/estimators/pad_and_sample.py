"""Pad and sample: a report supports the items that its drawn slot may hold.

A device that has an item draws its slot once in as many times as there are slots: the mechanism's chances p and q
say so, and the shares that come out are those of devices that have the item.
"""

from __future__ import annotations

from dataclasses import replace

from deniable.mechanisms import PadAndSample
from deniable_aggregator.estimators._frequencies import Frequencies, chances

__all__ = ["through"]


def through(mechanism: PadAndSample, inner: Frequencies) -> Frequencies:
    """The frequencies of the items, from those of the drawn answers; paddings are left out."""
    p, q = chances(mechanism)
    return replace(inner, supports=inner.supports[: mechanism.asked], p=p, q=q)
