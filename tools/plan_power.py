"""Are changes seen as often as `deniable plan` says? `--write` puts what is found into docs/planning.md.

python -m tools.plan_power            print it: some minutes
python -m tools.plan_power --write    and replace it in docs/planning.md

words:
  before, after  two fleets of as many devices each, none of them in both: of the second some have been replaced by
                 devices of the one value that moves the row farthest, as many as make the change that is planned
  found          how often `deniable compare` finds the change at 5%, which is to be in 80 of 100 cases
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tools.fleets import Case, cases
from tools.page_parts import Part
from tools.width_accuracy import fleet_of

from deniable_aggregator.analysis.comparison import OTHERS, UNKNOWN, compared
from deniable_aggregator.answers import RowId, truth
from deniable_aggregator.planning.population import Population
from deniable_aggregator.planning.power import Seen, seen
from deniable_aggregator.planning.simulate import simulate, symbols

__all__ = ["PAGE", "ROWS", "Found", "found"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "planning.md"
_PART = Part("<!-- power: tools/plan_power.py -->", "<!-- end of power -->")
_Floats = NDArray[np.float64]
_Draw = Callable[[int, np.random.Generator], list[NDArray[np.int64]]]
EPSILONS = ("1", "4")
DEVICES = {1_000: 4_000, 100_000: 2_000}
"""How many devices, and how many pairs of fleets of these."""
ROWS = {
    "boolean": RowId("shares", "yes"), "boolean, remembered": RowId("shares", "yes"),
    "category of 5": RowId("shares", "b"), "category of 16": RowId("shares", "b"),
    "category of 60": RowId("shares", "value 1"), "count of events": RowId("mean", "mean"),
    "number": RowId("mean", "mean"), "number, one bit": RowId("mean", "mean"),
    "number, Laplace": RowId("mean", "mean"), "count": RowId("mean", "mean"),
    "distribution of 4": RowId("curve", "2"), "tree of 5": RowId("shares", "a/x"),
    "4 flags": RowId("shares", "a"), "4 flags, one drawn": RowId("shares", "a"),
    "set of 2 out of 8": RowId("shares", "b"), "ordinal of 7": RowId("mean rank", "mean rank"),
    "joint of 2 by 3": RowId("table", "a / b"), "text, any word": RowId("too long", "too long"),
    "vector, l2": RowId("means", "0"), "vector, l1": RowId("means", "0"), "vector, codewords": RowId("means", "0"),
}  # fmt: skip
"""The row of each that is looked at."""


class TooMuchError(ValueError):
    """A change that no fleet can make."""


class Found(NamedTuple):
    """How often a planned change is found, of so many pairs."""

    unknown: float
    """Where nothing is said of the devices."""
    apart: float
    """Where it is said that they are others."""
    pairs: int

    @property
    def error(self) -> float:
        """The standard error of either."""
        return math.sqrt(0.16 / self.pairs)


def found(case: Case, where: RowId, devices: int, pairs: int, seed: int = 7) -> tuple[Seen, Found]:
    """What is planned of a row, and what comes of it."""
    planned = seen(case.metric, devices, fleet_of(case))[where]
    often = []
    for change, said in ((planned.change, UNKNOWN), (planned.apart, OTHERS)):
        generator, hits = np.random.default_rng(seed), 0
        draws = [_draw(case, chances) for chances in (_chances(case), _moved(case, where, change))]
        for _ in range(pairs):
            before, after = ([draw(devices, generator)] for draw in draws)
            hits += compared(case.metric, before, after, devices=said).by_id[where].p_value < 0.05
        often.append(hits / pairs)
    return planned, Found(often[0], often[1], pairs)


def _draw(case: Case, chances: _Floats) -> _Draw:
    """Counters of fleets that have each value with some chance: where reports are symbols from the channel itself, as
    often as each comes out; else by the twins."""
    metric, values = case.metric, [case.metric.kind.check(value) for value in case.fleet.values]
    sent = symbols(metric, list(zip(values, chances.tolist(), strict=True)))
    if sent is not None:
        return sent.counters

    def drawn(devices: int, generator: np.random.Generator) -> list[NDArray[np.int64]]:
        places = np.repeat(np.arange(len(values)), generator.multinomial(devices, chances))
        return simulate(metric, Population(values, places), generator)

    return drawn


def _chances(case: Case) -> _Floats:
    return np.array(case.fleet.devices, dtype=np.float64) / sum(case.fleet.devices)


def _moved(case: Case, where: RowId, change: float) -> _Floats:
    """Of a fleet whose row has moved by so much, towards the middle of what a value can make of it."""
    values, chances = [case.metric.kind.check(value) for value in case.fleet.values], _chances(case)
    own = np.array([truth(case.metric, [value])[where] for value in values])
    mean = float(chances @ own)
    place = int(np.argmax(own)) if mean <= (own.min() + own.max()) / 2 + 1e-9 else int(np.argmin(own))
    part = change / abs(own[place] - mean)
    if part > 1:
        raise TooMuchError(f"{change:.3g} is more than there is")
    moved: _Floats = (1 - part) * chances + part * (np.arange(len(values)) == place)
    moved /= moved.sum()
    return moved


def table() -> Iterator[str]:
    """The table, as the page has it."""
    yield "| epsilon | metric | devices | row | change | found | change, other devices | found | ± |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for epsilon in EPSILONS:
        for case in cases(epsilon):
            where = ROWS.get(case.name)
            if where is None or case.fleet.name != "uniform":
                continue
            for devices, pairs in DEVICES.items():
                print(f"epsilon {epsilon}: {case}, {devices:,}", file=sys.stderr, flush=True)
                try:
                    planned, often = found(case, where, devices, pairs)
                except TooMuchError as error:
                    yield f"| {epsilon} | {case.name} | {devices:,} | {where.series}: {where.key} | {error} |||||"
                    continue
                yield (
                    f"| {epsilon} | {case.name} | {devices:,} | {where.series}: {where.key} | {planned.change:.3g} "
                    f"| {often.unknown:.1%} | {planned.apart:.3g} | {often.apart:.1%} | {1.96 * often.error:.1%} |"
                )


if __name__ == "__main__":
    made = "\n".join(table())
    if "--write" in sys.argv:
        _PART.write(PAGE, made)
    else:
        print(made)
