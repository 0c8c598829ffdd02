"""The twins: given the client's words they say what the client says, and their draws follow the exact channels."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable import randomness
from deniable.epsilon import Epsilon
from deniable.mechanisms import (
    MECHANISMS,
    BitwiseResponse,
    Exponential,
    Gaussian,
    Mechanism,
    RandomizedResponse,
    SubsetSelection,
    VectorLaplace,
)
from deniable.mechanisms._entries import pack, unpack
from deniable.payload import Integers
from deniable.randomness import WORD
from deniable_aggregator.planning import twins
from mechanisms.registered import CASES
from privacy.channels import detuned
from privacy.sampling import Plan, design, plan, strays
from support.cases import Subject
from support.counting import calls

ONE, TINY = Epsilon.of(1), Fraction(1, 10**6)
SUBJECTS = [subject for cases in CASES.values() for subject in cases.scripted]
"""Of vectors one entry: a twin draws the first word of every entry before the second of any."""


def numbers(payloads: NDArray[Any]) -> list[int]:
    """The payloads as the client has them."""
    if payloads.ndim == 1:
        return [int(payload) for payload in payloads]
    return [int.from_bytes(row.tobytes(), "little") for row in payloads]


def drawn(mechanism: Mechanism, value: int, count: int) -> list[int]:
    """So many draws of the twin."""
    rows = np.repeat(twins.inputs(mechanism, [value]), count, axis=0)
    return numbers(twins.draw(mechanism, rows, np.random.default_rng(count)))


class Scripted:
    """A generator that gives the words of a script, and numbers below a limit as the client makes them of words."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = iter(words)

    def integers(self, low: int, high: int | None = None, *, size: int, dtype: type = np.int64) -> NDArray[Any]:
        """Whole numbers below the upper bound."""
        limit = low if high is None else high
        fair = (word for word in self._words if word < WORD - WORD % limit)
        return np.array([next(fair) % limit for _ in range(size)], dtype=dtype)


def client(mechanism: Mechanism, value: int, words: Sequence[int]) -> int:
    """What the client says, given the words."""
    randomness._buffer[:] = list(words)[::-1]
    try:
        return mechanism.randomize(value)
    finally:
        randomness._buffer.clear()


def edges(mechanism: Mechanism) -> list[int]:
    """Words next to the thresholds of 64 bits and to the upper parts of larger ones, but for ties with those."""
    thresholds = [number for number in mechanism.parameters().values() if number > 1 << 32]
    ties = {number >> 192 for number in thresholds if number > WORD}
    exact = {number for number in thresholds if number <= WORD}
    near = {each + off for each in {1, WORD - 1} | ties | exact for off in (-1, 0, 1)}
    return sorted(word for word in near - ties if 0 <= word < WORD)


def script(subject: Subject, random: Random, length: int) -> list[int]:
    """Random words, some of them next to thresholds."""
    near = edges(subject.mechanism)
    return [random.choice(near) if random.random() < 0.3 else random.getrandbits(64) for _ in range(length)]


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_given_the_same_words_a_twin_says_what_the_client_says(subject: Subject) -> None:
    """300 scripts, random and next to every threshold: the same words make the same payload."""
    random = Random(5)
    mechanism = subject.mechanism
    for value in subject.inputs:
        rows = twins.inputs(mechanism, [value])
        for _ in range(300 // len(subject.inputs)):
            words = script(subject, random, 400)
            theirs: Any = Scripted(words)
            # Where the client takes 128 bits, the twin looks at the upper 64; the lower ones decide a tie only.
            taken = [each for word in words for each in (word, WORD - 1)] if doubled(mechanism) else words
            assert numbers(twins.draw(mechanism, rows, theirs)) == [client(mechanism, value, taken)]


def doubled(mechanism: Mechanism) -> bool:
    """Whether every draw of the client is of two words."""
    return isinstance(mechanism, Exponential | Gaussian)


@pytest.mark.parametrize("size", [2, 13])
def test_a_threshold_itself_is_not_below_it(size: int) -> None:
    """The word that equals a threshold of 64 bits does on both sides what a larger word does."""
    mechanism = SubsetSelection(ONE, 48, size)
    for word, named in ((mechanism.inside - 1, True), (mechanism.inside, False)):
        theirs: Any = Scripted([word, *range(5, 60)])
        (twin,) = numbers(twins.draw(mechanism, np.array([20]), theirs))
        assert twin >> 20 & 1 == named
        assert twin.bit_count() == size
    response = RandomizedResponse(ONE, 2)
    for word in (response.lies - 1, response.lies):
        theirs = Scripted([word])
        assert numbers(twins.draw(response, np.array([1]), theirs)) == [client(response, 1, [word])]


FITTED = [subject for cases in CASES.values() if not cases.proved for subject in cases.fitted]
ENTRIES: list[tuple[Any, int]] = [
    (subject.mechanism, unpack(value, 1)[0])
    for cases in CASES.values() if cases.proved for subject in cases.fitted for value in subject.inputs
]  # fmt: skip
"""Of mechanisms whose inputs are not listed: vectors of one entry."""
ALARM = 1e-6 / (len(FITTED) + len(ENTRIES))
"""Each fit's share of one false alarm in a million runs. A twin whose epsilon is 5% off passes as seldom."""
FAR = 400
"""Beyond the noise that entries have in any sample here: the chance is below 10^-9 in a million draws."""


@pytest.mark.parametrize("subject", FITTED, ids=str)
def test_draws_follow_the_exact_channel(subject: Subject) -> None:
    """Chi-square goodness of fit, with as many draws as show an epsilon that is 5% off."""
    test = plan(subject.mechanism, subject.inputs, ALARM)
    assert not strays(test, [drawn(subject.mechanism, value, test.reports) for value in subject.inputs])


@pytest.mark.parametrize("subject", FITTED, ids=str)
def test_a_twin_of_another_epsilon_is_noticed(subject: Subject) -> None:
    """The draws of a mechanism whose epsilon is 5% larger are rejected by the same test."""
    test = plan(subject.mechanism, subject.inputs, ALARM)
    wrong = detuned(subject.mechanism)
    assert strays(test, [drawn(wrong, value, test.reports) for value in subject.inputs])


@pytest.mark.parametrize(("mechanism", "entry"), ENTRIES, ids=lambda each: getattr(each, "name", ""))
def test_entries_follow_the_exact_noise(mechanism: Mechanism, entry: int) -> None:
    """The same for the noise of one entry, or the codewords that it names; noise of a wrong epsilon is rejected."""
    test = planned(mechanism, pack([entry]))
    assert not strays(test, [drawn(mechanism, pack([entry]), test.reports)])
    assert strays(test, [drawn(detuned(mechanism), pack([entry]), test.reports)])


def planned(mechanism: Mechanism, value: int) -> Plan:
    """The test of what is sent of one entry: of all payloads, or of noise as far as it goes in a million draws."""
    (entry,), sent = twins.inputs(mechanism, [value])[0].tolist(), []
    if isinstance(mechanism.shape, Integers):
        most = mechanism.shape.bound
        sent = [pack([each]) for each in range(max(entry - FAR, -most), min(entry + FAR, most) + 1)]
    sent = sent or list(mechanism.payloads())
    right, wrong = (
        [float(each.probability(payload, value)) for payload in sent] for each in (mechanism, detuned(mechanism))
    )
    return design(sent, [right], [wrong], ALARM)


@pytest.mark.parametrize(
    "mechanism", [VectorLaplace(ONE, 3, 12), Gaussian(ONE, TINY, 3, 9)], ids=lambda each: each.name
)
def test_every_entry_of_every_device_has_noise_of_its_own(mechanism: VectorLaplace | Gaussian) -> None:
    """Entries are not correlated with each other, nor with the next device's: 10^5 draws, within 5.5 / sqrt(10^5).

    A false alarm takes chance once in 2 million runs; noise that is shared is correlated altogether.
    """
    value = pack([1, -2, 3])
    rows = np.repeat(twins.inputs(mechanism, [value]), 100_000, axis=0)
    sent = twins.draw(mechanism, rows, np.random.default_rng(3)).view("<i4")
    inner, gap = mechanism.shape.bound - 2, mechanism.shape.gap
    noise = sent + gap * ((sent > inner).astype(int) - (sent < -inner)) - rows
    among = np.corrcoef(np.hstack([noise[:-1], noise[1:]]).T)
    assert (abs(among - np.eye(6)) < 5.5 / np.sqrt(len(rows))).all()
    assert noise.var() == pytest.approx(mechanism.variance, rel=0.05)


def bits(mechanism: Mechanism, value: int, count: int) -> NDArray[np.float64]:
    """Draws of wide bitmaps, a column a bit."""
    rows = np.repeat(twins.inputs(mechanism, [value]), count, axis=0)
    packed = twins.draw(mechanism, rows, np.random.default_rng(8))
    return np.unpackbits(packed, axis=1, count=mechanism.shape.size, bitorder="little").astype(np.float64)


def test_wide_subsets_treat_all_other_answers_alike() -> None:
    """Of 70 bits always `size` are set; own, other and pairs of bits are as frequent as uniform subsets make them.

    200,000 draws; each of 2,500 frequencies may lie 6.5 standard deviations off: a false alarm in 5 million runs.
    """
    mechanism = SubsetSelection(ONE, 70, 9)
    own, count = 66, 200_000
    seen = bits(mechanism, own, count)
    assert set(seen.sum(axis=1).tolist()) == {9}
    pairs = seen.T @ seen / count
    p = float(mechanism.p)
    others = [
        p * comb(67, 6) / comb(69, 8) + (1 - p) * comb(67, 7) / comb(69, 9),
        p * 8 / 69,
    ]  # two others; own and one
    expected = np.full((70, 70), others[0])
    expected[own], expected[:, own] = others[1], others[1]
    np.fill_diagonal(expected, float(mechanism.q))
    expected[own, own] = p
    assert (abs(pairs - expected) < 6.5 * np.sqrt(expected * (1 - expected) / count)).all()


def test_wide_flags_are_flipped_each_for_itself() -> None:
    """Of 70 flags each is flipped as often as it should, and any two as often as independent ones.

    200,000 draws; 2,500 frequencies within 6.5 standard deviations: a false alarm in 5 million runs.
    """
    mechanism = BitwiseResponse(Epsilon.of(30), 70)
    value, count = (1 << 70) - 1 << 3 & (1 << 70) - 1, 200_000
    truth = np.array([value >> place & 1 for place in range(70)])
    flipped = abs(bits(mechanism, value, count) - truth)
    pairs = flipped.T @ flipped / count
    q = float(mechanism.q)
    expected = np.full((70, 70), q * q)
    np.fill_diagonal(expected, q)
    assert (abs(pairs - expected) < 6.5 * np.sqrt(expected * (1 - expected) / count)).all()


def test_twins_draw_arrays() -> None:
    """A million draws take a few steps more than a thousand, for what is drawn in parts: no step for each."""
    for mechanism in (RandomizedResponse(ONE, 2), SubsetSelection.best(ONE, 48)):

        def steps(devices: int, mechanism: Mechanism = mechanism) -> int:
            inputs = np.zeros(devices, dtype=np.int64)
            return calls(lambda: twins.draw(mechanism, inputs, np.random.default_rng(1)))

        assert steps(10**6) < steps(1000) + 10**4


def test_every_registered_mechanism_has_a_twin_that_is_held_against_it() -> None:
    """No mechanism is simulated by anything that is not tested here."""
    fitted = {subject.mechanism.name for subject in FITTED} | {mechanism.name for mechanism, _ in ENTRIES}
    assert fitted == set(MECHANISMS) == set(twins.ROOMS)
    apart = {name for name, cases in CASES.items() if cases.apart}
    assert {subject.mechanism.name for subject in SUBJECTS} == fitted - apart
