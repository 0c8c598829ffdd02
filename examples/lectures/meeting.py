"""Who came to the meeting: a count with noise, groups that come together, and how large a delta is.

"n came" tells whether you did, to somebody who knows all others. With Laplace noise of scale 1 / epsilon it does not,
by more than e^epsilon. Yet n and n - k, a whole group's coming and its staying away, are told apart by e^(k epsilon):
a group that is to be hidden takes k times the noise. On devices each of the k says for itself whether it came, and
the bound is the same one.

A delta should be far below 1 / n; lecture notes allow it "sometimes a bit larger in practice". Larger means people:
of n answers n delta are expected to be given away, in the worst case that keeps delta.
"""

from __future__ import annotations

import math

from deniable import Epsilon
from deniable.mechanisms import Laplace, RandomizedResponse
from deniable_aggregator.accounting import Spent, exposed, group
from deniable_aggregator.telling.terminal import table

from ._running import run

__all__ = ["SHOWS", "apart", "main", "said", "told"]

SHOWS = ("H8",)
EPSILON = 0.5


def apart(people: int, missing: int) -> float:
    """The logarithm of the worst ratio of a noisy count after so many people and after so many fewer: from the
    channel of whole numbers with Laplace noise for one person more or less."""
    mechanism = Laplace(Epsilon.of(EPSILON), people, sensitivity=1)
    both = (
        [mechanism.probability(payload, people) for payload in range(mechanism.shape.size)],
        [mechanism.probability(payload, people - missing) for payload in range(mechanism.shape.size)],
    )
    return max(abs(math.log(one / other)) for one, other in zip(*both, strict=True))


def said(missing: int) -> float:
    """The same where each device answers for itself: of so many answers all are likelier, or all are less likely."""
    channel = RandomizedResponse(Epsilon.of(EPSILON), 2).channel()
    return missing * math.log(channel[1][1] / channel[0][1])


def told() -> str:
    """Groups, and deltas."""
    rows = [
        (
            str(missing),
            f"{apart(40, missing):.2f}",
            f"{said(missing):.2f}",
            f"{group(Spent(EPSILON), missing).epsilon:.2f}",
        )
        for missing in (1, 2, 5, 10)
    ]
    people = 10_000
    deltas = [
        (name, f"{delta:.0e}", f"{exposed(delta, people).expected:g}", f"{exposed(delta, people).chance:.1%}")
        for name, delta in (
            ("a hundredth of 1 / n", 0.01 / people),
            ("1 / n", 1 / people),
            ("a bit larger", 5 / people),
        )
    ]
    return "\n".join(
        [
            f"40 came, or k fewer, at epsilon {EPSILON:g}: by how much a result can be likelier, as a logarithm.",
            "",
            table(("k", "a noisy count", "k answers", "k epsilon"), rows, (True,) * 4),
            "",
            f"{people:,} people, each with a delta: who is given away, at the worst.",
            "",
            table(("delta", "", "expected", "anybody at all"), deltas, (False, True, True, True)),
        ]
    )


def main(arguments: list[str]) -> int:
    """Print it."""
    return run(arguments, told)
