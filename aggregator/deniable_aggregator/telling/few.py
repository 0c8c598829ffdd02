"""Which numbers are told: one rule for the page, the terminal, Python and Grafana.

words:
  possible        from the least to the most that a row can be
  told            the estimate as people read it: cut to what is possible
  too few to tell where a row's interval is no shorter than that of somebody who has seen no report: who takes all
                  that is possible for as likely says at 95% that the truth lies within 95% of it, without any device
  raw             the estimate as it came out, which noise can take beyond what is possible; what is added or averaged
                  over epochs, segments or metrics is this one, as all others are biased
"""

from __future__ import annotations

import math
from typing import NamedTuple

from deniable import Metric
from deniable_aggregator.answers import Estimate, Heading, Row
from deniable_aggregator.answers import ends as possible
from deniable_aggregator.telling.digits import NOT_KNOWN, decimals, text

__all__ = ["TOO_FEW", "Reading", "readings"]

TOO_FEW = "too few to tell"
"""What is read in place of a number."""


class Reading(NamedTuple):
    """How a row is read."""

    text: str
    """The number, or that there is none."""
    value: float | None
    """The number: None where nothing is told."""
    few: bool
    """Whether it is too few to tell."""


def readings(metric: Metric, found: Estimate) -> list[Reading]:
    """Of every row of an answer, in their order."""
    least, most = possible(metric, found).tolist()
    rows = zip(found.headings, found.rows, least, most, strict=True)
    return [_reading(heading, row, low, high, found.confidence) for heading, row, low, high in rows]


def _reading(heading: Heading, row: Row, least: float, most: float, confidence: float) -> Reading:
    if math.isnan(row.value):
        return Reading(NOT_KNOWN, None, few=False)
    if not heading.chance and _is_few(row, least, most, confidence):
        return Reading(TOO_FEW, None, few=True)
    value = min(max(row.value, least), most)
    return Reading(text(value, heading.measure, decimals(heading)), value, few=False)


def _is_few(row: Row, least: float, most: float, confidence: float) -> bool:
    """Of what has no end, an interval that is all of it."""
    if math.isinf(most - least):
        return row.low <= least and row.high >= most
    return row.high - row.low >= confidence * (most - least)
