"""Which words are called new, and how much of a fleet the words cover that are found: figures of docs/words.md.

`.venv/bin/python -m tools.new_words` simulates two windows of fleets with English words (`word_discovery.py`). Of
the first kind nothing has changed, and each word that is called new is false; of the second some words that next to
nobody had are those of a share of the devices now. It prints a row for each epsilon.

words:
  came     found after, and not before
  new      as `analysis/changes.py` has it, at a false discovery rate of 5%
  risen    given to so many times as many devices as words of eight letters must have to be found nearly always
  covered  runs in which the interval of how much of the fleet the words cover that are found holds that share
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from tools.word_discovery import EPSILONS, English, asked

from deniable import Metric
from deniable.kinds import Text
from deniable_aggregator.analysis.changes import RATE
from deniable_aggregator.analysis.comparison import Comparison, compared
from deniable_aggregator.analysis.discoveries import found as rule
from deniable_aggregator.answers import SHARES, answer
from deniable_aggregator.answers.text import FOUND
from deniable_aggregator.estimators import Cells, Frequencies, seen_from

__all__ = ["new", "risen"]

TIMES = (1.0, 1.5, 2.0)
_RARE = 50_000
"""Words from this rank on are those that rise."""
_EACH = 2
"""So many rise to each share."""


def new(comparison: Comparison) -> set[str]:
    """The words that are called new, among all rows of the comparison."""
    rows = [change for heading, own in comparison.series for change in own if heading.name == SHARES]
    others = [change for heading, own in comparison.series for change in own if heading.name != SHARES]
    chances = [own.p_value if own.came and own.value > 0 else 1.0 for own in rows] + [1.0] * len(others)
    return {own.key for own, is_new in zip(rows, rule(chances, RATE), strict=False) if is_new}


def risen(english: English, shares: Sequence[float]) -> tuple[English, dict[str, float]]:
    """A population in which rare words of eight letters have these shares; and which they are."""
    places = [place for place in range(_RARE, len(english.words)) if len(english.words[place]) == 8][: len(shares)]
    moved = english.shares.copy()
    moved[places] = 0
    moved *= (1 - sum(shares)) / moved.sum()
    moved[places] = shares
    return english._replace(shares=moved), {
        english.words[place]: share for place, share in zip(places, shares, strict=True)
    }


def line(epsilon: str, devices: int, words: int, runs: int) -> str:
    """The row of an epsilon."""
    metric = asked(epsilon)
    kind, mechanism = metric.kind, metric.columns[0].mechanism
    assert isinstance(kind, Text)
    english = English.of(metric, words)
    cells = Cells.of(mechanism, [Frequencies(devices // 16, np.zeros(1, np.int64), 1, 0)] * 16)
    least = seen_from(cells, kind.code.of("e" * 8), 0.95)
    grown, which = risen(english, [times * least for times in TIMES for _ in range(_EACH)])
    came = false = covered = 0
    hits = dict.fromkeys(which, 0)
    widths: list[float] = []
    for number in range(runs):
        generator = np.random.default_rng(number)
        before, same, after = (own.counters(mechanism, devices, generator) for own in (english, english, grown))
        null, changed = (compared(metric, [before], [other]) for other in (same, after))
        came += sum(change.came for change in null.by_id.values())
        false += len(new(null))
        for word in new(changed):
            if word in hits:
                hits[word] += 1
            else:
                false += 1
        holds, width = _covering(metric, english, before)
        covered, widths = covered + holds, [*widths, width]
    told = [sum(list(hits.values())[place : place + _EACH]) for place in range(0, len(hits), _EACH)]
    found = " | ".join(f"{each / runs / _EACH:.0%}" for each in told)
    covers = f"{covered / runs:.0%} | ±{np.mean(widths) / 2:.1%}"
    return f"| {epsilon} | {came / runs:.1f} | {false / runs:.2f} | {found} | {covers} |"


def _covering(metric: Metric, english: English, counters: list[np.ndarray]) -> tuple[bool, float]:
    """Whether the interval of what is covered holds it, and how wide it is."""
    told = answer(metric, counters)
    shares = dict(zip(english.words, english.shares.tolist(), strict=True))
    true = sum(shares.get(row.key, 0.0) for row in told.series[0].rows)
    (row,) = next(own.rows for own in told.series if own.heading.name == FOUND)
    return row.low <= true <= row.high, row.high - row.low


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=120_000)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    options = parser.parse_args()
    times = " | ".join(f"risen to {each:g}" for each in TIMES)
    print(f"| epsilon | came | falsely new | {times} | covered | width |\n|{'---|' * (5 + len(TIMES))}")
    for epsilon in options.epsilons:
        print(line(epsilon, options.devices, options.words, options.runs), flush=True)


if __name__ == "__main__":
    main()
