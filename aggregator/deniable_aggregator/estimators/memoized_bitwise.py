"""Memoized bitwise response: what the fresh mechanism's reports support, with the chances of both flips together."""

from __future__ import annotations

from deniable_aggregator.estimators.memoized import through

__all__ = ["through"]
