"""Are changes seen as often as `deniable plan` says? `--write` puts what is found into docs/planning.md.

python -m tools.plan_power            print it: ten minutes of a processor
python -m tools.plan_power --write    and replace it in docs/planning.md

words:
  before, after  two fleets of as many devices each, none of them in both: of the second some have been replaced by
                 devices of the one value that moves the row farthest, as many as make the change that is planned
  found          how often `deniable compare` finds the change at 5%, which is to be in 80 of 100 cases
  number         what a fleet is told by (`foretold.py`): what the row says, as far as that is a sum of counters

A fleet's counters are one multinomial draw, whatever the number of its devices (`samples.py`). Pairs that are only
foretold have vectors whose sums are normal with their exact moments, and so do all of many devices
(`window_samples.py`); and of texts the reports alone that say a word is too long.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tools.fleets import Case, Fleet, cases
from tools.foretold import Dear, Often, often, weights
from tools.page_parts import Part
from tools.samples import endless, listed
from tools.width_accuracy import fleet_of
from tools.window_coverage import keys_of
from tools.window_samples import Sampler, asked

from deniable.kinds import Text, Vector
from deniable_aggregator.analysis.comparison import OTHERS, UNKNOWN, Change, Devices, compared
from deniable_aggregator.answers import RowId, truth
from deniable_aggregator.estimators import frequencies
from deniable_aggregator.planning.power import Seen, seen

__all__ = ["DEVICES", "EPSILONS", "PAGE", "ROWS", "Found", "found", "looked_at"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "planning.md"
_PART = Part("<!-- power: tools/plan_power.py -->", "<!-- end of power -->")
_Floats = NDArray[np.float64]
_Counters = list[NDArray[np.int64]]
EPSILONS = ("0.5", "1", "4")
DEVICES = (1_000, 100_000)
PAIRS, TEXTS = 400, 100
"""So many pairs are compared; fewer of texts, each of which takes a fifth of a second."""
_FORETOLD = 20_000
"""So many are foretold besides."""
_MANY = 10_000
"""So many vectors are not drawn one by one."""
_WHOLE = 10**12
_FINE = 1e-9
"""Of what payloads add at the most: what differs by less is the same."""
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
    "category by subset_selection, fresh": RowId("shares", "b"),
    "flags by bitwise_response, renewed": RowId("shares", "a"),
    "set by subset_selection, renewed": RowId("shares", "a"),
}  # fmt: skip
"""The row of each that is looked at."""


class TooMuchError(ValueError):
    """A change that no fleet can make."""


class Found(NamedTuple):
    """How often a planned change is found."""

    unknown: Often
    """Where nothing is said of the devices."""
    apart: Often
    """Where it is said that they are others."""


def looked_at(epsilon: str) -> list[Case]:
    """Every kind, by every mechanism, of fleets whose values are as frequent."""
    every = [*cases(epsilon), *asked(epsilon)]
    return [case for case in every if case.name in ROWS and case.fleet.name in {"uniform", "equal"}]


def found(case: Case, devices: int, pairs: int, seed: int = 7) -> tuple[Seen, Found]:
    """What is planned of a case's row, and what comes of it."""
    planned = seen(case.metric, devices, fleet_of(case))[ROWS[case.name]]
    return planned, Found(
        _often(case, devices, planned.change, UNKNOWN, pairs, seed),
        _often(case, devices, planned.apart, OTHERS, pairs, seed),
    )


def _often(case: Case, devices: int, change: float, said: Devices, pairs: int, seed: int) -> Often:
    """How often a change is found of which this is said."""
    generator, where = np.random.default_rng(seed), ROWS[case.name]
    moved, sign = _moved(case, where, change)
    before, after = (list(islice(_fleets(each, devices, generator), pairs)) for each in (case, moved))
    changes = [
        compared(case.metric, [one], [other], devices=said, keys=keys_of(case)).by_id[where]
        for one, other in zip(before, after, strict=True)
    ]
    told = np.array([own.before.value for own in changes] + [own.after.value for own in changes])
    margins = np.array([sign * _margin(own) for own in changes])
    is_found = np.array([own.p_value < 0.05 for own in changes])
    if isinstance(case.metric.kind, Text):
        cheap = [_long(each, devices, generator) for each in (case, moved)]
        return often(Dear(told[:pairs], told[pairs:], margins, is_found), *cheap)
    sums = _sums(before + after)
    of_sums = weights(sums, told)
    numbers = sums @ of_sums
    cheap = [_numbers(each, devices, of_sums, generator) for each in (case, moved)]
    return often(Dear(numbers[:pairs], numbers[pairs:], margins, is_found), *cheap)


def _numbers(case: Case, devices: int, of_sums: _Floats, generator: np.random.Generator) -> _Floats:
    """Those of fleets that are only foretold. Payloads that add as much to a number need not be told apart."""
    if isinstance(case.metric.kind, Vector):
        return _sums(list(islice(_normal(case, devices, generator), _FORETOLD))) @ of_sums
    chances, adding = listed(case)
    cuts = np.cumsum([adds.shape[1] for adds in adding])[:-1]
    each = np.concatenate([adds @ own for adds, own in zip(adding, np.split(of_sums, cuts), strict=True)])
    differ, which = np.unique(np.rint((each - each.min()) / np.ptp(each) / _FINE), return_inverse=True)
    grouped = np.bincount(which, np.concatenate(chances))
    drawn = generator.multinomial(devices, grouped / grouped.sum(), size=_FORETOLD)
    numbers: _Floats = drawn @ (each.min() + differ * _FINE * np.ptp(each))
    return numbers


def _fleets(case: Case, devices: int, generator: np.random.Generator) -> Iterator[_Counters]:
    """Their counters."""
    drawn = isinstance(case.metric.kind, Text) or (isinstance(case.metric.kind, Vector) and devices >= _MANY)
    return _normal(case, devices, generator) if drawn else endless(case, devices, generator)


def _normal(case: Case, devices: int, generator: np.random.Generator) -> Iterator[_Counters]:
    """The same, where what is not a count is normal."""
    sampler = Sampler(case)
    while True:
        yield sampler.epochs(sampler.kept(devices, generator), 1, generator)[0]


def _sums(fleets: list[_Counters]) -> _Floats:
    return np.array([np.concatenate(each) for each in fleets], dtype=np.float64)


def _margin(change: Change) -> float:
    """How many reaches it is away from none."""
    return change.value / (change.value - change.low if change.value > 0 else change.high - change.value)


def _long(case: Case, devices: int, generator: np.random.Generator) -> _Floats:
    """The share of words that are too long, as fleets tell it: a report that supports that says so, in any group."""
    column = case.metric.columns[0]
    none = frequencies(column.mechanism, np.zeros(column.shape.counters, dtype=np.int64))
    p, q = float(none.p), float(none.q)
    values = [case.metric.kind.check(value) for value in case.fleet.values]
    share = _chances(case) @ np.array([truth(case.metric, [value])[ROWS[case.name]] for value in values])
    counted = generator.binomial(devices, q + share * (p - q), size=_FORETOLD)
    told: _Floats = (counted / devices - q) / (p - q)
    return told


def _chances(case: Case) -> _Floats:
    return np.array(case.fleet.devices, dtype=np.float64) / sum(case.fleet.devices)


def _moved(case: Case, where: RowId, change: float) -> tuple[Case, float]:
    """A fleet whose row has moved by so much, towards the middle of what a value can make of it; and up or down."""
    values, chances = [case.metric.kind.check(value) for value in case.fleet.values], _chances(case)
    own = np.array([truth(case.metric, [value])[where] for value in values])
    mean = float(chances @ own)
    place = int(np.argmax(own)) if mean <= (own.min() + own.max()) / 2 + 1e-9 else int(np.argmin(own))
    part = change / abs(own[place] - mean)
    if part > 1:
        raise TooMuchError(f"{change:.3g} is more than there is")
    moved = (1 - part) * chances + part * (np.arange(len(values)) == place)
    devices = np.rint(_WHOLE * moved).astype(np.int64).tolist()
    return replace(case, fleet=Fleet("moved", case.fleet.values, devices)), float(np.sign(own[place] - mean))


def table() -> Iterator[str]:
    """The table, as the page has it."""
    yield "| epsilon | metric | devices | row | change | found | ± | change, other devices | found | ± |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for epsilon in EPSILONS:
        for case in looked_at(epsilon):
            for devices in DEVICES:
                line = f"| {epsilon} | {case.name} | {devices:,} | {_told(case, devices)} |"
                print(line, file=sys.stderr, flush=True)
                yield line


def _told(case: Case, devices: int) -> str:
    """The rest of a line."""
    where = ROWS[case.name]
    try:
        planned, own = found(case, devices, TEXTS if isinstance(case.metric.kind, Text) else PAIRS)
    except TooMuchError as error:
        return f"{where.series}: {where.key} | {error} | – | – | – | – | –"
    pairs = zip((planned.change, planned.apart), own, strict=True)
    rest = [f"{change:.3g} | {each.chance:.1%} | {1.96 * each.error:.1%}" for change, each in pairs]
    return f"{where.series}: {where.key} | {' | '.join(rest)}"


if __name__ == "__main__":
    made = "\n".join(table())
    if "--write" in sys.argv:
        _PART.write(PAGE, made)
    else:
        print(made)
