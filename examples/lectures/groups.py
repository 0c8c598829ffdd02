"""A household: what is hidden of one device is hidden less of several that have the same.

Two tables that differ in k answers are as far apart as k steps of one: k epsilon, exactly, as randomized response
shows, whose reports of k devices are the product of k matrices. With a delta the steps scale it: k of them make
delta (1 + e^epsilon + ... + e^((k-1) epsilon)), which is at most k e^((k-1) epsilon) delta. A group is hidden as
well as one was by epsilon/k, which is k times the noise. (Dwork and Roth, 2014, theorem 2.2.)
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.accounting import Spent, belief, group
from deniable_aggregator.telling.terminal import bar, table

from ._running import run
from ._tables import asked, matrix, worst

__all__ = ["SHOWS", "household", "main", "printed"]

SHOWS: tuple[str, ...] = ("B5",)


def household(devices: int, epsilon: str = "1.0") -> NDArray[np.float64]:
    """The chances of what so many devices send together that all have the same answer."""
    one = matrix(asked("boolean", epsilon))
    return np.array([reduce(np.kron, [row] * devices) for row in one])


def printed(answer: Spent, devices: int) -> float:
    """The delta that is usually printed for a group: a little more than it takes."""
    return devices * math.exp((devices - 1) * answer.epsilon) * answer.delta


def told() -> str:
    """Households, by the product of matrices and by the accounting."""
    rows = []
    for devices in (1, 2, 3, 4, 8):
        own = group(Spent(1.0), devices)
        sure = belief(0.02, own.epsilon).most
        exact = f"{worst(household(devices)):.6f}"
        rows.append((str(devices), exact, f"{own.epsilon:g}", f"{sure:.2%}", bar(sure, 0.02, sure, 0, 1)))
    header = ("devices", "of the product", "k epsilon", "2% becomes", f"{'0%':<20}100%")
    small = Spent(0.5, 1e-6)
    deltas = [
        (str(devices), f"{group(small, devices).delta:.3e}", f"{printed(small, devices):.3e}")
        for devices in (1, 2, 4, 8)
    ]
    shared = [(str(devices), f"{devices / 1.0:g}", f"{worst(household(devices, str(1 / devices))):.4f}")
              for devices in (1, 2, 4)]  # fmt: skip
    return "\n".join(
        [
            "Devices that have the same answer, at epsilon 1:",
            table(header, rows, (True, True, True, True, False)),
            "",
            "At epsilon 0.5 and delta 10^-6 of each:",
            table(("devices", "delta of the group", "as usually printed"), deltas, (True, True, True)),
            "",
            "A group that is hidden as well as one: epsilon 1/k of each, noise of scale k",
            table(("devices", "scale", "epsilon of the group"), shared, (True, True, True)),
        ]
    )


def main(arguments: list[str]) -> int:
    """Print the figures."""
    return run(arguments, told)
