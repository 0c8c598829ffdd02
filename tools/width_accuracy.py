"""Are intervals as wide as `deniable check --devices` says they will be? `--write` puts what is found into a page.

python -m tools.width_accuracy            print it: some minutes
python -m tools.width_accuracy --write    and replace it in docs/widths.md

words:
  expected    half of a row's interval, as `planning/widths.py` has it before there is a device
  simulated   the same on average over fleets: the devices are drawn, the twins randomise, and the aggregator's own
              code makes the answer
  off         expected over simulated, less one, of the row where that is farthest from none
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tools.fleets import Case, cases
from tools.page_parts import Part

from deniable_aggregator.answers import CANDIDATES, RowId, answer
from deniable_aggregator.answers.text import LONG
from deniable_aggregator.planning.population import Fleet, Shares
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.planning.widths import Width, half_of, widths

__all__ = ["PAGE", "Off", "fleet_of", "halves", "line", "off"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "widths.md"
_PART = Part("<!-- widths: tools/width_accuracy.py -->", "<!-- end of widths -->")
EPSILONS = ("1", "4")
DEVICES = (1_000, 100_000)
_FEWEST, _MOST, _SURE = 16, 32_768, 0.005
"""So many fleets at the least and at the most: as many as tell each half to such a part, by its standard error."""
_SAME = 256
"""So many fleets, where a row came out the same in each: other answers may be rare. A quantile has whole buckets."""
WORDS = ["elephant", *(f"{first}{second}ephant" for first in "hnrt" for second in "lmpqsw")]
"""Words that nobody has, and who asks for them learns the same of each: a fleet tells as many halves of one."""
_ASKED = (CANDIDATES, LONG)
"""Series of texts: what is frequent takes longer, and has no width that is known beforehand."""


class Off(NamedTuple):
    """By how much a row is off."""

    row: RowId
    part: float
    """Of what is simulated."""
    error: float
    """The standard error of that."""
    fleets: int
    """Of so many."""

    @property
    def one(self) -> float:
        """By which part one fleet's half is another one than the mean of all, by its standard deviation."""
        return self.error * math.sqrt(self.fleets)


def fleet_of(case: Case) -> Fleet:
    """Its devices."""
    return Shares.of([case.metric.kind.check(value) for value in case.fleet.values], case.fleet.devices)


def halves(case: Case, devices: int, generator: np.random.Generator) -> Iterator[dict[RowId, float]]:
    """Of one simulated fleet after another."""
    fleet, metric = fleet_of(case), case.metric
    while True:
        counters = simulate(metric, fleet(devices, generator), generator)
        if metric.kind.name != "text":
            found = answer(metric, counters).by_id
            yield {where: half_of(row.low, row.value, row.high)[0] for where, row in found.items()}
            continue
        asked = answer(metric, counters, keys={CANDIDATES: tuple(WORDS)}, only=_ASKED).by_id
        told = {where: half_of(row.low, row.value, row.high)[0] for where, row in asked.items()}
        word = math.fsum(told[RowId(CANDIDATES, key)] for key in WORDS) / len(WORDS)
        yield {RowId(LONG, LONG): told[RowId(LONG, LONG)], RowId(CANDIDATES, WORDS[0]): word}


def off(case: Case, devices: int, most: int = _MOST, seed: int = 7) -> list[Off]:
    """Of every row, as `check` and `plan` say it, by so many fleets at the most."""
    expected: list[Width] = widths(case.metric, devices, fleet_of(case))
    seen: list[dict[RowId, float]] = []
    fleets = halves(case, devices, np.random.default_rng(seed))
    while True:
        seen += islice(fleets, max(min(_FEWEST, most), len(seen)))  # twice as many as before
        rows = [each for each in expected if all(each.where in told for told in seen)]
        every = np.array([[told[each.where] for each in rows] for told in seen])
        means, errors = every.mean(axis=0), every.std(axis=0, ddof=1) / math.sqrt(len(seen))
        same = len(seen) < _SAME and not errors.all()
        if len(seen) >= most or ((errors <= _SURE * means).all() and not same):
            parts = zip(rows, means.tolist(), errors.tolist(), strict=True)
            return [Off(each.where, each.half / mean - 1, error / mean, len(seen)) for each, mean, error in parts]


def line(epsilon: str, case: Case, devices: int, found: Sequence[Off]) -> str:
    """Of the row that is farthest off."""
    worst = max(found, key=lambda each: abs(each.part))
    about = (epsilon, case.name, case.fleet.name, f"{devices:,}", f"{worst.fleets:,}", str(len(found)))
    told = (
        f"{worst.part:+.1%}",
        f"{1.96 * worst.error:.1%}",
        f"{worst.one:.0%}",
        f"{worst.row.series}: {worst.row.key}",
    )
    return f"| {' | '.join(about + told)} |"


HEAD = (
    "| epsilon | metric | fleet | devices | fleets | rows | off | ± | one fleet | of |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def table() -> Iterator[str]:
    """The table, as the page has it."""
    yield HEAD
    for epsilon in EPSILONS:
        for case in cases(epsilon):
            for devices in DEVICES:
                if devices > DEVICES[0] and case.fleet.name != "uniform":
                    continue  # rows that nobody has take thousands of fleets
                print(f"epsilon {epsilon}: {case}, {devices:,}", file=sys.stderr, flush=True)
                yield line(epsilon, case, devices, off(case, devices))


if __name__ == "__main__":
    made = "\n".join(table())
    if "--write" in sys.argv:
        _PART.write(PAGE, made)
    else:
        print(made)
