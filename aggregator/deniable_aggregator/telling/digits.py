"""How an estimate reads: one rule for the page, the terminal, Python and Grafana, so that all show the same digits.

A share is written in percent with two decimals, a quantity with as many as its range asks for, a total with four
fewer. Half of the last digit is rounded up, and the arithmetic is that of Grafana's formatter, step by step
(multiply, add a half, floor, divide): where Grafana is told the unit and the decimals, it prints what is printed
here, but for the commas between thousands.
"""

from __future__ import annotations

import math

from deniable_aggregator.answers import Heading, Measure

__all__ = ["DECIMALS", "NOT_KNOWN", "decimals", "difference", "half", "text"]

DECIMALS = (0, 2, 4, 6)
"""What a quantity can have. Few, since a Grafana panel needs a query for each."""
NOT_KNOWN = "–"
_RESOLVED = 10_000
"""Digits end where this part of a quantity's range is resolved."""
_TOTAL_FEWER = 4
_UNBOUNDED = (0.0, 100.0)


def decimals(heading: Heading) -> int:
    """How many digits behind the point the estimates of a series have; of shares, those of their percentages."""
    if heading.measure is Measure.SHARE:
        return 2
    low, high = heading.span or _UNBOUNDED
    finest = (high - low) / _RESOLVED
    own = next((each for each in DECIMALS if 10.0**-each <= finest), DECIMALS[-1])
    return own if heading.measure is Measure.QUANTITY else max(own - _TOTAL_FEWER, 0)


def text(value: float, measure: Measure, places: int) -> str:
    """An estimate, or an end of its interval, as people read it."""
    if math.isnan(value):
        return NOT_KNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if measure is Measure.SHARE:
        return f"{_rounded(100 * value, places):.{places}f}%"
    return f"{_rounded(value, places):,.{places}f}"


def difference(value: float, measure: Measure, places: int) -> str:
    """A difference with its sign; of shares in points, which are hundredths."""
    if math.isnan(value) or math.isinf(value):
        return text(value, measure, places)
    share = measure is Measure.SHARE
    return f"{_rounded(100 * value if share else value, places):+,.{places}f}" + (" points" if share else "")


def half(value: float, heading: Heading, *, is_open: bool = False) -> str:
    """Half of an interval, with its unit; of one without an upper end what lies below the value."""
    sign, end = ("-", ", and no upper end") if is_open else ("±", "")
    if heading.measure is Measure.SHARE:
        return f"{sign}{_rounded(100 * value, decimals(heading)):.{decimals(heading)}f} points{end}"
    unit = f" {heading.unit}" if heading.unit else ""
    return f"{sign}{text(value, heading.measure, decimals(heading))}{unit}{end}"


def _rounded(value: float, places: int) -> float:
    factor = 10.0**places
    return math.floor(value * factor + 0.5) / factor
