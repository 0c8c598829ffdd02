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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from deniable.epsilon import Epsilon
from deniable.kinds import Quantity
from deniable.mechanisms import (
    BitwiseResponse,
    Exponential,
    Gaussian,
    Hybrid,
    Laplace,
    Mechanism,
    Memoized,
    MemoizedBitwise,
    MemoizedSubset,
    PadAndSample,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SubsetSelection,
    VectorLaplace,
)
from deniable.mechanisms.hybrid import WIDTH
from deniable.randomness import WORD

if TYPE_CHECKING:
    from deniable.collection import Collection, Metric

__all__ = ["BATCH", "LINKABLE", "batch", "bits", "factor", "most", "others", "repeats", "share"]

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
        told = factor(mechanism)
        assert told is not None
        beyond = _log2(told) - allowed.numerator / allowed.denominator
        within = beyond < 0 if abs(beyond) > _NEAR else told**allowed.denominator <= 2**allowed.numerator
        low, high = (middle, high) if within else (low, middle)
    return Epsilon.of(Fraction(low, _GRAIN))


class _Sorts(NamedTuple):
    """A channel that sends each of some payloads with one chance, and each of the others with another one."""

    inside: Fraction
    """The chance of all that support the input."""
    supporting: int
    """How many do."""
    payloads: int
    """How many there are."""
    shared: int = 0
    """How many support two inputs."""

    @property
    def squares(self) -> Fraction:
        """The sum of the squares of all chances: how often two payloads of one input are the same."""
        return self.inside**2 / self.supporting + (1 - self.inside) ** 2 / (self.payloads - self.supporting)

    @property
    def products(self) -> Fraction:
        """How often payloads of two inputs are the same."""
        high, low = self.inside / self.supporting, (1 - self.inside) / (self.payloads - self.supporting)
        one = self.supporting - self.shared
        return self.shared * high**2 + 2 * one * high * low + (self.payloads - self.supporting - one) * low**2


def _sorts(mechanism: Mechanism) -> _Sorts | None:
    match mechanism:
        case RandomizedResponse():
            return _Sorts(mechanism.p, 1, mechanism.inputs)
        case SubsetSelection(inputs=inputs, size=size):
            shared = math.comb(inputs - 2, size - 2) if size > 1 else 0
            return _Sorts(mechanism.p, math.comb(inputs - 1, size - 1), math.comb(inputs, size), shared)
        case ProjectiveGeometryResponse():
            shared = (mechanism.supporting - 1) // mechanism.order
            return _Sorts(mechanism.p, mechanism.supporting, mechanism.points, shared)
        case MemoizedSubset():
            return _Sorts(mechanism.high * mechanism.size, mechanism.size, mechanism.answers)
        case Hybrid():
            return _Sorts(Fraction(mechanism.inside, WORD), WIDTH, mechanism.outputs)
        case _:
            return None


def factor(mechanism: Mechanism) -> Fraction | None:
    """The greatest J of its fresh channel, exactly; None where it is not known."""
    match mechanism:
        case Memoized() | MemoizedBitwise():
            return factor(mechanism.fresh)
        case PadAndSample():
            return factor(mechanism.inner)
        case BitwiseResponse():
            return (2 * (mechanism.p**2 + mechanism.q**2)) ** mechanism.flags
        case _:
            sorts = _sorts(mechanism)
            return sorts.payloads * sorts.squares if sorts else None


def repeats(metric: Metric) -> bool:
    """Whether a device sends what it remembers as it is, in every batch."""
    return metric.memoize and metric.instantaneous is None


def bits(metric: Metric) -> float:
    """What reports of a metric tell, at most, of which device it is that has sent another one."""
    mechanism = metric.columns[0].mechanism
    if repeats(metric):
        halfway = isinstance(metric.kind, Quantity) and mechanism.inputs == 2  # devices round to either end
        return math.log2(len(metric.columns)) + (1.0 if halfway else _collision(mechanism))
    told = factor(mechanism)
    if told is not None:
        return _log2(told)
    if isinstance(mechanism, Gaussian):
        return 4 * mechanism.bound**2 / mechanism.spread / math.log(2)
    inputs = math.log2(mechanism.inputs)
    hidden = not isinstance(mechanism, Laplace) or mechanism.rate * mechanism.steps <= mechanism.epsilon.value
    return min(float(mechanism.epsilon) / math.log(2), inputs) if hidden else inputs


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


def _log2(number: Fraction) -> float:
    """Also where it is next to 1, or beyond floating point."""
    if abs(number - 1) < 1:
        return math.log1p(float(number - 1)) / math.log(2)
    return math.log2(number.numerator) - math.log2(number.denominator)


def _collision(mechanism: Mechanism) -> float:
    """The bits of a collision of two payloads, for the answer of which they are most."""
    sorts = _sorts(mechanism.inner if isinstance(mechanism, PadAndSample) else mechanism)
    match mechanism:
        case PadAndSample(items=items) if sorts:  # every slot has another answer
            return -_log2((sorts.squares + (items - 1) * sorts.products) / items)
        case BitwiseResponse():
            return -mechanism.flags * _log2(mechanism.p**2 + mechanism.q**2)
        case Exponential():
            return max(_collision_of_window(mechanism, value) for value in range(mechanism.inputs))
        case Laplace():
            return _collision_of_noise(mechanism)
        case VectorLaplace():
            return mechanism.dimensions * _collision_of_noise(mechanism.noise)
        case Gaussian():
            return mechanism.dimensions * math.log2(4 * math.pi * mechanism.spread) / 2
        case _ if sorts:
            return -_log2(sorts.squares)
        case _:
            raise TypeError(f"{mechanism.name} is not sent as it is remembered")


def _collision_of_window(mechanism: Exponential, value: int) -> float:
    sums, left = mechanism.cumulative, mechanism.inputs - 1 - value
    total = sums[left + mechanism.inputs] - sums[left]
    chances = ((after - before) / total for before, after in pairwise(sums[left : left + mechanism.inputs + 1]))
    return -math.log2(math.fsum(chance**2 for chance in chances))


def _collision_of_noise(noise: Laplace) -> float:
    """Of discrete Laplace noise: ((1 - a) / (1 + a))^2 (1 + a^2) / (1 - a^2), a = e^-rate."""
    half = float(noise.rate) / 2
    return -math.log2(math.tanh(half) ** 2 / math.tanh(2 * half))
