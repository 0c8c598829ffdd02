"""Linkage: by how many bits what is sent in two epochs tells that one device has sent both.

words:
  lasting  what a device brings along from epoch to epoch: what it remembers, else an answer that stays the same
  channel  P(payload | lasting), with the noise that is drawn afresh in every epoch
  odds     how many times likelier a report is from the device with what it has sent (or remembers) than from anybody;
           for the right device the mean of that, J = sum of P(lasting) P(y | lasting)^2 / P(y), is 2^bits
  repeated what is sent as it is remembered; its bits are those of a collision: two devices with the same answer
           say the same once in 2^bits times
  share    of the one bit that a batch may tell, what a memoised metric has

**Which bits.** Whoever has a report and knows all that a device remembers (has its state file, or has followed it
in all epochs before) can do no better than compare P(y | lasting) with P(y) of all devices. log2 J is the order-2
divergence of the two cases. It is no less than the mutual information, and no less than what two reports tell of each
other; and of n devices the one that a report is from is found with a chance of at most 1 / n + sqrt((J - 1) / n).

**The greatest J.** A fresh channel F that sends payloads with one chance or another can be made in two steps: with
G(y | m) proportional to F(y | m)^2, F = H G, where H repeats a payload or draws any, H = T T for T of the same sort.
Then with u = G P(lasting), J = c sum of u / H u, and since 1 / T w <= T (1 / w) (Jensen), that sum is at most
sum of T u / T u, the number of payloads N. So J <= N sum over y of F(y | m)^2, whatever devices remember and answer,
with equality where all payloads are equally likely. T may as well be a product over bits or metrics: bits add up,
also where what is remembered of one metric depends on another's.

For other channels that hide everything, P(y | lasting) is at most e^epsilon P(y): at most epsilon / ln 2 bits. These
add up too, as do log2 of the number of inputs, and for Gaussian noise the divergence of the two farthest vectors.

Each mechanism says its own: `factor` is its J, `most_bits` what it tells where that is not known, `collision` the
bits of what is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from deniable.epsilon import Epsilon
from deniable.kinds import Quantity
from deniable.mechanisms import Mechanism
from deniable.mechanisms._sorts import log2

if TYPE_CHECKING:
    from deniable.collection import Collection, Metric

__all__ = ["BATCH", "LINKABLE", "batch", "bits", "most", "others", "repeats", "share"]

BATCH = 1
"""The bits that all that is remembered may tell in one batch: n devices hide one as well as n / 2 would."""
LINKABLE = "linkable"
"""What a collection file says for `instantaneous_epsilon` where what is remembered is to be repeated as it is."""
_FEWEST = 2
"""One memoised metric alone has a half of the bit: with all of it a boolean would be repeated as it is."""
_GRAIN = 1000
"""Epsilons are found to a thousandth."""
_LARGEST = 32
_NEAR = 1e-6
"""Bits that floating point tells apart by far, on any machine."""
_TOO_MANY = 50
"""Bits from which on a number of devices is said as a power."""


def share(memoized: int) -> Fraction:
    """The bits that each of so many memoised metrics may tell."""
    return Fraction(BATCH, max(memoized, _FEWEST))


def most(ask: Callable[[Epsilon], tuple[Mechanism, ...]], allowed: Fraction) -> Epsilon:
    """The greatest epsilon, in thousandths, at which what is asked tells no more than the bits allowed; exactly.

    2^bits <= 2^allowed is compared in whole powers of rationals, which can be long, wherever floating point could be
    wrong about it: two machines find the same epsilon.
    """
    low, high = 1, _LARGEST * _GRAIN + 1
    while high - low > 1:
        middle = low + high >> 1
        (mechanism,) = ask(Epsilon.of(Fraction(middle, _GRAIN)))
        told = mechanism.factor
        assert told is not None
        beyond = log2(told) - allowed.numerator / allowed.denominator
        within = beyond < 0 if abs(beyond) > _NEAR else told**allowed.denominator <= 2**allowed.numerator
        low, high = (middle, high) if within else (low, middle)
    return Epsilon.of(Fraction(low, _GRAIN))


def repeats(metric: Metric) -> bool:
    """Whether a device sends what it remembers as it is, in every batch."""
    return metric.memoize and metric.instantaneous is None


def bits(metric: Metric) -> float:
    """What reports of a metric tell, at most, of which device it is that has sent another one."""
    if not repeats(metric):
        return max(_told(mechanism) for mechanism in metric.mechanisms)
    # Devices round to either end of a quantity that is asked in one bit.
    halfway = isinstance(metric.kind, Quantity) and all(mechanism.inputs == 2 for mechanism in metric.mechanisms)
    return math.log2(len(metric.columns)) + (1.0 if halfway else max(map(_collision, metric.mechanisms)))


@lru_cache(maxsize=256)  # the transcript says them of every report, and a channel may have to be walked for them
def _collision(mechanism: Mechanism) -> float:
    return mechanism.collision


@lru_cache(maxsize=256)
def _told(mechanism: Mechanism) -> float:
    factor = mechanism.factor
    return mechanism.most_bits if factor is None else log2(factor)


def batch(collection: Collection) -> tuple[float, float]:
    """What a batch tells by what devices remember, and by answers that stay the same."""
    metrics = collection.metrics.values()
    return (
        math.fsum(bits(metric) for metric in metrics if metric.memoize),
        math.fsum(bits(metric) for metric in metrics if not metric.memoize),
    )


def others(bits: float) -> str:
    """From how many others so many bits tell a device, in digits."""
    if bits > _TOO_MANY:
        return f"2^{bits:.0f}"
    count = 2**bits - 1
    return f"{count:.1f}" if count < 10 else f"{count:,.0f}"
