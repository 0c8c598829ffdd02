"""How often a phone was used: Laplace noise on the phone, of the scale of a single use.

Each phone adds noise before anything leaves it, so that neither who listens on the line nor the server knows its
count. Noise of scale 1/epsilon hides one use more or less. It does not hide a day: a phone that was used a hundred
times says so, give or take a few. To hide a whole day, counts are cut off at a most, and noise is as many times as
large. A server that is trusted with all counts would add noise once: its error falls with the number of phones n,
that of noise on phones only with its root. (Dwork, McSherry, Nissim, Smith, 2006; whole numbers: Ghosh,
Roughgarden, Sundararajan, 2009.)
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from deniable import Metric
from deniable.mechanisms import Laplace
from deniable_aggregator.accounting import after
from deniable_aggregator.answers import Row, answer
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.telling.terminal import bar, table

from ._drawing import Axis, Curve, curves
from ._running import run
from ._tables import asked

__all__ = ["MOST", "SHOWS", "absolute", "central", "day", "main", "noise", "single", "told_apart", "whole_day"]

SHOWS: tuple[str, ...] = ("A11", "C1", "C5", "E3")
MOST = 50
"""Where a day's count is cut off."""
PHONES = 10_000


def single() -> Metric:
    """The question that hides one use."""
    return asked("count", "1.0", f'max = {MOST}\nprivacy_unit = "event"')


def whole_day() -> Metric:
    """The question that hides a day."""
    return asked("count", "1.0", f'max = {MOST}\nmechanism = "geometric"')


def noise(metric: Metric) -> Laplace:
    """The mechanism of a question."""
    (column,) = metric.columns
    assert isinstance(column.mechanism, Laplace)
    return column.mechanism


def absolute(metric: Metric) -> float:
    """How far noise on whole numbers is off on average: 2 a / (1 - a^2), where 1 step more is a times as likely."""
    ratio = noise(metric).alpha
    return 2 * ratio / (1 - ratio**2)


def central(epsilon: float, people: float) -> float:
    """The deviation of a mean of values between 0 and 1, where a trusted server adds noise once."""
    return math.sqrt(2) / (epsilon * people)


def local(epsilon: float, people: float) -> float:
    """The deviation of the same mean where each adds noise of its own."""
    return math.sqrt(2 / people) / epsilon


def told_apart(uses: int, epsilon: float = 1.0) -> float:
    """What an even chance of so many uses against none becomes at most by one report, where one use is hidden."""
    return after(0.5, math.exp(min(uses * epsilon, 700.0)), 1.0)


@lru_cache(maxsize=1)
def day() -> tuple[float, Row, Row]:
    """The true mean of simulated phones, and both estimates of it."""
    generator = np.random.default_rng(11)
    counts = np.minimum(generator.negative_binomial(2, 0.12, size=PHONES), MOST)
    one, whole = (
        answer(metric, simulate(metric, counts.tolist(), generator)).rows[0] for metric in (single(), whole_day())
    )
    return float(counts.mean()), one, whole


def told() -> str:
    """The noise of both, what they estimate, and what reports tell."""
    mean, one, whole = day()
    questions = (("one use", single(), one), ("a whole day", whole_day(), whole))
    rows = [
        (
            hidden,
            f"{1 / float(noise(metric).rate):g}",
            f"{absolute(metric):.3f}",
            f"{math.sqrt(noise(metric).variance):.3f}",
            f"{row.value:.2f}",
            f"{row.low:.2f} to {row.high:.2f}",
            bar(row.value, row.low, row.high, mean - 3, mean + 3),
        )
        for hidden, metric, row in questions
    ]
    header = ("hidden", "scale", "off by, on average", "deviation", "mean", "95% interval", f"truth {mean:.2f}")
    apart = [(str(uses), f"{told_apart(uses):.4f}") for uses in (1, 2, 5, 10, 100)]
    sizes = [(f"{n:,}", f"{local(1, n):.6f}", f"{central(1, n):.6f}", f"{local(1, n) / central(1, n):,.0f}")
             for n in (100, 10_000, 1_000_000)]  # fmt: skip
    return "\n".join(
        [
            f"{PHONES:,} phones at epsilon 1:",
            table(header, rows, (False, True, True, True, True, False, False)),
            "",
            "Where one use is hidden, what an even chance of so many uses against none becomes:",
            table(("uses", "at most"), apart, (True, True)),
            "",
            "The deviation of a mean of values between 0 and 1:",
            table(("people", "noise of each", "noise of a server", "times"), sizes, (True,) * 4),
        ]
    )


def drawn() -> str:
    """Both errors, by the number of people: notes print the first for the second."""
    sizes = [10 ** (power / 2) for power in range(4, 13)]
    lines = [
        Curve("noise of each device: of the order 1/(epsilon sqrt n)", [(n, local(1, n)) for n in sizes]),
        Curve("noise of a trusted server: of the order 1/(epsilon n)", [(n, central(1, n)) for n in sizes]),
    ]
    across = Axis("people", [10**power for power in range(2, 7)], powers=True)
    up = Axis("deviation of a mean", [10.0**power for power in range(-6, 1)], powers=True)
    return curves("The price of no trusted server, at epsilon 1", across, up, lines)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
