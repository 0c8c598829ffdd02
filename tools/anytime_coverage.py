"""How often does any of 365 looks leave the truth out? Makes a part of docs/comparisons.md.

python -m tools.anytime_coverage --page     measures, and writes its part of the page: a minute

words:
  run     a year of days: a boolean of 1,000 devices at epsilon 1, of which 30% say yes, looked at every evening
  fleet   whether the same devices report every day, or others; whether they answer anew or renew what they remember
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tools.page_parts import Part

from deniable_aggregator.analysis.anytime import growing, times

__all__ = ["DAYS", "FLEETS", "Fleet", "missed", "reaches"]

PAGE = Path(__file__).resolve().parent.parent / "docs/comparisons.md"
DAYS, DEVICES, SHARE, CONFIDENCE = 365, 1_000, 0.3, 0.95
_P = math.e / (1 + math.e)
_Floats = NDArray[np.float64]


class Fleet(NamedTuple):
    """How devices report over a year."""

    name: str
    same: bool
    """The same devices every day."""
    renewed: bool
    """They remember a bit, and randomise it anew, both at epsilon 1."""


FLEETS = (
    Fleet("others every day", False, False),
    Fleet("the same every day, fresh answers", True, False),
    Fleet("the same every day, renewed answers", True, True),
)


def _chances(fleet: Fleet) -> tuple[float, float]:
    """Of a yes, where the answer is yes and where it is no."""
    once = (_P, 1 - _P)
    return (_P**2 + (1 - _P) ** 2, 2 * _P * (1 - _P)) if fleet.renewed else once


def _errors(fleet: Fleet) -> tuple[_Floats, _Floats]:
    """The standard error of the share of a window of so many days, and how many reports of others it is worth."""
    p, q = _chances(fleet)
    days, rate = np.arange(1, DAYS + 1), q + SHARE * (p - q)
    whole = rate * (1 - rate) / (p - q) ** 2
    g = 1 - _P + SHARE * (2 * _P - 1) if fleet.renewed else SHARE
    kept = g * (1 - g) / ((2 * _P - 1) ** 2 if fleet.renewed else 1) if fleet.same else 0.0
    variance = (kept + (whole - kept) / days) / DEVICES
    return np.sqrt(variance), whole / variance


def reaches(fleet: Fleet) -> dict[str, _Floats]:
    """How many standard errors intervals reach, day by day."""
    _, effective = _errors(fleet)
    until = [
        max(growing(CONFIDENCE, own / DEVICES * 2), growing(CONFIDENCE, day * 2))
        for day, own in enumerate(effective, 1)
    ]
    return {
        "ordinary": np.full(DAYS, times(CONFIDENCE, 1)),
        "growing": np.array(until),
        "any": np.full(DAYS, times(CONFIDENCE, 366)),
    }


def missed(fleet: Fleet, runs: int, generator: np.random.Generator) -> dict[str, tuple[float, float]]:
    """For each sort of interval, how many of the runs have a day whose interval leaves the truth out: of windows that
    grow, and of single days."""
    p, q = _chances(fleet)
    days = np.arange(1, DAYS + 1)
    yes = generator.binomial(DEVICES, SHARE, (runs, 1 if fleet.same else DAYS))
    if fleet.renewed:
        yes = generator.binomial(yes, _P) + generator.binomial(DEVICES - yes, 1 - _P)
        counts = generator.binomial(yes, _P, (runs, DAYS)) + generator.binomial(DEVICES - yes, 1 - _P, (runs, DAYS))
    else:
        counts = generator.binomial(yes, _P, (runs, DAYS)) + generator.binomial(DEVICES - yes, 1 - _P, (runs, DAYS))
    error, _ = _errors(fleet)
    grown = (counts.cumsum(axis=1) / (days * DEVICES) - q) / (p - q)
    single = (counts / DEVICES - q) / (p - q)
    found = {}
    for name, reach in reaches(fleet).items():
        outside = np.abs(grown - SHARE) > reach * error
        alone = np.abs(single - SHARE) > reach * error[0]
        found[name] = float(outside.any(axis=1).mean()), float(alone.any(axis=1).mean())
    return found


def table(runs: int) -> Iterator[str]:
    """The lines of the table."""
    yield "| devices | interval | width: 1 day | 7 | 30 | 90 | 365 | years that miss: growing windows | single days |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for fleet in FLEETS:
        found = missed(fleet, runs, np.random.default_rng(5))
        for name, reach in reaches(fleet).items():
            widths = " | ".join(f"{reach[day - 1] / times(CONFIDENCE, 1):.2f}" for day in (1, 7, 30, 90, 365))
            years = " | ".join(f"{share:.1%}" for share in found[name])
            yield f"| {fleet.name} | {name} | {widths} | {years} |"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=4_000)
    parser.add_argument("--page", action="store_true", help="write it into docs/comparisons.md")
    options = parser.parse_args()
    lines = "\n".join(table(options.runs))
    if not options.page:
        print(lines)
        return
    Part("<!-- anytime -->", "<!-- end of anytime -->").write(PAGE, lines)


if __name__ == "__main__":
    main()
