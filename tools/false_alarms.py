"""Is an honest epoch suspected less than once in ten thousand times? A part of docs/poisoning.md.

python -m tools.false_alarms                print it: twenty minutes of a processor
python -m tools.false_alarms --page         and replace it in docs/poisoning.md
python -m tools.false_alarms --epochs 200   with fewer epochs, for a look

Epochs of every kind, by every mechanism, are drawn as honest devices would make them: of fleets whose values are as
frequent, and of such in which half of the values or more do not occur at all, where counters lie at the ends of what
is possible.

words:
  mark      what is said of an epoch that honest devices hardly make (`answers/suspicions.py`)
  expected  so many epochs with a mark at the rate that is promised, one in ten thousand
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson
from tools.fleets import Case, cases
from tools.page_parts import Part
from tools.samples import endless

from deniable_aggregator.answers import RATE, suspicions
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.simulate import simulate

__all__ = ["Found", "looked_at", "table"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "poisoning.md"
DEVICES, EPSILONS, EPOCHS = (100, 1000), ("1", "3"), 600
_PART = Part("<!-- false alarms: tools/false_alarms.py -->", "<!-- end of false alarms -->")


class Found(NamedTuple):
    """What has become of the epochs of a kind."""

    name: str
    epochs: int
    marked: int

    @property
    def chance(self) -> float:
        """That at least so many are marked, if one in ten thousand is."""
        return float(poisson.sf(self.marked - 1, self.epochs * RATE))


def looked_at(every: Sequence[Case], devices: Sequence[int], epochs: int, seed: int = 1) -> Iterator[Found]:
    """So many honest epochs of each case, at each number of devices."""
    generator = np.random.default_rng(seed)
    for case in every:
        drawn = (own for many in devices for own in islice(_drawn(case, many, generator), epochs))
        marked = sum(bool(suspicions(case.metric, counters)) for counters in drawn)
        yield Found(case.metric.kind.name, len(devices) * epochs, marked)


def _drawn(case: Case, devices: int, generator: np.random.Generator) -> Iterator[list[NDArray[np.int64]]]:
    """Epochs; device by device where there are too many payloads to draw how often each of them comes."""
    with contextlib.suppress(ValueError):
        yield from endless(case, devices, generator)
    parts = np.array(case.fleet.devices) / sum(case.fleet.devices)
    while True:
        places = generator.choice(len(parts), devices, p=parts)
        yield simulate(case.metric, Population(case.fleet.values, places), generator)


def table(found: Sequence[Found]) -> str:
    """A line a kind, and one of all."""
    kinds = dict.fromkeys(own.name for own in found)
    lines = [_together(name, [own for own in found if own.name == name]) for name in kinds]
    lines.append(_together("all", found))
    rows = [f"| {own.name} | {own.epochs:,} | {own.marked} | {own.epochs * RATE:.1f} |" for own in lines]
    return "\n".join(["| kind | honest epochs | with a mark | expected at most |", "|---|---|---|---|", *rows])


def _together(name: str, found: Sequence[Found]) -> Found:
    return Found(name, sum(own.epochs for own in found), sum(own.marked for own in found))


def main() -> int:
    """Draw and print; 1 where more are marked than chance would."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="of each case, at each number of devices")
    parser.add_argument("--page", action="store_true", help="write it into docs/poisoning.md")
    options = parser.parse_args()
    found, begun = [], time.process_time()
    every = [case for epsilon in EPSILONS for case in cases(epsilon)]
    for case, own in zip(every, looked_at(every, DEVICES, options.epochs), strict=True):
        found.append(own)
        taken = time.process_time() - begun
        print(f"{len(found)} of {len(every)}, {taken:.0f} s: {case}: {own.marked}", file=sys.stderr, flush=True)
    print(made := table(found))
    if options.page:
        _PART.write(PAGE, made)
    return int(any(own.chance < 1e-6 for own in found))


if __name__ == "__main__":
    sys.exit(main())
