"""Do 95% intervals of means hold where a few devices at an end decide them? Makes a part of docs/statistics.md.

python -m tools.bounded_coverage --save FILE            measures, and saves what it has found: a quarter of an hour
python -m tools.bounded_coverage --page FILE [BEFORE]   writes its part of the page, with another file beside it

words:
  end      of a scale from 0 to 1, for which a metric has values: the least, and the greatest
  others   where all devices are that are not at an end
  few      the share of devices at an end
  held     how often an interval holds the population's mean, where that is least often
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tools.coverage import CONFIDENCE
from tools.fleets import Case, Fleet
from tools.samples import endless
from tools.window_coverage import HEADING as FOLLOWING

from deniable import Collection, Metric
from deniable.kinds import Ordinal, Quantity
from deniable_aggregator.estimators import Target, means, ranks

__all__ = ["EPSILONS", "HEADING", "METRICS", "REPORTS", "Measured", "cases", "intervals", "measured", "metric"]

PAGE = Path(__file__).resolve().parent.parent / "docs/statistics.md"
REPORTS = (50, 100, 300, 1_000)
EPSILONS = ("0.5", "1", "2", "4", "6", "8")
SAMPLES, AGAIN, WORST = 300, 4_000, 2

_HEAD = """
[collection]
name = "bounded"
epoch = "1d"
owner = "a"
[budget]
epoch = 1000
[metrics.m]
description = "d"
epsilon = {epsilon}
"""
_PLACES = [f"place {number}" for number in range(20)]


def _ordinal(places: int, mechanism: str) -> str:
    return f'kind = "ordinal"\nvalues = {json.dumps(_PLACES[:places])}\nmechanism = "{mechanism}"'


METRICS = {
    "number": 'kind = "number"\nrange = [0, 60]\nmechanism = "hybrid"',
    "number, Laplace": 'kind = "number"\nrange = [0, 60]\nmechanism = "laplace"',
    "events up to 100": 'kind = "count"\nmax = 100\nprivacy_unit = "event"',
    "events up to 1,000": 'kind = "count"\nmax = 1000\nprivacy_unit = "event"',
    "rank of 5 places": _ordinal(5, "randomized_response"),
    "rank of 20 places": _ordinal(20, "randomized_response"),
    "rank of 5, exponential": _ordinal(5, "exponential"),
    "rank of 20, exponential": _ordinal(20, "exponential"),
}
"""What else there is in a metric's table, by how the page calls it."""

_MANY = 6_000
_FEW = (0, 18, 60, 180, 300)
"""Of so many devices: none, 0.3%, 1%, 3% and 5%."""


def _populations() -> Iterator[tuple[str, dict[float, int]]]:
    """How many devices are at which point of the scale."""
    even = [step / 20 for step in range(21)]
    for few in _FEW:
        share = f"{few / _MANY:.1%}"
        for place in (0.0, 0.2, 0.5):
            yield f"{share} at the high end, others at {place:g}", {place: _MANY - few, 1.0: few}
        yield f"{share} at the low end, others at 1", {1.0: _MANY - few, 0.0: few}
        if few:
            yield f"{share} at either end, others at 0.5", {0.5: _MANY - 2 * few, 0.0: few, 1.0: few}
            yield f"{share} at the high end, others anywhere", dict.fromkeys(even, (_MANY - few) // 21) | {1.0: few}
    yield EVEN, dict.fromkeys(even, 1)


EVEN = "anywhere"


def metric(name: str, epsilon: str) -> Metric:
    """The metric of the page."""
    return Collection.loads(f"{_HEAD.format(epsilon=epsilon)}{METRICS[name]}\n").metrics["m"]


def cases(name: str, epsilon: str) -> list[Case]:
    """The metric with every population."""
    own = metric(name, epsilon)
    found = []
    for told, devices in _populations():
        at: dict[Any, int] = {}
        for place, often in devices.items():
            value = _value(own, place)
            at[value] = at.get(value, 0) + often
        found.append(Case(name, own, Fleet(told, list(at), list(at.values()))))
    return found


def _value(own: Metric, place: float) -> Any:
    kind = own.kind
    if isinstance(kind, Ordinal):
        return kind.values[round(place * (len(kind.values) - 1))]
    assert isinstance(kind, Quantity)
    low, high = kind.ends
    return round(low + place * (high - low))


class Measured(NamedTuple):
    """What became of the intervals of one population."""

    fleet: str
    covered: float
    width: float
    """The mean one, in parts of the scale."""


def measured(case: Case, reports: int, samples: int, seed: int) -> Measured:
    """The mean's intervals in so many samples."""
    held, widths = zip(*islice(intervals(case, reports, seed), samples), strict=True)
    return Measured(case.fleet.name, sum(held) / samples, sum(widths) / samples)


def intervals(case: Case, reports: int, seed: int) -> Iterator[tuple[bool, float]]:
    """Whether the mean's interval holds and how wide it is, sample by sample, as estimators make them: a mean rank's
    shares would take longer than all else."""
    kind, mechanism = case.metric.kind, case.metric.columns[0].mechanism
    numbers = [
        kind.values.index(each) + 1.0 if isinstance(kind, Ordinal) else float(each) for each in case.fleet.values
    ]
    low, high = (1.0, float(len(kind.values))) if isinstance(kind, Ordinal) else kind.ends  # type: ignore[attr-defined]
    true = (float(np.average(numbers, weights=case.fleet.devices)) - low) / (high - low)
    for (counters,) in endless(case, reports, np.random.default_rng([seed, reports])):
        if isinstance(kind, Ordinal):
            found = ranks(mechanism, counters).mean(CONFIDENCE, Target.POPULATION)[2:]
            least, most = ((end - low) / (high - low) for end in found)
        else:
            least, most = _within(*means(mechanism, counters).estimate(CONFIDENCE, Target.POPULATION))
        yield least - 1e-9 <= true <= most + 1e-9, most - least


def _within(value: float, error: float, low: float, high: float) -> tuple[float, float]:  # noqa: ARG001
    """As answers have it: on the scale."""
    move = min(max(value, 0.0), 1.0) - value if high < 0 or low > 1 else 0.0
    return tuple(min(max(end + move, 0.0), 1.0) for end in (low, high))  # type: ignore[return-value]


def survey(samples: int, again: int) -> Iterator[dict[str, Any]]:
    """Every metric; the populations where intervals hold least often once more, in other samples."""
    for name in METRICS:
        for epsilon in EPSILONS:
            print(name, epsilon, file=sys.stderr, flush=True)
            every = cases(name, epsilon)
            for reports in REPORTS:
                found = [measured(case, reports, samples, 1) for case in every]
                least = sorted(zip(found, every, strict=True), key=lambda each: each[0].covered)[:WORST]
                worst = min((measured(case, reports, again, 2) for _, case in least), key=lambda each: each.covered)
                yield {
                    "name": name,
                    "epsilon": epsilon,
                    "reports": reports,
                    "held": worst.covered,
                    "where": worst.fleet,
                    "widths": {each.fleet: each.width for each in found},
                }


HEADING = "## Means that a few devices decide"
INTRODUCTION = f"""\
{HEADING}

Made by `.venv/bin/python -m tools.bounded_coverage`. Of the devices 0.3%, 1%, 3% or 5% are at one end of the
range, or at either, or none; all others are at the other end, at a fifth of the range, in its middle, or anywhere.

- **held**: how often 95% intervals of the mean hold the population's, where they do least often, of all these
  populations; measured in {AGAIN:,} other samples, each to within 0.7%, nineteen times out of twenty. In brackets the
  same of Student's interval, moved for skewness, which was told before.
- **even**: the mean width where devices are anywhere, over that of the interval before, for the number of reports
  where that is most.
- **width**: the same on average over all populations, for 50, 100, 300 and 1,000 reports; in brackets where the
  interval before did not hold 93.5% of the time.

Where noise is large, nothing changes. Where it is small, an interval of few reports is as wide as it has to be: if
all of 100 reports say the same, 3% of the devices may be at the other end, as 5% of all samples would have none.
"""


def page(now: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]]) -> str:
    """The part of the page."""
    head = ["metric", "epsilon", *(f"held, {reports:,} reports" for reports in REPORTS), "even", "width"]
    lines = [INTRODUCTION, "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    earlier = {(each["name"], each["epsilon"], each["reports"]): each for each in before}
    for start in range(0, len(now), len(REPORTS)):
        own = now[start : start + len(REPORTS)]
        pairs = [(each, earlier.get((each["name"], each["epsilon"], each["reports"]), each)) for each in own]
        held = [f"{each['held']:.1%} ({old['held']:.1%})" for each, old in pairs]
        even = max(each["widths"][EVEN] / old["widths"][EVEN] for each, old in pairs)
        cells = [own[0]["name"], own[0]["epsilon"], *held, f"{even:.2f}", ", ".join(_wider(*pair) for pair in pairs)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _wider(now: dict[str, Any], before: dict[str, Any]) -> str:
    ratio = float(np.mean([width / before["widths"][fleet] for fleet, width in now["widths"].items()]))
    return f"{ratio:.2f}" if before["held"] >= 0.935 else f"({ratio:.2f})"


def main(arguments: Sequence[str]) -> int:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--page", type=Path, nargs="+")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--again", type=int, default=AGAIN)
    options = parser.parse_args(arguments)
    if options.save:
        options.save.write_text(json.dumps(list(survey(options.samples, options.again))), encoding="utf-8")
    if options.page:
        now, before = ([*map(json.loads, (path.read_text(encoding="utf-8") for path in options.page)), []])[:2]
        before_it, following, rest = PAGE.read_text(encoding="utf-8").partition(FOLLOWING)
        start = before_it.partition(HEADING)[0].rstrip()
        PAGE.write_text(f"{start}\n\n{page(now, before)}\n{following}{rest}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
