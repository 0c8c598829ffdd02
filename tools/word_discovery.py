"""Which words are found of how many devices, and whether what is told of them holds: the figures of docs/words.md.

`.venv/bin/python -m tools.word_discovery` simulates fleets whose words are English, as often as `wordfreq` has them:
each device has a word of its own, draws a group, and is randomised by the twins; the counters are the real ones. It
prints a row for each epsilon. `--runs`, `--devices` and `--words` make it shorter or longer.

words:
  found      in a run, a word of the answer's first series
  false      of the words that are found, those that next to no device of the population has
  held       of the words that are found, those whose interval holds their share
  listed     of a list of the 10,000 most frequent words, those that Benjamini and Hochberg's rule finds
  sure       the share from which on every word is found in 95 of 100 runs, at the least
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from wordfreq import get_frequency_dict

from deniable import Collection, Metric
from deniable.kinds import Text
from deniable.mechanisms import Mechanism
from deniable_aggregator.analysis.discoveries import found as rule
from deniable_aggregator.answers import CANDIDATES, Row, answer, word_key
from deniable_aggregator.estimators import Cells, Frequencies, seen_from
from deniable_aggregator.planning import twins

__all__ = ["English", "Run", "asked", "run"]

_HEAD = (
    '[collection]\nname = "x"\nowner = "a"\nepoch = "1d"\n[budget]\nepoch = 9\n[metrics.word]\ndescription = "d"\n'
)
_LISTED = 10_000
_RATE = 0.05
_SURE = 0.95
_FEW = 1e-5
"""A word that fewer devices have is false where it is found: of a million ten."""
EPSILONS = ("1", "2", "4")


def asked(epsilon: str) -> Metric:
    """The metric at an epsilon."""
    return Collection.loads(f'{_HEAD}kind = "text"\nepsilon = {epsilon}\n').metrics["word"]


class English(NamedTuple):
    """A population."""

    words: list[str]
    """The most frequent first, as keys."""
    shares: NDArray[np.float64]
    """How many devices have each."""
    cells: NDArray[np.int64]
    """The cells of each, or of words that are too long."""

    @classmethod
    def of(cls, metric: Metric, count: int) -> English:
        """So many English words."""
        kind = metric.kind
        assert isinstance(kind, Text)
        every = sorted(get_frequency_dict("en", "large").items(), key=lambda pair: (-pair[1], pair[0]))[:count]
        words = [kind.check(word) for word, _ in every]
        long = (kind.sizes[0] - 1,) * len(kind.sizes)
        cells = [own.cells if (own := kind.imprint(word)) else long for word in words]
        shares = np.array([share for _, share in every])
        return cls([word_key(word) for word in words], shares / shares.sum(), np.array(cells))

    def counters(self, mechanism: Mechanism, devices: int, generator: np.random.Generator) -> list[NDArray[np.int64]]:
        """What so many devices report, group by group."""
        words = generator.choice(len(self.words), size=devices, p=self.shares)
        groups, points = self.cells.shape[1], mechanism.shape.counters
        drawn = generator.integers(groups, size=devices)
        sent = twins.draw(mechanism, self.cells[words, drawn], generator)
        return list(np.bincount(drawn * points + sent, minlength=groups * points).reshape(groups, points))


class Run(NamedTuple):
    """What became of one fleet."""

    found: Sequence[Row]
    """The words that are found."""
    listed: Sequence[Row]
    """Those of the list."""
    seconds: float
    """What it took to find them, of a processor."""


def run(metric: Metric, english: English, devices: int, generator: np.random.Generator) -> Run:
    """One fleet, and its answer."""
    counters = english.counters(metric.columns[0].mechanism, devices, generator)
    before = time.process_time()
    found = answer(metric, counters)
    took = time.process_time() - before
    keys = {CANDIDATES: english.words[:_LISTED]}
    listed = answer(metric, counters, keys={**found.keys, **keys})
    return Run(found.series[0].rows, listed.series[-1].rows, took)


def sure(shares: dict[str, float], often: Counter[str], runs: int) -> float:
    """The share from which on every word is found as often as is wanted."""
    missed = max(share for word, share in shares.items() if often[word] < _SURE * runs)
    return min((share for share in shares.values() if share > missed), default=1.0)


def line(epsilon: str, devices: int, words: int, runs: int) -> str:
    """The row of an epsilon."""
    metric = asked(epsilon)
    english = English.of(metric, words)
    shares = dict(zip(english.words, english.shares.tolist(), strict=True))
    found, listed = Counter[str](), Counter[str]()
    false = held = false_listed = held_listed = 0
    seconds = []
    for number in range(runs):
        one = run(metric, english, devices, np.random.default_rng(number))
        chances = [NormalDist().cdf(-row.value / row.std_error) for row in one.listed]
        chosen = [row for row, own in zip(one.listed, rule(chances, _RATE, apart=True), strict=True) if own]
        found.update(row.key for row in one.found)
        listed.update(row.key for row in chosen)
        false += sum(shares.get(row.key, 0.0) < _FEW for row in one.found)
        false_listed += sum(shares[row.key] < _FEW for row in chosen)
        held += sum(row.low <= shares.get(row.key, 0.0) <= row.high for row in one.found)
        held_listed += sum(row.low <= shares[row.key] <= row.high for row in one.listed)
        seconds.append(one.seconds)
    kind = metric.kind
    assert isinstance(kind, Text)
    cells = Cells.of(metric.columns[0].mechanism, [Frequencies(devices // 16, np.zeros(1, np.int64), 1, 0)] * 16)
    eight = seen_from(cells, kind.code.of("e" * 8), _SURE)
    return (
        f"| {epsilon} | {found.total() / runs:.1f} | {sure(shares, found, runs):.2%} | {eight:.2%} | "
        f"{false / found.total():.1%} | {held / found.total():.1%} | {sure(shares, listed, runs):.2%} | "
        f"{false_listed / listed.total():.1%} | {held_listed / (runs * len(one.listed)):.1%} | "
        f"{np.median(seconds):.1f} (at most {max(seconds):.1f}) |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=120_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--epsilons", nargs="+", default=EPSILONS)
    options = parser.parse_args()
    print(
        "| epsilon | found | sure from | 8 letters | false | held | listed: sure from | false | held | seconds |\n"
        "|---|---|---|---|---|---|---|---|---|---|"
    )
    for epsilon in options.epsilons:
        print(line(epsilon, options.devices, options.words, options.runs), flush=True)
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB at the most")


if __name__ == "__main__":
    main()
