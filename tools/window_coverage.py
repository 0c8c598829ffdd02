"""Do 95% intervals of windows hold where the same devices report in every epoch? Makes a part of docs/statistics.md.

python -m tools.window_coverage --save FILE            measures, and saves what it has found: an hour
python -m tools.window_coverage --page FILE [BEFORE]   writes its part of the page, with the widths of another file

With `--metrics text joint` it measures those whose names begin so; what is on the page of other metrics stays. What
is drawn, and how: tools/window_samples.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tools.coverage import CONFIDENCE, DEVIATION, PLAIN
from tools.fleets import Case
from tools.window_samples import EVERY_DAY, ON_AND_OFF, Presence, Sampler, asked

from deniable.kinds import Text
from deniable_aggregator.analysis.windows import windowed
from deniable_aggregator.answers import CANDIDATES, Keys, Measure, Target, truth

__all__ = ["WINDOWS", "Result", "Window", "keys_of", "measured", "surveyed"]

PAGE = Path(__file__).resolve().parent.parent / "docs/statistics.md"


def keys_of(case: Case) -> Keys | None:
    """Of texts the words of the fleet, and one that no device has: asked for, so that none are looked for."""
    kind = case.metric.kind
    if not isinstance(kind, Text):
        return None
    return {CANDIDATES: [*(word for word in map(kind.check, case.fleet.values) if kind.imprint(word)), "nobody"]}


class Result(NamedTuple):
    """What became of one row's intervals."""

    key: str
    covered: float
    width: float
    """The mean width."""
    ideal: float
    """2 * 1.96 times the estimate's standard deviation."""


def measured(
    case: Case, devices: int, epochs: int, samples: int, presence: Presence, generator: np.random.Generator
) -> list[Result]:
    """Every row over so many samples, but for totals, which are means times a number."""
    values = [value for value, often in zip(case.fleet.values, case.fleet.devices, strict=True) for _ in range(often)]
    sampler = Sampler(case, presence)
    drawn = (sampler.epochs(sampler.kept(devices, generator), epochs, generator) for _ in range(samples))
    asks, only = (CONFIDENCE, Target.POPULATION, keys_of(case)), PLAIN.get(case.metric.kind.name, ())
    answers = [windowed(case.metric, each, *asks, only=only).estimate.told(only, ()) for each in drawn]
    rows = [each.by_id for each in answers]
    measures = {where: heading.measure for where, heading in zip(answers[0].ids, answers[0].headings, strict=True)}
    # How finely a distribution is told depends on how many have reported: those that are told every time.
    told = [where for where in answers[0].ids if all(where in own for own in rows)]
    numbers = [[(own[where].value, own[where].low, own[where].high) for where in told] for own in rows]
    known = truth(case.metric, values)
    true = np.array([known[where] for where in told])
    value, low, high = np.moveaxis(np.array(numbers), 2, 0)
    held = ((low <= true + 1e-9) & (true - 1e-9 <= high)).mean(axis=0).tolist()
    widths, ideals = (high - low).mean(axis=0).tolist(), (3.92 * value.std(axis=0)).tolist()
    every = zip(told, held, widths, ideals, strict=True)
    return [Result(where.key, *own) for where, *own in every if measures[where] is not Measure.TOTAL]


SAMPLES, AGAIN = 40, 1_000
_EPOCHS_OF_WORDS, _FEWER_OF_WORDS = 30, 4
"""A text has 300,000 counters an epoch: so many epochs at the most, at epsilon 1, and so many times fewer samples."""
_NOTHING = 1e-3
"""Of its width: what an estimate differs by that is always the same, but for how many devices are there."""
Window = tuple[str, int, int, Presence]
"""An epsilon, the number of devices and of epochs, and how devices come and go."""
WINDOWS: list[Window] = [
    (epsilon, devices, epochs, presence)
    for devices in (300, 10_000)
    for epsilon in ("0.2", "1", "4")
    for epochs, presence in ((7, EVERY_DAY), (30, EVERY_DAY), (90, EVERY_DAY), (30, ON_AND_OFF))
]


def surveyed(window: Window, names: Sequence[str] = ("",)) -> list[Case]:
    """What is measured in a window, of metrics whose names begin so."""
    every = [case for case in asked(window[0]) if case.name.startswith(tuple(names))]
    few = window[0] == "1" and window[2] <= _EPOCHS_OF_WORDS
    return [case for case in every if few or not isinstance(case.metric.kind, Text)]


def survey(samples: int, again: int, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Every case in every window, by its name; those that hold least often once more, in other samples."""
    found: dict[tuple[str, int], list[tuple[float, Case, Window, list[Result]]]] = {}
    for window in WINDOWS:
        print(window, file=sys.stderr, flush=True)
        for case in surveyed(window, names):
            often = samples // _FEWER_OF_WORDS if isinstance(case.metric.kind, Text) else samples
            rows = measured(case, *window[1:3], often, window[3], np.random.default_rng(samples))
            least = float(np.mean([row.covered for row in rows]))
            found.setdefault((case.name, window[1]), []).append((least, case, window, rows))
    for (name, devices), own in found.items():
        print(name, devices, file=sys.stderr, flush=True)
        rows = [row for *_, rows in own for row in rows]
        _, case, window, _ = min(own, key=lambda each: each[0])
        more = again // (2 * _FEWER_OF_WORDS) if isinstance(case.metric.kind, Text) else again
        worst = measured(case, *window[1:3], more, window[3], np.random.default_rng(again))
        mean = [row for row in rows if row.key != DEVIATION and row.ideal > _NOTHING * row.width]
        yield {
            "name": name,
            "devices": devices,
            "covered": float(np.mean([row.covered for row in rows])),
            "worst": min(row.covered for row in worst),
            "where": f"epsilon {window[0]}, {window[2]} epochs, {window[3].name}",
            "width": float(np.mean([row.width / row.ideal for row in mean])),
            "widths": [row.width for row in mean],
        }


HEADING = "## Windows of several epochs"
INTRODUCTION = f"""\
{HEADING}

Made by `.venv/bin/python -m tools.window_coverage`. The same devices report in every epoch and keep their values: in
7, 30 and 90 epochs all of them every day, and in 30 epochs on and off (30% of the devices every day, 40% in six of
ten epochs, 30% in one of ten); at epsilon 0.2, 1 and 4; two fleets of each kind, and three of counts. Of joints
it is cells and marginals, of texts words that are asked for, at epsilon 1 in {_EPOCHS_OF_WORDS} epochs at the most.

*Fresh* answers are randomised anew in every epoch, *remembered* ones are sent as they are remembered, *renewed* ones
are remembered and randomised once more at the same epsilon.

- **rows**: how often 95% intervals hold the truth about the population, on average over all of this.
- **worst row**: in the window where intervals held least often, the row of which they hold least often, measured
  again in {AGAIN:,} other samples (of texts in {AGAIN // (2 * _FEWER_OF_WORDS)}): each to within 1.4% (of texts 4%),
  nineteen times out of twenty, and the least of up to eight.
- **width**: the mean width over 2 * 1.96 standard deviations of the estimate, on average; without rows whose estimate
  has been nearly the same in all samples, of texts by randomized response with few devices: a report says nearly
  nothing there, and intervals are all that is possible.
- **before**: the mean width over that of the rule that took the error of reporting for the noise, and **held**: how
  often its rows held, and its worst row (each in fewer samples).

The former rule was measured once, on the code before it: since then **before** is its ratio times how much wider, or
narrower, intervals have become. No line is below 94%, and about half are above 96.5%: where the same
devices answer anew, or remember, intervals are for the most that their answers can have in common.
"""


def page(now: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]], stands: str) -> str:
    """The part of the page; of metrics that were not measured what stands there."""
    head = ["metric", "devices", "rows", "worst row", "width", "before", "held", "worst held"]
    lines = [INTRODUCTION, "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    rows = (line for line in stands.splitlines() if line.startswith("| ") and not line.startswith("| metric"))
    told = {tuple(cell.strip() for cell in row.split("|")[1:3]): row for row in rows}
    earlier = {(each["name"], each["devices"]): each for each in before}
    for each in now:
        cells = [each["name"], f"{each['devices']:,}", *_told(each), f"{each['width']:.2f}"]
        old = earlier.get((each["name"], each["devices"]))
        if old:
            wider = np.mean(np.array(each["widths"]) / np.array(old["widths"]))
            cells += [f"{wider:.2f}", *_told(old)]
        elif len(stood := [cell.strip() for cell in told.get((cells[0], cells[1]), "").split("|")[1:-1]]) == len(
            head
        ):
            cells += [f"{float(stood[5]) * each['width'] / float(stood[4]):.2f}", *stood[6:]]
        told[cells[0], cells[1]] = "| " + " | ".join(cells) + " |"
    marks = [line for line in stands.splitlines() if line.startswith("<!-- ")]
    return "\n".join([*lines, *told.values(), "", *marks]) + "\n"


def _told(found: dict[str, Any]) -> tuple[str, str]:
    return f"{found['covered']:.1%}", f"{found['worst']:.1%}"


def main(arguments: Sequence[str]) -> int:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--page", type=Path, nargs="+")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--again", type=int, default=AGAIN)
    parser.add_argument("--metrics", nargs="+", default=[""])
    options = parser.parse_args(arguments)
    if options.save:
        found = list(survey(options.samples, options.again, options.metrics))
        options.save.write_text(json.dumps(found), encoding="utf-8")
    if options.page:
        now, before = ([*map(json.loads, (path.read_text(encoding="utf-8") for path in options.page)), []])[:2]
        start, _, stands = PAGE.read_text(encoding="utf-8").partition(HEADING)
        PAGE.write_text(f"{start.rstrip()}\n\n{page(now, before, stands)}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
