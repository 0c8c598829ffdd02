"""What a table of chances tells: epsilon, delta, and what can be done to a result without either growing.

A mechanism for few inputs is a matrix: a row for each input, a column for each result. Epsilon is the logarithm of
the greatest ratio of two rows. Delta at an epsilon is what one row has above e^epsilon times another. So one
mechanism has a whole curve of pairs, and "(2, 0.00001)" and "(1.5, 0.001)" can be the same one. Columns that are
put together, or drawn from, make a matrix again, whose epsilon is no greater: what is done to a release is free. A
row without chance, and a result that one input alone can have, break every epsilon.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from deniable_aggregator.telling.terminal import bar, table

from ._drawing import Axis, Curve, curves
from ._running import run
from ._tables import asked, lost, matrix, worst

__all__ = ["SHOWS", "adaptive", "all_or_nothing", "main", "mechanisms"]

SHOWS: tuple[str, ...] = ("B1", "B2", "B3", "B7", "B9", "B12", "B13")


def all_or_nothing(delta: float, inputs: int = 2) -> NDArray[np.float64]:
    """Nothing is told with the chance 1 - delta, and the whole input with delta."""
    return np.hstack([np.full((inputs, 1), 1 - delta), delta * np.eye(inputs)])


def adaptive(first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two reports of a device that has two bits: the first is about one of them, and what the second is about depends
    on the first: the other bit after a yes, and whether both are the same after a no. A row for each pair of bits."""
    rows = []
    for one in (0, 1):
        for other in (0, 1):
            asked_next = (int(one == other), other)
            rows.append([first[one, said] * first[asked_next[said], then] for said in (0, 1) for then in (0, 1)])
    return np.array(rows)


def mechanisms() -> dict[str, NDArray[np.float64]]:
    """Mechanisms of the system, what is made of their results, and tables that keep nothing."""
    coins = matrix(asked("boolean", '"ln 3"'))
    category = matrix(asked("category", "1.0", 'values = ["a", "b", "c", "d"]\nmechanism = "randomized_response"'))
    number = matrix(asked("count", "1.0", 'max = 6\nmechanism = "geometric"'))
    pairs = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    return {
        "two coins": coins,
        "one of four": category,
        "one of four, told as one of two pairs": category @ pairs,
        "two coins, and a third that flips one answer in five": coins @ np.array([[0.8, 0.2], [0.2, 0.8]]),
        "two coins twice, the second question by the first answer": adaptive(coins),
        "counts up to 6": number,
        "always the same": np.ones((3, 1)),
        "the input itself": np.eye(2),
        "all with one in a hundred, or nothing": all_or_nothing(0.01),
    }


def told() -> str:
    """Epsilon and delta of each."""
    rows = [
        (name, f"{worst(own):.6f}", *(f"{lost(own, epsilon):.4f}" for epsilon in (0.0, 0.5, 1.0)),
         bar(math.tanh(worst(own) / 2), 0, math.tanh(worst(own) / 2), 0, 1))
        for name, own in mechanisms().items()
    ]  # fmt: skip
    header = ("a table of chances", "epsilon", "delta at 0", "at 0.5", "at 1", f"{'0':<20} inf")
    return table(header, rows, (False, True, True, True, True, False))


def drawn() -> str:
    """The least delta at every epsilon."""
    own = mechanisms()
    names = ("one of four", "counts up to 6", "two coins", "all with one in a hundred, or nothing")
    points = [number / 20 for number in range(25)]
    lines = [Curve(name, [(epsilon, lost(own[name], epsilon)) for epsilon in points]) for name in names]
    across, up = Axis("epsilon", [0, 0.2, 0.4, 0.6, 0.8, 1, 1.2]), Axis("delta", [0, 0.1, 0.2, 0.3, 0.4, 0.5])
    return curves("One mechanism has many pairs of epsilon and delta", across, up, lines)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
