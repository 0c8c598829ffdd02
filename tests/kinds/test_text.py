"""A text: which words are one, how they are spelt and coded, and that what is too long is counted as such."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from deniable import InvalidValueError
from deniable.kinds import Text
from deniable.kinds._imprints import CELLS, FRAMES, GROUPS, SYMBOLS, Imprints, mixed, pieces
from deniable.kinds._spelling import _codes, read, spell
from deniable_aggregator.estimators._decoding import mixed as mixed_at_once
from support.asked import LINKABLE, asked, refused

WORDS = [
    "a",
    "the",
    "international",
    "Editor 2",
    "r\u00e9sum\u00e9",
    "\u65e5\u672c\u8a9e",
    "\u0627\u0644",
    "x-y_z/9",
    "\x1b[2J",
    "\U0001f600",
]


def kind(more: str = "") -> Text:
    """The kind of these lines."""
    found = asked("text", f"epsilon = 1\n{more}").kind
    assert isinstance(found, Text)
    return found


def test_every_spelling_is_read_again_and_all_together_fill_all_bits() -> None:
    """Whatever follows it; 2^-bits of the first bytes adds up to 1, and of inner ones each has 6 bits."""
    assert sum(Fraction(1, 2**code.length) for code in _codes().values()) == 1
    for word in WORDS:
        spelt = spell(word, 64)
        for more in (0, 0b1011):
            assert read(spelt.bits << 4 | more, spelt.length + 4) == (word, spelt.length)
        assert read(spelt.bits >> 1, spelt.length - 1) != (word, spelt.length)
    assert spell("e" * 40, 16) == spell("e" * 16, 64)  # as far as it is looked at


def test_common_words_have_few_bits() -> None:
    """Of a letter four or five, and three for the end: that decides how frequent a word must be to be found."""
    assert [spell(word, 64).length for word in ("the", "firefox", "international")] == [17, 42, 56]


@pytest.mark.parametrize(
    ("letters", "fit"),
    [
        ("straßenbahnhaltestellenverzeichnis", 25), ("0123456789012345678901", 15), ("ERRORCONNECTIONREFUSED", 12),
        ("достопримечательность", 9), ("ηλεκτρονικόταχυδρομείο", 7), ("الذكاءالاصطناعي", 7),
        ("中华人民共和国国务院", 5),
    ],
    ids=["small Latin", "digits", "capitals", "Cyrillic", "Greek", "Arabic", "Chinese"],
)  # fmt: skip
def test_how_many_letters_fit_is_as_the_page_says(letters: str, fit: int) -> None:
    """docs/words.md: about so many, then a word is too long."""
    found = kind("max_bytes = 64")
    assert found.imprint(letters[:fit]) is not None
    assert found.imprint(letters[: fit + 1]) is None


def test_blocks_and_words_are_one_to_one() -> None:
    """An imprint's block is read as its word and as no other; words that begin alike share no cells as a rule."""
    code = Imprints("metrics.one")
    rng = np.random.default_rng(1)
    for frame in FRAMES:
        assert sum(pieces(frame)) == frame
        assert len(pieces(frame)) == GROUPS
        for _ in range(50):
            block = int.from_bytes(rng.bytes(16), "big") >> 128 - frame
            found = code.word(frame, block)
            if found is not None:
                again = code.of(found[0])
                assert (again.frame, again.length) == (frame, found[1])
    same = [one == other for one, other in zip(code.of("a" * 20).cells, code.of("a" * 19 + "b").cells, strict=True)]
    assert sum(same) <= 1
    assert all(0 <= cell < CELLS for word in WORDS for cell in code.of(word).cells)


def test_cells_are_spread_evenly() -> None:
    """4,000 words that begin alike: pairs are in one cell as often as their pieces or their hashes are the same.

    Of a group whose symbol brings in b bits of the block so far that is a Poisson number of about pairs / 64 times
    2^-b + 1 / 256; six of its standard deviations are exceeded once in 10^8 times.
    """
    code = Imprints("metrics.one")
    own = [code.of(f"com.example.{number}") for number in range(4_000)]
    (frame,) = {each.frame for each in own if each.length <= each.frame and each.frame == own[-1].frame}
    cells = np.array([each.cells for each in own if each.frame == frame])
    assert len(np.unique(cells[:, 0] // SYMBOLS)) == 64
    pairs = len(cells) * (len(cells) - 1) / 2
    for group, bits in enumerate(np.cumsum(pieces(frame)).tolist()):
        counts = np.bincount(cells[:, group], minlength=CELLS)
        expected = pairs / 64 * (2.0**-bits + 1 / SYMBOLS)
        assert abs((counts * (counts - 1) // 2).sum() - expected) < 6 * expected**0.5


def test_hashes_are_the_same_one_at_a_time_and_all_at_once() -> None:
    """The aggregator looks for words with arrays, and devices have none."""
    numbers = np.random.default_rng(2).integers(0, 1 << 64, size=100, dtype=np.uint64)
    assert [mixed(number) for number in numbers.tolist()] == mixed_at_once(numbers).tolist()


def test_metrics_have_imprints_of_their_own() -> None:
    """Two words that share a cell in one metric do not in another."""
    assert Imprints("one").of("word").cells != Imprints("two").of("word").cells


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("  two \n\twords ", "two words"),
        ("e\u0301", "\u00e9"),
        ("Word", "Word"),
        ("\ud800x", "\ufffdx"),
        ("x" * 32, "x" * 32),
    ],
)
def test_texts_that_mean_the_same_are_one_word(given: str, word: str) -> None:
    """Blanks, the ways to write a character, and halves of characters."""
    own = kind()
    assert own.check(given) == word
    assert own.check(own.check(given)) == word


def test_capitals_are_one_word_where_that_is_asked() -> None:
    """Also where a capital becomes two letters, or letters are joined."""
    own = kind('normalize = "casefold"')
    assert [own.check(given) for given in ("STRASSE", "stra\u00dfe", "\ufb01X", "I\u0307")] == [
        "strasse",
        "strasse",
        "fix",
        "i\u0307",
    ]


@pytest.mark.parametrize("given", ["x" * 33, "\u65e5" * 11, "y" * 1_000_000, "q" * 20])
def test_too_long_words_have_one_cell(given: str) -> None:
    """By bytes or by bits; nothing of a long one is kept."""
    own = kind()
    kept = own.check(given)
    assert own.check(kept) == kept
    assert {own.place(kept, group) for group in range(GROUPS)} == {CELLS}
    assert len(kept) <= 32


def test_a_word_of_few_bits_is_too_long_by_its_bytes() -> None:
    """What stands for it has few bits as well, where few bytes are asked for."""
    own = kind("max_bytes = 4")
    assert {own.place(own.check("eeeee"), group) for group in range(GROUPS)} == {CELLS}
    assert CELLS not in {own.place(own.check("eeee"), group) for group in range(GROUPS)}


def test_a_capital_that_only_its_normal_form_shows_is_made_small() -> None:
    """A hooked upsilon is a capital once it is one of its normal form."""
    assert kind('normalize = "casefold"').check("\u03d2") == "\u03c5"


def test_what_is_no_word_is_refused() -> None:
    """Numbers, nothing, blanks."""
    for given in (3, None, "", " \n", b"x"):
        with pytest.raises(InvalidValueError, match="takes a text"):
            kind().check(given)


def test_what_is_read_of_any_bits_is_a_word_or_is_known_not_to_be() -> None:
    """Blanks, other ways to write a character, more bytes: decoding comes by all of them, and none is an error."""
    own = kind("max_bytes = 4")
    for text in ("", " ", "\t", "a  b", "e\u0301", "abcde", "\x1b", "ab"):
        assert own.is_word(text) == (text in {"\x1b", "ab"})


def test_what_the_file_can_not_say() -> None:
    """Another normal form, too many bytes, a memory."""
    assert refused("text", 'epsilon = 1\nnormalize = "nfd"') == [
        "one.normalize: unknown word 'nfd'; did you mean 'nfc'?"
    ]
    assert refused("text", "epsilon = 1\nmax_bytes = 65") == [
        "one.max_bytes: must be a whole number from 1 to 64, not 65"
    ]
    assert "has no second randomisation" in refused("text", "epsilon = 1\nmemoize = true")[0]
    assert asked("text", f"epsilon = 1\nmemoize = true\n{LINKABLE}").memoize


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "3", "4", "6", "8"])
def test_there_are_no_more_counters_than_2_to_the_20(epsilon: str) -> None:
    """At any epsilon, and the variance of a word's share is within 5% of the least there is up to epsilon 4."""
    metric = asked("text", f"epsilon = {epsilon}")
    assert len({column.mechanism for column in metric.columns}) == 1
    assert sum(column.shape.counters for column in metric.columns) <= 1 << 20
    e = float(metric.epsilon.exp)
    if float(epsilon) <= 4:
        assert float(metric.columns[0].mechanism.variance) < 1.05 * 4 * e / (e - 1) ** 2  # type: ignore[attr-defined]
