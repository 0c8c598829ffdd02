"""Answers of texts: a word's row is the same whatever else is told."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.kinds import Text
from deniable_aggregator.analysis.comparison import against, compared
from deniable_aggregator.analysis.weighting import weighted
from deniable_aggregator.answers import CANDIDATES, SHARES, Keys, RowId, answer, truth
from deniable_aggregator.answers.text import FOUND, LONG
from deniable_aggregator.planning.simulate import simulate
from support.asked import asked

METRIC = asked("text", "epsilon = 4")
COUNTERS = simulate(METRIC, ["hello"] * 12_000 + ["other"] * 8_000, np.random.default_rng(1))
TURNED = simulate(METRIC, ["hello"] * 4_000 + ["other"] * 16_000, np.random.default_rng(2))


def sharing(word: str) -> list[str]:
    """Words that nobody has, with a cell in which this one is, too."""
    assert isinstance(METRIC.kind, Text)
    code = METRIC.kind.imprint(word)
    assert code is not None
    found = []
    for number in range(1_500):
        own = METRIC.kind.imprint(f"w{number:x}")
        if own and any(one == other for one, other in zip(own.cells, code.cells, strict=True)):
            found.append(f"w{number:x}")
    return found


WORDS = sharing("hello")


def test_the_most_frequent_word_comes_first() -> None:
    """Of what is found in an answer, whichever it is."""
    assert [[row.key for row in answer(METRIC, own).series[0].rows] for own in (COUNTERS, TURNED)] == [
        ["hello", "other"],
        ["other", "hello"],
    ]


@pytest.mark.parametrize("only", [(), (CANDIDATES,), ("too long",)], ids=["all", "candidates", "too long"])
def test_a_frequent_words_reports_are_not_taken_for_those_of_a_word_that_nobody_has(only: tuple[str, ...]) -> None:
    """They share a cell in 16: a sixteenth of 60% of the devices, if that were not known; whatever is told."""
    assert len(WORDS) > 2
    told = answer(METRIC, COUNTERS, 1 - 1e-7, more=[RowId(CANDIDATES, word) for word in WORDS], only=only)
    rows = [row for where, row in zip(told.ids, told.rows, strict=True) if where.series == CANDIDATES]
    assert [row.key for row in rows] == WORDS
    assert all(row.low == 0 and row.high < 0.025 for row in rows)


@pytest.mark.parametrize("keys", [{CANDIDATES: WORDS}, {SHARES: ["other"], CANDIDATES: WORDS}])
def test_words_of_another_answer_are_told_without_what_frequent_ones_add(keys: Keys) -> None:
    """As in each epoch of a trend, where nobody looks for words: those that are frequent are known all the same."""
    told = answer(METRIC, COUNTERS, 1 - 1e-7, keys=keys)
    whole = answer(METRIC, COUNTERS, 1 - 1e-7, more=[RowId(CANDIDATES, word) for word in keys[CANDIDATES]])
    assert [row.key for row in told.series[0].rows] == list(keys.get(SHARES, ()))
    for where, row in zip(told.ids, told.rows, strict=True):
        assert row.value == pytest.approx(whole.row(where).value, abs=1e-4)
        assert row.std_error == whole.row(where).std_error


def test_words_of_two_answers_are_put_side_by_side() -> None:
    """Of one answer another word is the most frequent than of the other: weighted and compared it is word by word."""
    found, _ = weighted(METRIC, [(0.5, [COUNTERS]), (0.5, [TURNED])], 1 - 1e-7)
    shares = {row.key: row for row in found.series[0].rows}
    for word, share in {"hello": 0.4, "other": 0.6}.items():
        assert shares[word].low < share < shares[word].high
    changes = compared(METRIC, [COUNTERS], [TURNED], 1 - 1e-7).by_id
    for word, change in {"hello": -0.4, "other": 0.4}.items():
        own = changes[RowId(SHARES, word)]
        assert own.low < change < own.high


def test_a_word_has_come_where_it_is_found_after_and_was_not_before() -> None:
    """That it is more frequent than it was is another question; what a baseline has was never looked for."""
    few = simulate(METRIC, ["hello"] * 20_000, np.random.default_rng(4))
    changes = compared(METRIC, [few], [COUNTERS]).by_id
    assert {where.key for where, own in changes.items() if own.came} == {"other"}
    assert not any(own.came for own in compared(METRIC, [COUNTERS], [few]).by_id.values())
    assert not any(own.came for own in against(METRIC, {RowId(SHARES, "other"): 0.1}, [COUNTERS]).by_id.values())


def test_words_that_are_found_in_any_stratum_are_weighted() -> None:
    """The first has too few reports for any."""
    few = simulate(METRIC, ["hello"] * 100, np.random.default_rng(3))
    found, _ = weighted(METRIC, [(0.1, [few]), (0.9, [TURNED])], 1 - 1e-7)
    shares = {row.key: row for row in found.series[0].rows}
    for word, share in {"hello": 0.1 + 0.9 * 0.2, "other": 0.9 * 0.8}.items():
        assert shares[word].low < share < shares[word].high


def test_devices_do_not_say_which_words_are_found() -> None:
    """So how many have one of them has no truth, and words have theirs."""
    known = truth(asked("text", "max_bytes = 8\nepsilon = 4"), ["rust", "python", "python", "x" * 20])
    assert known[RowId(CANDIDATES, "python")] == 0.5
    assert known[RowId(SHARES, "go")] == 0
    assert known[RowId(LONG, LONG)] == 0.25
    assert RowId(FOUND, "any found word") not in known
