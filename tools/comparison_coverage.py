"""Do 95% intervals of differences hold, and are p-values even where nothing changed? A part of docs/comparisons.md.

python -m tools.comparison_coverage --page     measures, and writes the table: ten minutes

words:
  sides    two windows in which nothing has changed: the difference is 0, and every p-value is as likely as any other
  apart    each side has devices of its own
  same     the same devices report on both sides, and answer as they did: what they keep is the same
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest
from tools.coverage import CONFIDENCE, DEVIATION, Case
from tools.window_coverage import Sampler, asked

from deniable import linkage
from deniable_aggregator.analysis.comparison import OTHERS, UNKNOWN, Devices, compared
from deniable_aggregator.answers import Measure, Target

__all__ = ["APART", "SAME", "TOLD", "Found", "measured"]

PAGE = Path(__file__).resolve().parent.parent / "docs/comparisons.md"
APART, SAME = "apart", "same"
TOLD = {APART: OTHERS, SAME: Devices(changed=0.0)}
"""What is said of the devices, where it is known."""
_Floats = NDArray[np.float64]


class Found(NamedTuple):
    """What became of a case's rows, but for totals, which are means times a number."""

    keys: list[str]
    covered: list[float]
    """How often each row's interval has held the difference."""
    widths: list[float]
    """The mean width, over 2 * 1.96 standard deviations of the difference."""
    chances: _Floats
    """The p-values: a row a sample."""


def measured(
    case: Case, sides: str, devices: Devices, size: int, epochs: int, samples: int, generator: np.random.Generator
) -> Found:
    """Every row over so many samples of two sides of so many devices and epochs."""
    sampler, numbers = Sampler(case), []
    for _ in range(samples):
        one = sampler.kept(size, generator)
        other = one if sides == SAME else sampler.kept(size, generator)
        before = sampler.epochs(one, epochs, generator)
        again = sides == SAME and linkage.repeats(case.metric)
        after = before if again else sampler.epochs(other, epochs, generator)
        found = compared(case.metric, before, after, CONFIDENCE, Target.POPULATION, devices)
        told = [row for heading, rows in found.series for row in rows if heading.measure is not Measure.TOTAL]
        numbers.append([(row.value, row.low, row.high, row.p_value) for row in told])
    value, low, high, chances = np.moveaxis(np.array(numbers), 2, 0)
    held = ((low <= 1e-9) & (high >= -1e-9)).mean(axis=0)
    ideal = np.maximum(3.92 * value.std(axis=0), 1e-300)
    return Found([row.key for row in told], held.tolist(), ((high - low).mean(axis=0) / ideal).tolist(), chances)


_SIZE, _EPOCHS, _SAMPLES = 1_000, 7, 250


def table(samples: int) -> Iterator[str]:
    """The lines of the table."""
    yield "| metric | apart | worst | width | even | same | worst | width | not known: apart | same |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    names = dict.fromkeys(case.name for case in asked("1"))
    for name in names:
        print(name, file=sys.stderr, flush=True)
        yield _line(name, samples)


def _line(name: str, samples: int) -> str:
    generator = np.random.default_rng(7)
    asks = [(APART, TOLD[APART]), (SAME, TOLD[SAME]), (APART, UNKNOWN), (SAME, UNKNOWN)]
    cells = [name]
    repeats = any(linkage.repeats(case.metric) for case in asked("1") if case.name == name)
    for number, (sides, devices) in enumerate(asks):
        if sides == SAME and repeats:
            cells += ["the same reports", "", ""] if number == 1 else ["–"]
            continue
        every = [
            measured(case, sides, devices, _SIZE, _EPOCHS, samples if number < 2 else samples // 2, generator)
            for case in asked("1")
            if case.name == name
        ]
        rows = [
            (held, width, chances)
            for found in every
            for key, held, width, chances in zip(
                found.keys, found.covered, found.widths, found.chances.T, strict=True
            )
            if key != DEVIATION and np.isfinite(width)
        ]
        cells.append(f"{fmean(held for held, *_ in rows):.1%}")
        if number < 2:
            cells += [f"{min(held for held, *_ in rows):.1%}", f"{fmean(width for _, width, _ in rows):.2f}"]
        if number == 0:
            cells.append(f"{min(float(kstest(own, 'uniform').pvalue) for *_, own in rows):.1g}")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=_SAMPLES)
    parser.add_argument("--page", action="store_true", help="write it into docs/comparisons.md")
    options = parser.parse_args()
    lines = "\n".join(table(options.samples))
    if not options.page:
        print(lines)
        return
    start, end = "<!-- coverage -->\n", "<!-- end of coverage -->"
    before, _, rest = PAGE.read_text().partition(start)
    PAGE.write_text(before + start + "\n" + lines + "\n\n" + end + rest.partition(end)[2])


if __name__ == "__main__":
    main()
