"""One rule for digits."""

from __future__ import annotations

import math

import pytest

from deniable import Collection
from deniable_aggregator.answers import Measure, headings
from deniable_aggregator.digits import decimals, text


@pytest.mark.parametrize(
    ("value", "measure", "places", "shown"),
    [
        (0.61123, Measure.SHARE, 2, "61.12%"),
        (-0.004951, Measure.SHARE, 2, "-0.50%"),
        (-0.00001, Measure.SHARE, 2, "0.00%"),
        (1.0, Measure.SHARE, 2, "100.00%"),
        (0.00125, Measure.SHARE, 2, "0.13%"),
        (66.2149, Measure.QUANTITY, 2, "66.21"),
        (2.5, Measure.QUANTITY, 0, "3"),
        (-2.5, Measure.QUANTITY, 0, "-2"),
        (1234567.5, Measure.TOTAL, 0, "1,234,568"),
        (math.nan, Measure.SHARE, 2, "–"),
        (math.inf, Measure.QUANTITY, 2, "∞"),
        (-math.inf, Measure.QUANTITY, 2, "-∞"),
    ],
)
def test_numbers_read_as_the_rule_says(value: float, measure: Measure, places: int, shown: str) -> None:
    """Percent with two decimals, half of the last digit up, no negative zero, a word for what is not known."""
    assert text(value, measure, places) == shown


@pytest.mark.parametrize(
    ("kind", "quantity", "total"),
    [
        ('kind = "number"\nrange = [0, 480]', 2, 0),
        ('kind = "number"\nrange = [0, 1]\nstep = 0.001', 4, 0),
        ('kind = "number"\nrange = [0, 0.01]\nstep = 0.0001', 6, 2),
        ('kind = "number"\nrange = [0, 100000]', 0, 0),
        ('kind = "number"\nrange = [-0.5, 0.75]\nstep = 0.05', 4, 0),
        ('kind = "boolean"', 2, 0),
    ],
)
def test_digits_end_where_a_ten_thousandth_of_the_range_is_told(kind: str, quantity: int, total: int) -> None:
    """The range of the collection file decides, not the value: digits do not jump when an estimate moves."""
    metric = Collection.loads(
        '[collection]\nname = "x"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 1\n'
        f'[metrics.m]\ndescription = "It"\nepsilon = 1\n{kind}\n'
    ).metrics["m"]
    expected = {Measure.SHARE: 2, Measure.QUANTITY: quantity, Measure.TOTAL: total}
    for heading in headings(metric):
        assert decimals(heading) == expected[heading.measure]
