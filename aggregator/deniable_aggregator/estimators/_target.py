"""Whom an interval is about."""

from __future__ import annotations

import enum

__all__ = ["Target"]


class Target(enum.StrEnum):
    """What an interval holds with the stated confidence."""

    POPULATION = "population"
    """The value for the population that the reporting devices are a random sample of: sampling and noise."""
    REPORTING = "reporting"
    """The value for just the devices that reported: noise alone."""
