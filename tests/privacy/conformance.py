"""What every mechanism must show, whatever it is.

A mechanism joins by the families of its file in tests/mechanisms/cases/: how it is made of an epsilon and a size,
where it is judged exactly and where it is sampled. (A mechanism that is to be judged at sizes that nobody can list
also states its structure in channels.py.) All proofs are in integers and rationals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm
from random import Random

from deniable import randomness
from deniable.epsilon import Epsilon
from deniable.mechanisms import Mechanism
from deniable.payload import PAYLOAD_BITS, Bitmap
from privacy.bounds import exp_between
from privacy.channels import Whole, detuned, exact_channel, made_channel, payload_count, stated_channel
from privacy.sampling import notices, plan, rejects

__all__ = ["ExactConformance", "Family", "SampledConformance", "few_inputs"]

LISTED = 1 << 18
"""So many payloads can be listed."""


@dataclass(frozen=True)
class Family:
    """One mechanism, and where on its grid of parameters it is judged."""

    make: Callable[[Epsilon, int], Mechanism]
    epsilons: tuple[str, ...]
    sizes: tuple[int, ...]
    sampled: tuple[tuple[str, int], ...] = ()
    """Where 5% of epsilon shows in a few hundred thousand reports."""
    refused: tuple[tuple[str, int], ...] = ()
    """What it must not be made of."""

    def at(self, epsilon: str, size: int) -> Mechanism:
        """The mechanism at one point of the grid."""
        return self.make(Epsilon.of(epsilon if epsilon.startswith("ln") else Fraction(epsilon)), size)

    def grid(self) -> tuple[Mechanism, ...]:
        """The mechanism everywhere."""
        return _grid(self)


@cache
def _grid(family: Family) -> tuple[Mechanism, ...]:
    return tuple(family.at(epsilon, size) for size in family.sizes for epsilon in family.epsilons)


def few_inputs(mechanism: Mechanism) -> list[int]:
    """The first input, one in the middle and the last."""
    return sorted({0, mechanism.inputs // 2, mechanism.inputs - 1})


def _few_payloads(mechanism: Mechanism) -> list[int]:
    """Some payloads from anywhere; of a number's, whose ends take long to add up, some between them."""
    if isinstance(mechanism.shape, Bitmap):
        return [mechanism.randomize(value) for value in few_inputs(mechanism) for _ in range(5)]
    last = mechanism.shape.size - 1
    return [1, last // 2, last - 1, *Random(1).sample(range(1, last), min(9, last - 1))]


class ExactConformance:
    """The fixture `family` says what is judged; each claim is about every mechanism of its grid."""

    def test_the_claimed_ratio_is_what_epsilon_pays_for(self, family: Family) -> None:
        """The mechanism's exp is at most e^epsilon, by arithmetic of the tests' own."""
        for mechanism in family.grid():
            assert mechanism.epsilon.exp <= exp_between(mechanism.epsilon.value)[0], mechanism

    def test_no_report_moves_anybodys_odds_by_more_than_epsilon(self, family: Family) -> None:
        """P(out | a) <= e^epsilon P(out | b) for every payload and all neighbours, exactly."""
        for mechanism in family.grid():
            assert exact_channel(mechanism).keeps(mechanism.epsilon.exp), mechanism

    def test_the_whole_epsilon_is_put_to_use(self, family: Family) -> None:
        """Some payload's ratio reaches 0.999 of epsilon, where the mechanism is meant to be tight."""
        for mechanism in family.grid():
            assert (
                exact_channel(mechanism).reaches(exp_between(mechanism.epsilon.value * 999 / 1000)[1])
                or not mechanism.tight
            ), mechanism

    def test_five_percent_more_would_be_noticed(self, family: Family) -> None:
        """Built for an epsilon 5% larger, a tight mechanism breaks its claim: the proof above can fail."""
        for mechanism in family.grid():
            assert not mechanism.tight or not made_channel(detuned(mechanism)).keeps(mechanism.epsilon.exp), mechanism

    def test_no_payload_is_impossible_for_anybody(self, family: Family) -> None:
        """All inputs share one support: whatever was sent, anybody could have sent it."""
        for mechanism in family.grid():
            assert all(low > 0 for low, _ in exact_channel(mechanism).pairs), mechanism

    def test_every_input_sends_something(self, family: Family) -> None:
        """Each input's probabilities add up to exactly 1."""
        for mechanism in family.grid():
            assert exact_channel(mechanism).totals() == {exact_channel(mechanism).whole}, mechanism

    def test_the_parameters_determine_the_channel(self, family: Family) -> None:
        """They are integers, another epsilon has others, and a structure stated from them alone has these cells."""
        for mechanism in family.grid():
            assert all(type(number) is int for number in mechanism.parameters().values()), mechanism
            assert mechanism.parameters() != detuned(mechanism).parameters(), mechanism
            exact = exact_channel(mechanism)
            stated = stated_channel(mechanism) if isinstance(exact, Whole) else exact  # one that is long to make
            if isinstance(stated, Whole):
                continue  # the mechanism's own cells
            if isinstance(exact, Whole):  # has the mechanism's own cells
                whole = lcm(stated.whole, exact.whole)
                ours, theirs = whole // stated.whole, whole // exact.whole
                for value in range(mechanism.inputs):
                    for payload in mechanism.payloads():
                        assert stated.cell(payload, value) * ours == exact.cell(payload, value) * theirs, mechanism
                continue
            for value in few_inputs(mechanism):
                for payload in _few_payloads(mechanism):
                    cell = Fraction(stated.cell(payload, value), stated.whole)
                    assert cell == mechanism.probability(payload, value), mechanism

    def test_payloads_are_those_of_the_shape(self, family: Family) -> None:
        """Nothing that the shape allows is missing, nothing else is there; all travel in equally many bytes."""
        for mechanism in family.grid():
            shape, count = mechanism.shape, payload_count(mechanism)
            bits = shape.size if isinstance(shape, Bitmap) else (shape.size - 1).bit_length()
            weight = shape.weight if isinstance(shape, Bitmap) else None
            assert shape.wide == (bits > PAYLOAD_BITS), mechanism
            payloads = list(mechanism.payloads()) if count <= LISTED else _few_payloads(mechanism)
            assert all(0 <= payload < 1 << bits for payload in payloads), mechanism
            assert weight is None or all(payload.bit_count() == weight for payload in payloads), mechanism
            assert count > LISTED or len(set(payloads)) == len(payloads) == count, mechanism

    def test_it_sends_payloads_only(self, family: Family) -> None:
        """Fifty answers of three inputs are in the channel's domain."""
        for mechanism in family.grid():
            shape = mechanism.shape
            for value in few_inputs(mechanism):
                for payload in (mechanism.randomize(value) for _ in range(50)):
                    if isinstance(shape, Bitmap):
                        assert 0 <= payload < 1 << shape.size, mechanism
                        assert shape.weight in {None, payload.bit_count()}, mechanism
                    else:
                        assert 0 <= payload < shape.size, mechanism

    def test_the_randomness_it_takes_does_not_tell_the_input(self, family: Family) -> None:
        """Given the same random words, every input uses up equally many."""
        for mechanism in family.grid():
            words = [randomness.word() for _ in range(1 << 12)]
            try:
                left = set()
                for value in few_inputs(mechanism):
                    randomness._buffer[:] = words
                    mechanism.randomize(value)
                    left.add(len(randomness._buffer))
            finally:
                randomness._buffer.clear()  # what has been used is not used again
            assert len(left) == 1, mechanism


class SampledConformance:
    """The fixtures `sampled` and `alarm` say what is sampled and how seldom each test may be wrong."""

    def test_randomize_follows_the_channel(self, sampled: Mechanism, alarm: float) -> None:
        """Chi-square goodness of fit for three inputs, with as many reports as show an epsilon that is 5% off."""
        values = few_inputs(sampled)
        assert not rejects(plan(sampled, values, alarm), sampled, values)

    def test_the_samples_are_large_enough(self, sampled: Mechanism, alarm: float) -> None:
        """As many reports of the channel whose epsilon is 5% larger are rejected by the same test: it can fail."""
        assert notices(plan(sampled, few_inputs(sampled), alarm))
