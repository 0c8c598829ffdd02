"""Do intervals of differences hold, are p-values even, are changes found as planned? A part of docs/comparisons.md.

python -m tools.comparison_coverage --page     measures, and writes the table: ten minutes of a processor

With `--metrics text joint` it measures those whose names begin so; what is on the page of other metrics stays.

words:
  sides    two windows in which nothing has changed: the difference is 0, and every p-value is as likely as any other
  apart    each side has devices of its own
  same     the same devices report on both sides, and answer as they did: what they keep is the same
  even     as likely to be one number from 0 to 1 as any other. p-values are, but for deviations and for what is
           uncertain by whole buckets in distributions: these are too large
  planned  a change of 2.8 standard errors, which is found at 5% in 80 of 100 times: some devices of one fleet are
           replaced by those of another one, as many as that takes
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest
from tools.coverage import CONFIDENCE, DEVIATION, PLAIN
from tools.fleets import Case, Fleet
from tools.page_parts import Part
from tools.window_coverage import keys_of
from tools.window_samples import Sampler, asked

from deniable import linkage
from deniable_aggregator.analysis.comparison import OTHERS, UNKNOWN, Change, Comparison, Devices, compared
from deniable_aggregator.answers import QUANTILES, Measure, RowId, Target, truth

__all__ = ["APART", "SAME", "TOLD", "Found", "measured", "planned"]

PAGE = Path(__file__).resolve().parent.parent / "docs/comparisons.md"
APART, SAME = "apart", "same"
TOLD = {APART: OTHERS, SAME: Devices(changed=0.0)}
"""What is said of the devices, where it is known."""
_Floats = NDArray[np.float64]


class Found(NamedTuple):
    """What became of a case's rows, but for totals, which are means times a number."""

    keys: list[str]
    even: list[bool]
    """Whether each row's p-values are to be even."""
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
        found = compared(case.metric, before, after, CONFIDENCE, Target.POPULATION, devices, keys=keys_of(case))
        told = _rows(case, found)
        numbers.append([(row.value, row.low, row.high, row.p_value) for row in told.values()])
    value, low, high, chances = np.moveaxis(np.array(numbers), 2, 0)
    held = ((low <= 1e-9) & (high >= -1e-9)).mean(axis=0)
    ideal = np.maximum(3.92 * value.std(axis=0), 1e-300)
    widths = ((high - low).mean(axis=0) / ideal).tolist()
    keys, even = [where.key for where in told], [where in _even(case, found) for where in told]
    return Found(keys, even, held.tolist(), widths, chances)


def _rows(case: Case, found: Comparison) -> dict[RowId, Change]:
    """All that a comparison tells, but for totals, and for what is no mean of what reports say."""
    totals = {heading.name for heading, _ in found.series if heading.measure is Measure.TOTAL}
    plain = PLAIN.get(case.metric.kind.name)
    told = (where for where in found.by_id if where.series not in totals and (not plain or where.series in plain))
    return {where: found.by_id[where] for where in told}


def _even(case: Case, found: Comparison) -> set[RowId]:
    """The rows whose p-values are to be even."""
    buckets = any(heading.name == QUANTILES for heading, _ in found.series)
    told = {heading.name for heading, _ in found.series if heading.measure is Measure.SHARE or not buckets}
    return {where for where in _rows(case, found) if where.series in told and where.key != DEVIATION}


def planned(
    case: Case, other: Case, size: int, epochs: int, samples: int, generator: np.random.Generator
) -> tuple[list[bool], float]:
    """Whether a change of the planned size is found, in each of so many samples of so many devices apart; and how
    often it is to be found, by the errors that are told. The row is that whose change takes the fewest devices."""
    before = Sampler(case)

    def sides(after: Sampler) -> dict[RowId, Change]:
        one, two = (each.epochs(each.kept(size, generator), epochs, generator) for each in (before, after))
        found = compared(case.metric, one, two, CONFIDENCE, Target.POPULATION, OTHERS, keys=keys_of(case))
        even = _even(case, found)
        return {where: own for where, own in found.by_id.items() if where in even}

    pilot = [sides(before) for _ in range(_PILOT)]
    true = [truth(each.metric, _values(each.fleet)) for each in (case, other)]
    moves = {where: abs(true[1][where] - true[0][where]) for where in pilot[0]}
    errors = {where: fmean(own[where].std_error for own in pilot) for where in pilot[0]}
    told = [where for where in moves if errors[where] > 0]  # of a word that no report has named it is 0
    row = max(told, key=lambda where: moves[where] / errors[where])
    part = min(round(_MOST_PARTS * _PLANNED * errors[row] / moves[row]), _MOST_PARTS)
    after = Sampler(replace(case, fleet=_mixed(case.fleet, other.fleet, part)))
    changes = [sides(after)[row] for _ in range(samples)]
    away = part / _MOST_PARTS * moves[row] / fmean(own.std_error for own in changes)
    normal, reach = NormalDist(), NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    often = normal.cdf(away - reach) + normal.cdf(-away - reach)
    return [own.p_value < 1 - CONFIDENCE for own in changes], often


def _values(fleet: Fleet) -> list[Any]:
    return [value for value, often in zip(fleet.values, fleet.devices, strict=True) for _ in range(often)]


def _mixed(one: Fleet, other: Fleet, part: int) -> Fleet:
    """A fleet of which so many in _MOST_PARTS are of the other one."""
    sizes = sum(one.devices), sum(other.devices)
    devices = [each * sizes[1] * (_MOST_PARTS - part) for each in one.devices]
    return Fleet("moved", [*one.values, *other.values], devices + [each * sizes[0] * part for each in other.devices])


_SIZE, _EPOCHS = 1_000, 7
_SAMPLES = {
    "boolean": 1_000, "category": 200, "ordinal": 200, "number": 600, "count": 600, "distribution": 150, "flags": 400,
    "set": 150, "tree": 100, "vector": 300, "joint": 50, "text": 20,
}  # fmt: skip
"""By kind: as many as its rows need, and as their time allows."""
_PILOT, _PLANNED, _MOST_PARTS = 10, 2.8016, 10_000
_AWAY = {"count, events by geometric, fresh": (1_000_000, 1_000), "text by randomized_response, fresh": (20_000, 150)}
"""Metrics of which a thousand devices say too little for any interval to hold as often as it says and no more: once
more, of so many devices that they do, in so many samples."""


def table(samples: int | None, starts: Sequence[str]) -> Iterator[str]:
    """The lines of the table, of metrics whose names begin so."""
    heads = ["metric", "apart", "worst", "width", "even", "same", "worst", "width", "not known: apart", "same"]
    heads += ["found", "planned"]
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    names = {case.name: case.metric.kind.name for case in asked("1") if case.name.startswith(tuple(starts))}
    for name, kind in names.items():
        print(name, file=sys.stderr, flush=True)
        yield _line(name, samples or _SAMPLES[kind])
        if name in _AWAY:
            size, often = _AWAY[name]
            yield _line(name, samples or often, size)


def _line(name: str, samples: int, size: int = _SIZE) -> str:
    generator = np.random.default_rng(7)
    asks = [(APART, TOLD[APART]), (SAME, TOLD[SAME]), (APART, UNKNOWN), (SAME, UNKNOWN)]
    cells = [name if size == _SIZE else f"{name}, {size:,} devices"]
    repeats = any(linkage.repeats(case.metric) for case in asked("1") if case.name == name)
    for number, (sides, devices) in enumerate(asks):
        if sides == SAME and repeats:
            cells += ["the same reports", "", ""] if number == 1 else ["–"]
            continue
        every = [
            measured(case, sides, devices, size, _EPOCHS, samples, generator)
            for case in asked("1")
            if case.name == name
        ]
        rows = [
            (held, width, chances)
            for found in every
            for even, held, width, chances in zip(
                found.even, found.covered, found.widths, found.chances.T, strict=True
            )
            if even and np.isfinite(width)
        ]
        cells.append(f"{fmean(held for held, *_ in rows):.1%}")
        if number < 2:
            cells += [f"{min(held for held, *_ in rows):.1%}", f"{fmean(width for _, width, _ in rows):.2f}"]
        if number == 0:
            cells.append(f"{min(float(kstest(own, 'uniform').pvalue) for *_, own in rows):.1g}")
    first, *_, last = (case for case in asked("1") if case.name == name)
    found, often = planned(last, first, size, _EPOCHS, samples, generator)
    return "| " + " | ".join([*cells, f"{fmean(found):.0%}", f"{often:.0%}"]) + " |"


def main() -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, help="of every kind; or else of each as the page says")
    parser.add_argument("--page", action="store_true", help="write it into docs/comparisons.md")
    parser.add_argument("--metrics", nargs="+", default=[""])
    options = parser.parse_args()
    lines = list(table(options.samples, options.metrics))
    if not options.page:
        print("\n".join(lines))
        return
    part = Part("<!-- coverage -->", "<!-- end of coverage -->")
    stands = part.of(PAGE.read_text(encoding="utf-8")).splitlines()
    rows = {line.split("|")[1]: line for line in [*stands, *lines]}  # in place, or at the end
    part.write(PAGE, "\n".join(rows.values()))


if __name__ == "__main__":
    main()
