"""Totals of all devices that have an answer, where those that reported were drawn by coins.

A total is a mean times a number of devices. Of those that reported the number is known; of all that have an answer,
drawn or not, it is as uncertain as the coins are (`estimators/_coins.py`). Neither error says anything of the other,
and squares of distances from the total add up (Zou and Donner, 2008): that of the mean, times the devices, and that
of the devices, times the mean, which is taken within its interval. Shares, means and quantiles need nothing of this:
whom a coin draws does not depend on the answer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from deniable_aggregator.answers._estimate import Estimate, Measure, Row
from deniable_aggregator.estimators import Drawn, Target, drawn

__all__ = ["of_all"]

_DEVICES = "devices"


def of_all(found: Estimate, sample: Fraction) -> Estimate:
    """The answer, its totals and its number of devices those of all that have one; of just the devices that reported
    it is as it was."""
    if sample == 1 or found.target is Target.REPORTING:
        return found
    devices = drawn(found.reports, float(sample), found.confidence)
    pairs = zip(found.rows, found.headings, strict=True)
    rows = (_total(row, devices, found.reports) if own.measure is Measure.TOTAL else row for row, own in pairs)
    return replace(found.with_rows(rows), devices=Row(_DEVICES, *devices))


def _total(row: Row, devices: Drawn, reports: int) -> Row:
    """A total of those that reported, brought up to all."""
    if not reports or math.isnan(row.value):
        return row
    times = devices.value / reports
    middle = min(max(row.value, row.low), row.high)
    fewer, more = (1 - devices.low / devices.value) * middle, (devices.high / devices.value - 1) * middle
    down, up = (fewer, more) if middle > 0 else (-more, -fewer)
    low = times * (middle - math.hypot(middle - row.low, down))
    high = times * (middle + math.hypot(row.high - middle, up))
    error = times * math.hypot(row.std_error, row.value * devices.std_error / devices.value)
    return replace(
        row, value=times * row.value, low=max(low, 0.0) if row.low >= 0 else low, high=high, std_error=error
    )
