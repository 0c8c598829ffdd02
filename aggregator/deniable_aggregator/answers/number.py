"""Number: the mean, the total of the devices that reported, and where reports show it the standard deviation."""

from __future__ import annotations

from deniable_aggregator.answers._quantities import quantity_answer, quantity_shared, quantity_truth

__all__ = ["answer", "shared", "truth"]

answer = quantity_answer
shared = quantity_shared
truth = quantity_truth
