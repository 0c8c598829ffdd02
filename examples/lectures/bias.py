"""A coin's bias: by the exponential mechanism, by Laplace's noise, and by devices that each flip their own.

The likeliest bias is chosen with the exponential mechanism, the loss being minus the log likelihood of all throws.
On all of [0, 1] one throw can move that without limit, so that the bias is cut to [0.1, 0.9]: one throw that is
replaced moves it by ln 9. What is chosen then has a Beta law that is cut off, of parameters 1 + c heads and 1 + c
tails with c = epsilon/(2 ln 9). Its variance is of the order 1/N, as if most throws were thrown away. A count of
heads with Laplace's noise is better by far: 1/N^2.

Notes take -ln 0.1 = 2.3 for the ln 9 = 2.197, which is what a throw moves it by that is added; and 2.3/0.1 for the
scale of a count's noise at epsilon 0.1, which is the loss's: a count moves by 1, and its scale is 10.

Without a curator each device flips its throw. What is then believed of the share of reported heads is a Beta law as
well, cut to what flips allow, so that the interval never leaves [0, 1].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from deniable_aggregator.answers import answer
from deniable_aggregator.telling.terminal import bar, table

from ._drawing import Axis, Curve, curves
from ._running import run
from ._tables import asked

__all__ = ["LOW", "SHOWS", "Chosen", "chosen", "coefficient", "credible", "laplace_error", "loss_moves", "main"]

SHOWS: tuple[str, ...] = ("C16", "E7")
LOW, HIGH = 0.1, 0.9
EPSILON = 0.1


class Chosen(NamedTuple):
    """The law of a bias that is chosen."""

    mean: float
    deviation: float


def loss_moves(*, replaced: bool, low: float = LOW) -> float:
    """How far one throw moves the log likelihood of a bias between low and 1 - low."""
    return math.log((1 - low) / low) if replaced else -math.log(low)


def coefficient(epsilon: float = EPSILON, *, replaced: bool = True) -> float:
    """What each throw counts as."""
    return epsilon / (2 * loss_moves(replaced=replaced))


def chosen(heads: int, tails: int, epsilon: float = EPSILON) -> Chosen:
    """The mean and the deviation of what the exponential mechanism chooses: a Beta law, cut to [0.1, 0.9]."""
    own = coefficient(epsilon)
    first, second = 1 + own * heads, 1 + own * tails
    moments = [_cut(first, second, power) for power in (0, 1, 2)]
    mean = moments[1] / moments[0]
    return Chosen(mean, math.sqrt(moments[2] / moments[0] - mean**2))


def _cut(first: float, second: float, power: int) -> float:
    """The integral of a power against the law between both ends; the law itself is the zeroth."""
    scale = math.prod((first + step) / (first + second + step) for step in range(power))
    return scale * float(np.diff(beta.cdf((LOW, HIGH), first + power, second))[0])


def laplace_error(throws: int, epsilon: float = EPSILON) -> float:
    """The deviation that a curator's noise adds to the share of heads: one throw that is replaced moves it by 1/N."""
    return math.sqrt(2) / (epsilon * throws)


def credible(heads: int, reports: int, epsilon: float) -> tuple[float, float]:
    """Where the bias lies with 95%, by what is believed of the share of reported heads, which flips keep between q
    and p; every such share was as likely before."""
    q = 1 / (1 + math.exp(epsilon))
    law = beta(1 + heads, 1 + reports - heads)
    below, upto = law.cdf((q, 1 - q))
    ends = law.ppf(below + (upto - below) * np.array([0.025, 0.975]))
    low, high = ((ends - q) / (1 - 2 * q)).tolist()
    return low, high


def told() -> str:
    """What is chosen, by how much noise is off, and what devices make of it."""
    rows = []
    for throws in (100, 1_000, 10_000, 100_000):
        own = chosen(throws * 7 // 10, throws * 3 // 10)
        rows.append((f"{throws:,}", f"{own.mean:.4f}", f"{own.deviation:.4f}",
                     bar(own.mean, own.mean - own.deviation, own.mean + own.deviation, 0, 1),
                     f"{laplace_error(throws):.4f}"))  # fmt: skip
    header = ("throws, 7 in 10 heads", "chosen", "deviation", f"{'0':<23}1", "Laplace: deviation")
    metric = asked("boolean", '"ln 3"')
    devices = []
    for heads, reports in ((24, 100), (40, 100), (300, 1_000), (4_000, 10_000)):
        (row,) = answer(metric, [np.array([reports - heads, heads])]).rows
        low, high = credible(heads, reports, math.log(3))
        devices.append((f"{heads:,} of {reports:,}", f"{row.value:.3f}", f"{low:.3f} to {high:.3f}",
                        f"{row.low:.3f} to {row.high:.3f}"))  # fmt: skip
    said = ("heads said", "estimate", "believed, 95%", "interval of the system")
    moves = [("replaced", f"{loss_moves(replaced=True):.4f}", f"{coefficient():.6f}", "20"),
             ("added", f"{loss_moves(replaced=False):.4f}", f"{coefficient(replaced=False):.6f}", "10")]  # fmt: skip
    return "\n".join(
        [
            "With a curator, at epsilon 0.1:",
            table(header, rows, (True, True, True, False, True)),
            "",
            table(("a throw is", "the loss moves by", "c", "scale of both counts"), moves, (False, True, True, True)),
            "",
            "Without one, at epsilon ln 3:",
            table(said, devices, (True, True, True, True)),
        ]
    )


def drawn() -> str:
    """Deviations of three ways, by the number of throws."""
    sizes = [10 ** (power / 4) for power in range(8, 25)]
    odds = math.exp(EPSILON)
    lines = [
        Curve("devices that flip", [(n, math.sqrt(odds / n) / (odds - 1)) for n in sizes]),
        Curve("exponential mechanism", [(n, chosen(round(n * 0.7), round(n * 0.3)).deviation) for n in sizes]),
        Curve("Laplace's noise", [(n, laplace_error(round(n))) for n in sizes]),
    ]
    across = Axis("throws", [10.0**power for power in range(2, 7)], powers=True)
    up = Axis("deviation", [10.0**power for power in range(-5, 1)], powers=True)
    return curves("A coin's bias at epsilon 0.1", across, up, lines)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
