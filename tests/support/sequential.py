"""Whether something holds as often as it should, asked of as few samples as that takes: Wald's sequential test.

words:
  claim    a rate that is right, and one that is wrong: less than the right one, or more
  odds     how much likelier the samples are where the rate is the wrong one than where it is the right one
  alarm    how often a claim is refuted where the rate is right, or still farther from the wrong one, at most
  missed   how often it is not where the rate is wrong, or still farther from the right one, at most

Samples are taken until the odds are 1 / alarm, which refutes the claim, or as little as `missed`, which settles it.
Where the rate is right, odds do not grow on average, and so are ever 1 / alarm with a chance of `alarm` at most;
where it is wrong the same is true of one over them (Ville's inequality). Both bounds hold however often is looked, so
that samples themselves say how many it takes. Intervals that hold 95% of the time are told from ones that hold 91% by
700, as surely as by the 4,000 that it takes where their number is fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

__all__ = ["LOOK", "Claim", "refuted"]

LOOK = 50
"""So many samples are taken between one look and the next."""


@dataclass(frozen=True)
class Claim:
    """How often each entry of a sample holds; or together, on average, where they are independent of each other."""

    right: float
    wrong: float
    alarm: float
    missed: float = 1e-3
    together: bool = False
    entries: range | None = None
    """Which of them it is about, if not all."""

    def odds(self, held: NDArray[np.bool_]) -> NDArray[np.float64]:
        """By how much samples move the logarithm of the odds."""
        yes, no = math.log(self.wrong / self.right), math.log((1 - self.wrong) / (1 - self.right))
        own = held if self.entries is None else held[:, self.entries]
        moves: NDArray[np.float64] = np.where(own, yes, no).sum(axis=0)
        return moves.sum(keepdims=True) if self.together else moves


def refuted(samples: Iterable[Iterable[bool]], *claims: Claim) -> list[tuple[Claim, list[float]]]:
    """The claims that samples refute, with how often each entry held; of an endless stream as many as decide all."""
    stream, taken, held = iter(samples), 0, np.zeros(1)
    undecided, found = [(claim, np.zeros(1)) for claim in claims], []
    while undecided:
        seen = np.array([[*sample] for sample in islice(stream, LOOK)], dtype=bool)
        assert len(seen), f"after {taken} samples undecided: {[claim for claim, _ in undecided]}"
        taken, held = taken + len(seen), held + seen.sum(axis=0)
        moved = [
            (claim, np.where(odds > math.log(claim.missed), odds + claim.odds(seen), odds))
            for claim, odds in undecided
        ]
        wrong = [claim for claim, odds in moved if odds.max() >= -math.log(claim.alarm)]
        found += [(claim, (held / taken).tolist()) for claim in wrong]
        undecided = [
            (claim, odds) for claim, odds in moved if claim not in wrong and odds.max() > math.log(claim.missed)
        ]
    return found
