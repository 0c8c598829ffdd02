"""Randomness: the operating system's, each word once, and every sampler exact in its words.

Statistical tests here raise a false alarm once in a million runs; what each of them would notice, it says.
"""

from __future__ import annotations

import ast
import os
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtrc

import deniable
from deniable import randomness
from deniable.randomness import FINE, WORD, FineCoin, below, coin, shuffle, word
from support.waiting import PATIENCE

ALARM = 1e-6
SOURCE = Path(deniable.__file__).parent

Feed = Callable[..., None]


@pytest.fixture
def feed() -> Iterator[Feed]:
    """Makes these the next words; what is left of them must be nothing when the test ends."""

    def put(*words: int) -> None:
        randomness._buffer[:] = words[::-1]

    yield put
    left = list(randomness._buffer)
    randomness._buffer.clear()
    assert not left


def test_words_are_what_the_operating_system_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """The buffer is os.urandom's bytes, each eight of them used once."""
    given_: list[bytes] = []

    def recorded(size: int, real: Callable[[int], bytes] = os.urandom) -> bytes:
        given_.append(real(size))
        return given_[-1]

    randomness._buffer.clear()
    monkeypatch.setattr(os, "urandom", recorded)
    taken = [word() for _ in range(1200)]
    left = list(randomness._buffer)
    assert len(given_) == 3
    assert sorted(taken + left) == sorted(each for (each,) in struct.iter_unpack("<Q", b"".join(given_)))


FORKS = """
import os, sys
from deniable import randomness

def drawn(count):
    return b"".join(randomness.word().to_bytes(8, "little") for _ in range(count))

randomness.word()
for _ in range(100):
    assert len(randomness._buffer) > 64, "there has to be something that could be shared"
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, drawn(64))
        os._exit(0)
    own = drawn(4)
    os.close(writing)
    theirs = b""
    while part := os.read(reading, 4096):
        theirs += part
    os.close(reading)
    os.waitpid(child, 0)
    if len(randomness._buffer) < 128:
        randomness._buffer.clear()
        randomness.word()
    sys.stdout.buffer.write(own + theirs)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_shares_no_word() -> None:
    """In 100 forks, each with a full buffer, parent and children draw 6,800 words and none of them twice.

    A false alarm, two equal words of 64 bits by chance, has probability 1.3e-12.
    """
    run = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, check=True, timeout=PATIENCE)
    words = [each for (each,) in struct.iter_unpack("<Q", run.stdout)]
    assert len(words) == 100 * 68
    assert len(set(words)) == len(words)


def test_threads_never_get_the_same_word() -> None:
    """Eight threads that are switched as often as possible draw a million words, all different.

    Two equal words by chance: 3e-8.
    """
    drawn: list[list[int]] = [[] for _ in range(8)]
    start = threading.Barrier(8)

    def draw(own: list[int]) -> None:
        start.wait()
        own.extend(word() for _ in range(125_000))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=draw, args=(own,)) for own in drawn]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(set().union(*drawn)) == 1_000_000


@pytest.mark.parametrize("threshold", [1, 1 << 63, WORD - 1])
def test_a_coin_shows_heads_below_its_threshold(feed: Feed, threshold: int) -> None:
    """The words below the threshold are heads: threshold of 2^64."""
    feed(0, threshold - 1, threshold, WORD - 1)
    assert [coin(threshold) for _ in range(4)] == [True, True, False, False]


def test_certain_coins_are_certain(feed: Feed) -> None:
    """Threshold 0 never shows heads, 2^64 always."""
    feed(0, WORD - 1)
    assert not coin(0)
    assert coin(WORD)


UPPER, REST = 5 << 60, (7 << 128) + (9 << 64) + 11
THRESHOLD = (UPPER << 192) + REST


@pytest.mark.parametrize(
    ("words", "heads"),
    [
        ((0,), True),
        ((UPPER - 1,), True),
        ((UPPER + 1,), False),
        ((WORD - 1,), False),
        ((UPPER, 7, 9, 10), True),
        ((UPPER, 7, 9, 11), False),
        ((UPPER, 7, 8, WORD - 1), True),
        ((UPPER, 7, 10, 0), False),
        ((UPPER, 6, WORD - 1, WORD - 1), True),
        ((UPPER, 8, 0, 0), False),
    ],
)
def test_a_fine_coin_compares_all_256_bits(feed: Feed, words: tuple[int, ...], heads: bool) -> None:
    """One word decides unless it equals the threshold's upper quarter; then the other three are taken and do."""
    feed(*words)
    assert FineCoin(THRESHOLD).toss() is heads


@given(st.integers(0, FINE), st.integers(0, FINE - 1))
def test_a_fine_coin_is_one_comparison(threshold: int, drawn: int) -> None:
    """Whatever the threshold and the words, heads is what 256 random bits below the threshold are."""
    randomness._buffer[:] = [drawn >> shift & WORD - 1 for shift in (0, 64, 128, 192)]
    try:
        assert FineCoin(threshold).toss() is (drawn < threshold)
    finally:
        randomness._buffer.clear()


@given(st.fractions(0, 1))
def test_a_fine_coin_is_the_nearest_to_its_probability(probability: Fraction) -> None:
    """Half a threshold off at most."""
    assert abs(Fraction(FineCoin.of(probability).threshold, FINE) - probability) <= Fraction(1, 2 * FINE)


@pytest.mark.parametrize("threshold", [-1, FINE + 1])
def test_no_coin_is_more_than_certain(threshold: int) -> None:
    """Thresholds beyond either end are refused."""
    with pytest.raises(ValueError, match="between 0 and"):
        FineCoin(threshold)


@given(st.integers(1, WORD))
def test_below_is_exactly_uniform(limit: int) -> None:
    """Words are taken from the largest range that is a whole multiple of the limit; those beyond are drawn again."""
    fair = WORD // limit * limit
    beyond = [fair] * 3 if fair < WORD else []
    randomness._buffer[:] = [fair - 1, *beyond]
    try:
        assert below(limit) == limit - 1
        assert not randomness._buffer, "beyond the fair range nothing is taken"
    finally:
        randomness._buffer.clear()


@given(st.integers(WORD + 1, 1 << 300), st.data())
def test_below_is_exactly_uniform_beyond_a_word(limit: int, data: st.DataObject) -> None:
    """As many whole words as it takes make one number of the limit's length; it is taken if it is below the limit."""
    length = (limit - 1).bit_length()
    words = -(-length // 64)
    taken = data.draw(st.integers(0, limit - 1))
    beyond = data.draw(st.lists(st.integers(limit, (1 << length) - 1), max_size=2)) if limit < 1 << length else []
    randomness._buffer.clear()
    for number in [taken, *beyond]:
        aligned = number << 64 * words - length
        randomness._buffer += [aligned >> 64 * place & WORD - 1 for place in range(words)]
    try:
        assert below(limit) == taken
        assert not randomness._buffer
    finally:
        randomness._buffer.clear()


@pytest.mark.parametrize("limit", [2, 6, 10, 1000])
def test_below_is_uniform_in_fact(limit: int) -> None:
    """Chi-square over 200,000 draws; one value a tenth too frequent among 10 is noticed all but surely."""
    counts = Counter(below(limit) for _ in range(200_000))
    assert _chance(counts, dict.fromkeys(range(limit), 1 / limit)) > ALARM


def test_a_shuffle_makes_every_order_equally_often() -> None:
    """Chi-square over the 24 orders of four items in 60,000 shuffles.

    The naive shuffle, which swaps any two places, makes some orders 1.4 times too often: noticed all but surely.
    """
    counts: Counter[tuple[int, ...]] = Counter()
    for _ in range(60_000):
        items = [0, 1, 2, 3]
        shuffle(items)
        counts[tuple(items)] += 1
    assert _chance(counts, dict.fromkeys(permutations(range(4)), 1 / 24)) > ALARM


def test_nothing_in_the_package_uses_the_random_module() -> None:
    """No file imports `random` or `secrets`' relatives of it, under any name."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & {"random", "numpy"}, path


def _chance(counts: Counter[tuple[int, ...]] | Counter[int], expected: dict[Any, float]) -> float:
    """How likely a chi-square statistic this large is where the expectation is right."""
    assert counts.keys() <= expected.keys()
    total = sum(counts.values())
    statistic = sum((counts[each] - total * chance) ** 2 / (total * chance) for each, chance in expected.items())
    return float(chdtrc(len(expected) - 1, statistic))
