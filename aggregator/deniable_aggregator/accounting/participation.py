"""Participation: what a report tells where nobody knows whether the device has answered at all.

words:
  share   the chance with which a device takes part, by a coin of its own that nobody sees
  dummy   what a device sends that does not take part: a report that is drawn without its answer, evenly over all that
          can be sent, or as for an input that is drawn evenly

**Sampled.** Of a device that takes part in secret with the chance p, a result says at most p e^eps + 1 - p times as
much for one answer as for another: epsilon is ln(1 + p (e^eps - 1)), and delta p delta. (Balle, Barthe, Gaboardi,
"Privacy amplification by subsampling", NeurIPS 2018.) It takes that silence, too, can not be told from an answer by
more than e^eps: neither a report that arrives may be seen, nor how many do. Whoever sees reports sees who takes part.

**Dummied.** With dummies all devices send, and each report is of the channel p P(y | x) + (1 - p) D(y): what it keeps
is computed from that channel. It is never worse than what is sampled, as D(y) is at least the least P(y | x).
"""

from __future__ import annotations

import math

from deniable.mechanisms import Mechanism
from deniable_aggregator.accounting.composition import Spent
from deniable_aggregator.accounting.posterior import rows

__all__ = ["dummied", "sampled"]


def sampled(answer: Spent, share: float) -> Spent:
    """What an answer tells that is given with this chance, where that it was given is secret."""
    if not 0 <= share <= 1:
        raise ValueError(f"a share of devices lies between 0 and 1, not at {share:g}")
    return Spent(math.log1p(share * math.expm1(answer.epsilon)), share * answer.delta)


def dummied(mechanism: Mechanism, share: float) -> float:
    """The epsilon of one report, where a device tells its answer with this chance and else sends a dummy.

    Exact where the channel has two sorts of payloads or can be written out; elsewhere what `sampled` says, at most.
    """
    most = sampled(Spent(float(mechanism.epsilon)), share).epsilon
    sorts = mechanism.sorts if mechanism.first is mechanism else None
    if sorts is not None:
        even = 1 / sorts.payloads
        high = float(sorts.inside) / sorts.supporting
        low = float(1 - sorts.inside) / (sorts.payloads - sorts.supporting)
        return min(most, math.log((share * high + (1 - share) * even) / (share * low + (1 - share) * even)))
    channel = rows(mechanism)
    if channel is None:
        return most
    mixed = share * channel + (1 - share) * channel.mean(axis=0)
    return min(most, math.log(float((mixed.max(axis=0) / mixed.min(axis=0)).max())))
