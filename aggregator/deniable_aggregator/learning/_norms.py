"""What updates are divided by: chosen from what devices say of how long theirs are, at an epsilon of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from deniable_aggregator.answers import QUANTILES, Estimate, RowId, quantile_key

__all__ = ["clipping_norm"]


def clipping_norm(answer: Estimate | Iterable[dict[str, Any]], share: float = 0.8) -> float:
    """The length that this share of the updates is below, of a distribution whose values are logarithms to base 2.

    `answer` is an `Estimate`, or the rows that a `Reader` has got for `quantiles=[share]`. Longer updates will be
    shortened, and the shorter ones have less noise for it. Whatever comes out is public, and costs no more privacy.
    """
    key = quantile_key(share)
    if isinstance(answer, Estimate):
        at = answer.quantile(share).value if answer.ask else answer.row(RowId(QUANTILES, key)).value
    else:
        found = [row["value"] for row in answer if (row["series"], row["key"]) == (QUANTILES, key)]
        if len(found) != 1:
            raise LookupError(f"the answer has no row {key} of {QUANTILES}: ask for quantiles=[{share!r}]")
        at = math.nan if found[0] is None else found[0]
    if math.isnan(at):
        raise ValueError("nobody has said yet how long updates are")
    return float(2.0**at)
