"""Discoveries: which of many changes are told as found, so that few of those told are none.

The false discovery rate is the part of what is called found that is not there, on average (Benjamini and Hochberg,
1995). Their rule holds it where p-values are independent, or rise and fall together. Those of one answer do neither:
shares that add up to 1 push each other down. So it is the rule of Benjamini and Yekutieli (2001) that is used, which
holds the rate however p-values depend on each other. It asks for more: of m rows, p-values that are smaller by the
sum of 1, 1/2, ... 1/m (5.2 for 100 rows, which takes a change that is an eighth larger). Whether words that somebody
lists are there at all, each by reports that support its own cells, are questions apart: there the first rule does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["found"]


def found(p_values: Sequence[float], rate: float, *, apart: bool = False) -> list[bool]:
    """Which are found at this false discovery rate; those that are nan were not looked at. Where each is about itself
    alone, `apart`, the rule is that for independent ones."""
    if not 0 < rate < 1:
        raise ValueError(f"a false discovery rate lies between 0 and 1, not {rate}")
    known = sorted(each for each in p_values if not math.isnan(each))
    if not known:
        return [False] * len(p_values)
    together = 1.0 if apart else math.fsum(1 / place for place in range(1, len(known) + 1))
    each = rate / len(known) / together
    largest = max((own for place, own in enumerate(known, 1) if own <= place * each), default=-1.0)
    return [own <= largest for own in p_values]  # nan is no smaller than anything
