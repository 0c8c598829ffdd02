"""What somebody who sees an answer may believe afterwards: exactly, and by the bounds that are usually printed.

Who held 2% for the chance that somebody cheated holds 5.8% after a yes of two coins, and 0.7% after a no. Whatever
somebody knows besides, epsilon bounds how far they can move: odds by e^epsilon at most. The usual bounds multiply
the chance itself by e^epsilon: they are true, say less, and from some chance on nothing.
"""

from __future__ import annotations

import math

from deniable_aggregator.accounting import Belief, belief, beliefs
from deniable_aggregator.telling.terminal import bar, table

from ._drawing import Axis, Curve, curves
from ._running import run
from ._tables import asked

__all__ = ["SHOWS", "by_answers", "main"]

SHOWS: tuple[str, ...] = ("A8", "A9")
EPSILONS = (("0.1", 0.1), ("1", 1.0), ("ln 3", math.log(3)), ("4", 4.0))


def by_answers(prior: float) -> tuple[float, float]:
    """What a chance becomes by a no and by a yes of two coins, from the mechanism's own chances."""
    (column,) = asked("boolean", '"ln 3"').columns
    found = beliefs(column.mechanism, prior)
    assert found is not None
    (_, after_no), (_, after_yes) = found[1]
    return after_no, after_yes


def told() -> str:
    """A table of chances, before and after."""
    answers = [(f"{prior:.2%}", *(f"{after:.2%}" for after in by_answers(prior))) for prior in (0.02, 0.1, 0.4, 0.9)]
    rows = [_line(prior, name, belief(prior, epsilon)) for prior in (0.02, 0.4) for name, epsilon in EPSILONS]
    header = ("before", "epsilon", "at least", "at most", f"{'0%':<20}100%", "usual bounds")
    return "\n".join(
        [
            "By the two coins of the survey:",
            table(("before", "after a no", "after a yes"), answers, (True, True, True)),
            "",
            "By any mechanism of an epsilon:",
            table(header, rows, (True, True, True, True, False, False)),
        ]
    )


def _line(prior: float, name: str, found: Belief) -> tuple[str, ...]:
    usual = f"{found.loose_least:.4f} to {found.loose_most:.4f}{', which says nothing' * (found.loose_most > 1)}"
    drawn_bar = bar(prior, found.least, found.most, 0, 1)
    return f"{prior:.0%}", name, f"{found.least:.4f}", f"{found.most:.4f}", drawn_bar, usual


def drawn() -> str:
    """From where to where a chance can move at ln 3."""
    chances = [number / 100 for number in range(1, 100)]
    found = [belief(chance, math.log(3)) for chance in chances]
    lines = [
        Curve("at most, exactly", [(each.prior, each.most) for each in found]),
        Curve("at most, usual bound", [(each.prior, each.loose_most) for each in found if each.loose_most <= 1]),
        Curve("at least, exactly", [(each.prior, each.least) for each in found]),
        Curve("no answer", [(0.0, 0.0), (1.0, 1.0)]),
    ]
    ticks = [number / 5 for number in range(6)]
    title = "What a chance becomes by one answer at epsilon ln 3"
    return curves(title, Axis("before", ticks, percent=True), Axis("after", ticks, percent=True), lines)


def main(arguments: list[str]) -> int:
    """Print the figures, and draw the picture where that is asked for."""
    return run(arguments, told, drawn)
