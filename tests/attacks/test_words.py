"""Words that somebody makes up to do harm: what is shown of them, what they cost, and what fakes do with them."""

from __future__ import annotations

import csv
import io
import tracemalloc

import numpy as np
import pytest

from deniable import Report
from deniable.kinds import Text
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.answers import CANDIDATES, RowId, answer, effort, word_key
from deniable_aggregator.answers.text import LONG, read
from deniable_aggregator.estimators import _decoding, _words
from deniable_aggregator.planning.audit import audit
from deniable_aggregator.planning.leverage import gain
from deniable_aggregator.planning.simulate import simulate
from support.asked import asked
from support.counting import looked_at

HOSTILE = {
    "HTML": "<script>alert(1)</script>",
    "a link": '"><img src=x onerror=alert(1)>',
    "a terminal's commands": "\x1b]0;owned\x07\x1b[2J",
    "right to left": "\u202egnp.exe\u2066",
    "no width": "pass\u200bword\ufeff",
    "half a character": "a\ud800b",
    "lines": "one\r\ntwo\u2028three",
    "nothing": "\x00\x7f\x85",
    "a formula": "=HYPERLINK(1)",
    "an escape": "\\u{41}",
    "beyond Unicode": "\U000e0041\U0010ffff",
}
UNSAFE = {*map(chr, range(32)), *map(chr, range(127, 160)), *"\u200b\u200e\u200f\u2028\u2029\ufeff\ud800",
          *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}  # fmt: skip


@pytest.mark.parametrize("given", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_key_has_nothing_that_moves_or_hides(given: str) -> None:
    """What devices say is text that is printable, and can be read back: as what is asked for, too."""
    metric = asked("text", "epsilon = 4\nmax_bytes = 64")
    word = metric.kind.check(given)
    key = word_key(word)
    assert key.isprintable()
    assert not UNSAFE & set(key)
    assert read(key) == word
    assert isinstance(metric.kind, Text)
    counters = simulate(metric, [word] * 400, np.random.default_rng(1))
    long, asked_for = answer(metric, counters, more=[RowId(CANDIDATES, key)], only=(LONG, CANDIDATES)).rows
    assert (asked_for if metric.kind.imprint(word) else long).value > 0.9


@pytest.mark.parametrize(
    "given", ["=1+1", "=cmd|' /C calc'!A0", "+cmd|x!A0", "-2+SUM(A1)", "@SUM(1)", "\uff1d1+1", "="]
)
def test_no_key_is_a_formula(given: str) -> None:
    """A table that a spreadsheet opens runs nothing that devices have said; words can still be asked for."""
    word = asked("text", "epsilon = 4").kind.check(given)
    assert word_key(word)[0] == "\\"
    assert read(word_key(word)) == word


@pytest.mark.parametrize("given", ["@team/core", "-verbose", "+1", "a=b", "-", "c++"])
def test_names_stay_as_they_are(given: str) -> None:
    """Of words that begin with a sign, most are none."""
    assert word_key(given) == given


def test_hostile_words_are_found_and_told_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fleet of nothing else: rows come out as CSV that reads back, one line each. As all are frequent, they are
    found among the first paths of a search."""
    monkeypatch.setattr(_words, "MOST_WORK", 1 << 22)
    metric = asked("text", "epsilon = 4\nmax_bytes = 64")
    words = [metric.kind.check(given) for given in HOSTILE.values()]
    counters = simulate(metric, [word for word in words for _ in range(2_000)], np.random.default_rng(2))
    told = answer(metric, counters)
    found = {row.key for row in told.series[0].rows}
    fitting = [word for word in words if isinstance(metric.kind, Text) and metric.kind.imprint(word)]
    assert {word_key(word) for word in fitting} <= found
    assert len(fitting) >= 7
    lines = list(csv.DictReader(io.StringIO(told.to_csv())))
    assert [line["key"] for line in lines] == [row.key for row in told.rows]


def test_a_code_that_no_device_can_have_is_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fakes answer as if they had what is blank, or another form of a word: it is left out, in every form. The honest
    word beside it is told, before whatever chance may spell (one answer in twenty may have such a word); a blank one
    used to be an error instead of any answer. All three stand out, among the first paths of a search, which has few
    here."""
    own, judged = Text.is_word, set()

    def is_word(kind: Text, word: str) -> bool:
        judged.add(word)
        return own(kind, word)

    monkeypatch.setattr(Text, "is_word", is_word)
    monkeypatch.setattr(_words, "MOST_WORK", 1 << 22)
    metric = asked("text", "epsilon = 4")
    assert isinstance(metric.kind, Text)
    spelt = ["", " ", "a "]
    fakes = [
        Report(column.number, column.mechanism.randomize(metric.kind.place(each, level)))
        for each in spelt
        for level, column in enumerate(metric.columns)
        for _ in range(100)
    ]
    honest = simulate(metric, ["honest"] * 4_800, np.random.default_rng(3))
    counters = [one + more for one, more in zip(honest, accumulate(metric, fakes), strict=True)]
    keys = [row.key for row in answer(metric, counters).series[0].rows]
    assert keys[0] == "honest"
    assert judged >= {"honest", *spelt}
    assert not {*spelt, "a", "blank"} & set(keys)


def test_what_is_asked_for_is_not_kept_at_any_length() -> None:
    """Ten questions for a word of 100,000 letters and an emoji, of four bytes each in memory, leave less than one of
    them behind: 16,384 would have been remembered."""
    metric = asked("text", "epsilon = 2")
    counters = simulate(metric, ["word"] * 20, np.random.default_rng(4))
    answer(metric, counters, more=[RowId(CANDIDATES, "x")])
    tracemalloc.start()
    try:
        for number in range(10):
            (row,) = answer(metric, counters, more=[RowId(CANDIDATES, f"{number}{'y' * 100_000}\U0001f600")]).rows[2:]
            assert (row.low, row.high) == (0, 1)
        del row
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 400_000


def test_a_question_has_no_keys_of_any_length() -> None:
    """A thousand questions are remembered with what they ask for: 16,384 characters, and not a message."""
    Query(asked=(RowId(CANDIDATES, "y" * 200),) * 64)
    with pytest.raises(ValueError, match="16,384 characters"):
        Query(asked=(RowId(CANDIDATES, "y" * 16_384),))


@pytest.mark.parametrize(("reports", "share"), [(1, 0), (1, 1), (3, 1)])
def test_few_reports_exclude_neither_none_nor_all(reports: int, share: int) -> None:
    """At epsilon 0.5 three reports say nothing of a word: no interval ends beside the truth, as two in ten did by a
    part in 4,000, for what had been counted as too long."""
    metric = asked("text", "epsilon = 0.5")
    words = ["word"] * reports * share + ["other"] * reports * (1 - share)
    for seed in range(8):
        counters = simulate(metric, words, np.random.default_rng(seed))
        (row,) = answer(metric, counters, more=[RowId(CANDIDATES, "word")], only=(CANDIDATES,)).rows
        assert row.low <= share <= row.high


def test_a_megabyte_is_one_more_word_that_is_too_long() -> None:
    """Neither kept nor coded: what a device stores and takes does not grow with it."""
    metric = asked("text", "epsilon = 1")
    assert metric.kind.check("x" * 1_000_000) == metric.kind.check("\u0301" * 500_000)
    assert len(metric.kind.check("x" * 1_000_000)) <= 32


def test_one_fake_moves_a_word_no_farther_than_stated() -> None:
    """Whatever it sends, to whichever group: the share of a word is a count out of all reports."""
    metric = asked("text", "epsilon = 2")
    assert isinstance(metric.kind, Text)
    code = metric.kind.imprint("word")
    assert code is not None
    farthest = 0.0
    for place, column in list(enumerate(metric.columns))[::5]:
        for number in range(8):
            payload = column.mechanism.randomize(code.cells[place]) if number % 2 else number * 977
            counters = accumulate(metric, [Report(column.number, payload)])
            (row,) = answer(metric, counters, more=[RowId(CANDIDATES, "word")], only=(CANDIDATES,)).rows
            farthest = max(farthest, row.value, 1 - row.value)
    assert farthest == pytest.approx(gain(metric).row, rel=1e-3)


def test_counters_that_are_made_up_do_not_stop_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """All reports of a group are the same, so that thousands of cells stand out: the paths that are looked at have a
    bound, and so has their memory. The bound of all of them is a quarter here: each frame takes its own memory, and
    the last of those that are looked at as much as any."""
    work = _decoding.MOST_WORK // 4
    monkeypatch.setattr(_words, "MOST_WORK", work)
    paths = looked_at(monkeypatch)
    metric = asked("text", "epsilon = 2")
    counters = [np.zeros(column.shape.counters, np.int64) for column in metric.columns]
    for place, own in enumerate(counters):
        own[place * 997 % len(own)] = 100_000
    tracemalloc.start()
    try:
        found = answer(metric, counters)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found.rows) <= 501
    assert most < 512 << 20
    assert work <= sum(paths) < work + max(paths)


def test_counters_that_are_made_up_make_no_answer_dearer_than_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody looks for words, as at each level of a window and in each epoch of a trend, frequent ones are
    looked for among a bounded number of paths, of which the price has as many counters. It was nine times that."""
    paths = looked_at(monkeypatch)
    metric = asked("text", "epsilon = 2")
    counters = [np.zeros(column.shape.counters, np.int64) for column in metric.columns]
    for place, own in enumerate(counters):
        own[place * 997 % len(own)] = 100_000
    answer(metric, counters, only=(CANDIDATES,))
    assert 1_000_000 < sum(paths) < 3 << 20
    assert effort(metric) > sum(paths)


def test_an_audit_of_words_finds_no_more_than_is_claimed() -> None:
    """20,000 reports of each of two words, whatever their group: an attacker measures no more than epsilon (else by
    chance less than once in a million times), and most of it: 1.6, with an error of 0.05. That 15 in 100 too much is
    caught is shown of the mechanism by itself, which is that of every group: its cases are audited in
    `tests/planning/test_audit.py`."""
    (honest,) = audit(asked("text", "epsilon = 2"), 20_000)
    assert honest.holds
    assert honest.measured > 1.2
