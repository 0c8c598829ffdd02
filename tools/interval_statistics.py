"""Do 95% intervals hold, and are they no wider than they must be? Makes docs/statistics.md by measuring every kind.

python -m tools.interval_statistics                  measures and writes the page: half an hour
python -m tools.interval_statistics --samples 1000   the same, less precisely, to standard output
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from tools.bounded_coverage import HEADING
from tools.coverage import DEVIATION, Measured, exactly, sampled
from tools.fleets import Case, cases

from deniable.kinds import Distribution, Tree

PAGE = Path(__file__).resolve().parent.parent / "docs/statistics.md"
REPORTS = (100, 1_000, 100_000)
EPSILONS = ("1", "4")
SAMPLES = 4_000

INTRODUCTION = """\
# Whether intervals hold

Made by `.venv/bin/python -m tools.interval_statistics`, which measures; the tests of `tests/statistics` measure the
same things with fewer samples.

A *fleet* is a population whose truth is known. From it devices are drawn, each answers through its metric's
mechanism, and the aggregator's own code makes the answer of the counters.

- **worst row** and **mean of rows**: how often the 95% intervals of an answer's rows hold the truth about the fleet.
- **width** and **widest**: the mean width of a row's intervals over the ideal width, 2 * 1.96 standard deviations of
  the estimate, as if that deviation were known (and no more than the whole of what is possible); the mean over the
  rows, and the widest. Widths below 1 are those of intervals that end where shares end, at 0 or 1.
- **joint**: how often all simultaneous intervals of an answer hold at once.

*Uniform* fleets have every value equally often. In *skewed* ones half of the values or more do not occur at all, and
the others are unequal: of the booleans 2% are true, of the numbers 70% are 0 and 5% at the other end.
"""
METHOD = """\
Rows that one count decides (marked *exact*) are enumerated: every count that can come out, with its probability.
All others, and the joint figures, are of {samples:,} samples: a coverage of 95% is measured to within {coverage:.1%},
nineteen times out of twenty.
"""
BOUNDS = """\
The aim: every row is covered 93.5% of the time or more, rows on average 94.5% to 97.5%, from 1,000 reports on no
width is above 1.05, and simultaneous intervals hold together 94.5% of the time or more. Where few reports are
expected for a value, intervals hold more often than they have to. Counts of events are wider than 1.05 where their
fleet could be one of which fewer than 16 devices are at the far end: the sums that are kept do not tell them apart.
"""
SPREAD = """\
## The standard deviation of a quantity

How much devices differ has to be told from how much noise differs. The interval covers what reports do not show:
where between two inputs of the hybrid mechanism values lie, and, where only sums and sums of squares are kept
(Laplace noise), how heavy the tails of the fleet are. So it is wider than ideal, and holds more often than it has to.
(Widths are compared as variances, whose root the standard deviation is.)
"""

LIMITS = """\
## What no interval knows

A count without a `max` has a low end and no upper one: a device that no sample has could be most of the mean. The low
end asks for nothing but that counts are not negative, and held 95% of the time or more in all populations that were
tried (`tests/answers/test_open_intervals.py`).

With a `max` it has both, whatever the population. Ask for the `max` that you expect, not for the largest imaginable:
the farther it is from what devices have, the more a few that no sample has could add, and the wider is the interval.
What is beyond it moves nothing.
"""


START, END = "<!-- levels -->\n", "<!-- end of levels -->\n"
"""Between these is what `tools/level_statistics.py` has made."""


def leveled(case: Case) -> bool:
    """Whether devices answer one level of a tree."""
    return isinstance(case.metric.kind, Distribution | Tree)


def _long(case: Case, reports: int) -> bool:
    """Whether it takes minutes: vectors are drawn device by device."""
    return reports > 10_000 and case.name.startswith("vector")


def rows_of(case: Case, reports: int, samples: int) -> tuple[list[Measured], float, bool]:
    """The rows, the joint coverage, and whether the rows are exact."""
    found, joint = sampled(case, reports, samples, np.random.default_rng(reports))
    exact = exactly(case, reports)
    return exact or found, joint, exact is not None


def line(case: Case, reports: int, samples: int) -> tuple[str, str | None]:
    """A line of the table, and one of the table of standard deviations."""
    found, joint, exact = rows_of(case, reports, samples)
    deviation = [row for row in found if row.key == DEVIATION]
    rows = [row for row in found if row.key != DEVIATION and not row.rough]
    covered, width = [row.covered for row in rows], [row.width for row in rows]
    start = f"| {case.name} | {case.fleet.name} | {reports:,} |"
    own = f"{start} {min(covered):.2%} | {fmean(covered):.2%} | {fmean(width):.3f} | {max(width):.3f} | {joint:.2%} |"
    other = f"{start} {deviation[0].covered:.2%} | {deviation[0].width:.3f} |" if deviation else None
    return own + (" exact |" if exact else " |"), other


def summary(lines: Sequence[str]) -> str:
    """What the lines of a table come to."""
    cells = [[cell.strip(" %,") for cell in line.split("|")[1:-1]] for line in lines]
    many = [float(each[6]) for each in cells if each[2] != "100"]
    rows = [[float(each[column]) for each in cells] for column in (3, 4, 7)]
    return (
        f"The worst row holds {min(rows[0]):.2f}% of the time, rows on average {fmean(rows[1]):.2f}%; the widest"
        f"\nwidth from 1,000 reports on is {max(many):.3f}; joint figures are {min(rows[2]):.2f}% at the least and"
        f" {fmean(rows[2]):.2f}% on average.\n"
    )


def page(samples: int) -> Iterator[str]:
    """The page, line by line."""
    yield INTRODUCTION
    yield METHOD.format(samples=samples, coverage=1.96 * (0.05 * 0.95 / samples) ** 0.5)
    yield BOUNDS
    spreads = []
    for epsilon in EPSILONS:
        yield f"## Epsilon {epsilon}\n"
        yield "| metric | fleet | reports | worst row | mean of rows | width | widest | joint | |"
        yield "|---|---|---|---|---|---|---|---|---|"
        lines = []
        for case in cases(epsilon):
            if leveled(case):
                continue
            for reports in REPORTS:
                if _long(case, reports) and epsilon != "1":
                    continue
                print(f"epsilon {epsilon}: {case}, {reports:,} reports", file=sys.stderr)
                own, other = line(case, reports, samples)
                lines.append(own)
                yield own
                if other:
                    spreads.append(f"| {epsilon} {other}")
        yield "\n" + summary(lines)
    yield SPREAD
    yield "| epsilon | metric | fleet | reports | covered | width |\n|---|---|---|---|---|---|"
    yield from spreads
    _, start, rest = PAGE.read_text(encoding="utf-8").partition(START)
    yield "\n" + start + rest.partition(END)[0] + END
    yield LIMITS.rstrip("\n")


def main(arguments: Sequence[str]) -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int)
    options = parser.parse_args(arguments)
    text = "\n".join(page(options.samples or SAMPLES)) + "\n"
    if options.samples:
        print(text)
    else:
        _, heading, rest = PAGE.read_text(encoding="utf-8").partition(HEADING)  # made by other commands
        PAGE.write_text(f"{text}\n{heading}{rest}" if heading else text, encoding="utf-8")
        print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
