"""Bitwise response: epsilon over all bits together, the same part of it for each, and the memo's two rounds of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import pytest
from scipy import stats

from deniable.epsilon import Epsilon
from deniable.mechanisms import BitwiseResponse, Mechanism, MemoizedBitwise
from deniable.mechanisms.bitwise_response import flipped_chance
from deniable.payload import Bitmap
from deniable.randomness import WORD
from privacy.bounds import exp_between

EPSILONS = ("ln 3", 0.01, 1.0, 8.0, 32.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("flags", [1, 2, 7, 48, 49, 256])
def test_all_bits_together_cost_epsilon(flags: int, epsilon: float | str) -> None:
    """The bits are independent, so the worst ratio is the product of theirs: at most e^eps, and next to it."""
    mechanism = BitwiseResponse(Epsilon.of(epsilon), flags)
    worst = (mechanism.p / mechanism.q) ** flags
    assert mechanism.epsilon.exp * (1 - Fraction(1, 1 << 16)) <= worst <= mechanism.epsilon.exp
    every = (1 << flags) - 1
    assert mechanism.probability(every, every) / mechanism.probability(every, 0) == worst


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_bit_costs_its_part(epsilon: float | str) -> None:
    """Two answers that differ in one of ten flags are told apart with a tenth of epsilon."""
    mechanism = BitwiseResponse(Epsilon.of(epsilon), 10)
    assert mechanism.p / mechanism.q <= exp_between(mechanism.epsilon.value / 10)[1]


def test_p_and_q_are_those_of_the_channel() -> None:
    """Added up over all bitmaps that have a bit, for inputs with and without it; with a memo as well as without."""
    once = BitwiseResponse(Epsilon.of(1.0), 3)
    for mechanism in (once, MemoizedBitwise(once, BitwiseResponse(Epsilon.of(2.0), 3))):
        for value, row in enumerate(mechanism.channel()):
            for bit in range(3):
                sent = sum(chance for payload, chance in row.items() if payload >> bit & 1)
                assert sent == (mechanism.p if value >> bit & 1 else mechanism.q)


def test_a_memo_is_one_channel_after_the_other() -> None:
    """Its probabilities are those of the fresh round, over all that can be remembered."""
    first, second = BitwiseResponse(Epsilon.of(2.0), 3), BitwiseResponse(Epsilon.of(1.0), 3)
    mechanism = MemoizedBitwise(first, second)
    for value in range(8):
        for payload in range(8):
            through = sum(first.probability(kept, value) * second.probability(payload, kept) for kept in range(8))
            assert mechanism.probability(payload, value) == through
    assert mechanism.epsilon == first.epsilon


def test_what_is_remembered_is_flipped_afresh() -> None:
    """1,000 reports of one remembered bitmap of 64 bits are all different, and agree with it more often than not."""
    mechanism = MemoizedBitwise(BitwiseResponse(Epsilon.of(8.0), 64), BitwiseResponse(Epsilon.of(32.0), 64))
    remembered = mechanism.remember(0)
    sent = [mechanism.renew(remembered) for _ in range(1000)]
    assert len(set(sent)) == 1000  # two alike: a chance of less than 1e-12
    agreeing = sum(64 - (payload ^ remembered).bit_count() for payload in sent)
    # p = 0.6225: 64,000 bits agree 39,837 times, give or take 123
    assert abs(agreeing - 64_000 * float(mechanism.fresh.p)) < 5 * 123


def test_every_bit_of_a_wide_bitmap_follows_its_chance() -> None:
    """256 bits, 4,000 reports: all counts together raise a false alarm once in a million runs.

    A bit that is flipped as often as not, instead of 46.9% of the time, is off by 7.9 standard deviations.
    """
    mechanism = BitwiseResponse(Epsilon.of(32.0), 256)
    assert mechanism.shape == Bitmap(256)
    assert mechanism.shape.wide
    value = int.from_bytes(bytes(range(100, 132)), "little")
    flipped = [mechanism.randomize(value) ^ value for _ in range(4000)]
    for bit in range(256):
        count = sum(payload >> bit & 1 for payload in flipped)
        assert stats.binomtest(count, 4000, float(mechanism.q)).pvalue > 1e-6 / 256


def test_memories_of_other_flags_are_refused() -> None:
    """What is remembered has as many flags as what is sent."""
    with pytest.raises(ValueError, match="2 remembered flags are not 3"):
        MemoizedBitwise(BitwiseResponse(Epsilon.of(1.0), 2), BitwiseResponse(Epsilon.of(1.0), 3))


@dataclass(frozen=True, slots=True)
class Silent(BitwiseResponse):
    """One that does not say by how many bits two of its payloads are the same."""

    looked: ClassVar[list[int]] = []

    @property
    def collision(self) -> float:
        """As of any mechanism."""
        found: float = Mechanism.collision.fget(self)  # type: ignore[attr-defined]
        return found

    def probability(self, payload: int, value: int) -> Fraction:
        """Noted, and as it is."""
        self.looked.append(payload)
        return flipped_chance(self.flips, WORD, self.flags, (payload ^ value).bit_count())


@pytest.mark.parametrize(("flags", "walked"), [(3, 64), (6, 4096), (7, 0), (48, 0)])
def test_a_channel_that_says_nothing_of_itself_is_walked_as_long_as_it_is_small(flags: int, walked: int) -> None:
    """Then a collision's bits are exact; of a larger one they are those of a payload, no fewer than they are."""
    silent = Silent(Epsilon.of(1), flags)
    silent.looked.clear()
    told, known = silent.collision, BitwiseResponse(Epsilon.of(1), flags).collision
    assert len(silent.looked) == walked
    assert told == (pytest.approx(known) if walked else flags)
    assert told >= known * (1 - 1e-9)
