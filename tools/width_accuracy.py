"""Are intervals as wide as `deniable check --devices` says they will be? `--write` puts what is found into a page.

python -m tools.width_accuracy            print it: hours, most of them for 100,000 devices
python -m tools.width_accuracy --write    and replace it in docs/widths.md

With `--metrics boolean count` it measures those whose names begin so, with `--devices 1000` fleets of that size, and
with `--epsilons 1` at that epsilon: what is on the page besides stays.

words:
  expected    half of a row's interval, as `planning/widths.py` has it before there is a device
  simulated   the same on average over fleets: the devices are drawn, the twins randomise, and the aggregator's own
              code makes the answer
  off         expected over simulated, less one, of the row where that is farthest from none
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tools.fleets import Case, cases

from deniable_aggregator.answers import CANDIDATES, RowId, answer
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.planning.widths import Fleet, Width, half_of, widths

__all__ = ["PAGE", "Off", "fleet_of", "halves", "off"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "widths.md"
_BEGIN, _END = "<!-- widths: tools/width_accuracy.py -->", "<!-- end of widths -->"
_HEAD = ("| epsilon | metric | fleet | devices | rows | off | of |", "|---|---|---|---|---|---|---|")
EPSILONS = ("1", "4")
DEVICES = (1_000, 100_000)
_FEWEST, _MOST, _SURE = 8, 1_500, 0.004
_WORDS = 100
"""Fleets of texts, which take a second each: what is frequent is looked for."""


class Off(NamedTuple):
    """By how much a row is off."""

    row: RowId
    part: float
    """Of what is simulated."""
    error: float
    """The standard error of that."""


def fleet_of(case: Case) -> Fleet:
    """Its devices."""
    chances = np.array(case.fleet.devices, dtype=np.float64)
    values = [case.metric.kind.check(value) for value in case.fleet.values]

    def drawn(devices: int, generator: np.random.Generator) -> Population:
        return Population(values, generator.choice(len(values), p=chances / chances.sum(), size=devices))

    return drawn


def halves(case: Case, devices: int, generator: np.random.Generator) -> Iterator[dict[RowId, float]]:
    """Of one simulated fleet after another."""
    fleet, metric = fleet_of(case), case.metric
    keys = {CANDIDATES: ("elephant",)} if metric.kind.name == "text" else None
    while True:
        found = answer(metric, simulate(metric, fleet(devices, generator), generator), keys=keys)
        yield {where: half_of(row.low, row.value, row.high)[0] for where, row in found.by_id.items()}


def off(case: Case, devices: int, most: int = _MOST, seed: int = 7) -> list[Off]:
    """Of every row, by so many fleets at the most: as many as tell all of them to a part of a hundredth."""
    expected: list[Width] = widths(case.metric, devices, fleet_of(case), answers=most)
    most = min(most, _WORDS) if case.metric.kind.name == "text" else most
    seen: list[dict[RowId, float]] = []
    for own in halves(case, devices, np.random.default_rng(seed)):
        seen.append(own)
        rows = [each for each in expected if all(each.where in told for told in seen)]
        every = np.array([[told[each.where] for each in rows] for told in seen])
        means = every.mean(axis=0)
        errors = every.std(axis=0, ddof=1) / math.sqrt(len(seen)) if len(seen) > 1 else means
        if len(seen) >= min(_FEWEST, most) and ((errors <= _SURE * means).all() or len(seen) >= most):
            parts = zip(rows, means.tolist(), errors.tolist(), strict=True)
            return [Off(each.where, each.half / mean - 1, error / mean) for each, mean, error in parts]
    raise AssertionError("fleets end never")


def lines(epsilons: Sequence[str], starts: Sequence[str], fleets: Sequence[int]) -> Iterator[str]:
    """The lines of the table, of metrics whose names begin so."""
    for epsilon in epsilons:
        for case in cases(epsilon):
            for devices in fleets if case.name.startswith(tuple(starts)) else ():
                if devices > 1_000 and case.name == "vector, codewords" and epsilon != EPSILONS[0]:
                    continue  # it takes minutes
                print(f"epsilon {epsilon}: {case}, {devices:,}", file=sys.stderr, flush=True)
                found = off(case, devices)
                worst = max(found, key=lambda each: abs(each.part))
                yield (
                    f"| {epsilon} | {case.name} | {case.fleet.name} | {devices:,} | {len(found):,} "
                    f"| {worst.part:+.2%} | {worst.row.series}: {worst.row.key} |"
                )


def table(made: Sequence[str]) -> str:
    """The table of these lines, and which is the farthest off."""
    farthest = max(abs(float(line.split("|")[6].strip(" %"))) for line in made)
    return "\n".join([*_HEAD, *made, f"\nThe farthest is {farthest:.2f}% off."])


def written(page: str, made: Sequence[str]) -> str:
    """The page with these lines in their places, or at its table's end."""
    before, rest = page.split(_BEGIN)
    stands, after = rest.split(_END)
    every = [*(line for line in stands.splitlines() if line.startswith("|") and line not in _HEAD), *made]
    rows = {tuple(line.split("|")[1:5]): line for line in every}
    return f"{before}{_BEGIN}\n\n{table(list(rows.values()))}\n\n{_END}{after}"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="put it into docs/widths.md")
    parser.add_argument("--metrics", nargs="+", default=[""])
    parser.add_argument("--devices", nargs="+", type=int, default=DEVICES)
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    options = parser.parse_args()
    made = list(lines(options.epsilons, options.metrics, options.devices))
    if options.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")
    else:
        print(table(made))


if __name__ == "__main__":
    main()
