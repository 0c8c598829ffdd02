"""Collection files: what is wrong with one is said key by key, and one that means the same has the same digest."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import Budget, Collection, CollectionError, Report, UnknownMetricError
from deniable.collection import EPOCHS
from deniable.payload import Integer, Symbol

EDITOR = Path(__file__).resolve().parents[3] / "examples" / "editor.toml"

SMALL = """
[collection]
name = "small"
owner = "someone@example.org"
epoch = "1d"
[budget]
epoch = 1
[metrics.answer]
kind = "boolean"
description = "The answer is yes"
epsilon = 1
"""

LARGE = """
[collection]
name = "large"
epoch = "7d"
owner = "someone@example.org"

[budget]
epoch = 5.5
lifetime = 100.0

[segments]
platform = ["linux", "macos", "windows"]
channel = ["stable", "beta"]

[metrics.minutes]
kind = "number"
description = "Minutes in the foreground"
range = [-10, 480]
step = 0.5
unit = "minutes"
epsilon = 1.5
reduce = "sum"
mechanism = "laplace"

[metrics.browser]
kind = "category"
description = "The default browser"
values = ["chrome", "edge", "firefox"]
epsilon = "ln 3"
expires = 2030-12-31

[metrics.dark]
kind = "boolean"
description = "The dark theme is on"
epsilon = 2.0
"""


def problems(text: str) -> list[tuple[str, str]]:
    """What is wrong with a text: the key and the words."""
    with pytest.raises(CollectionError) as refusal:
        Collection.loads(text, "metrics.toml")
    for problem in refusal.value.problems:
        assert str(problem).startswith("metrics.toml: ")
        assert problem.where in str(problem)
        assert str(problem) in str(refusal.value)
    return [(problem.where, problem.what) for problem in refusal.value.problems]


def changed(old: str, new: str, text: str = LARGE) -> str:
    """The text with one thing changed."""
    assert text.count(old) == 1, f"{text.count(old)} times {old!r}"
    return text.replace(old, new)


# fmt: off
MINUTES = 'step = 0.5\nunit = "minutes"\nepsilon = 1.5'
FINE_MINUTES = 'step = 0.001\nunit = "minutes"\nepsilon = 0.0001'
MISTAKES = {  # where; the text that is replaced and what by; the key that is named; words of the complaint
    "": [
        ("[segments]", "[segmants]", "segmants", "unknown key; did you mean 'segments'?"),
        ("[budget]", "[budgit]", "budgit", "unknown key; did you mean 'budget'?"),
    ],
    "collection": [
        ("owner = ", "onwer = ", "onwer", "unknown key; did you mean 'owner'?"),
        ('owner = "someone@example.org"\n', "", "owner", "missing"),
        ('"large"', '"Large one"', "name", "a name is a-z, then a-z, 0-9 or _, at most 63 characters, not "),
        ('"7d"', '"7days"', "epoch", "unknown word '7days'; known: 1d, 1h, 7d"),
        ('"7d"', '"7D"', "epoch", "unknown word '7D'; did you mean '7d'?"),
        ('"7d"', "3600", "epoch", "unknown word 3600; known: 1d, 1h, 7d"),
    ],
    "budget": [
        ("lifetime = ", "lifetme = ", "lifetme", "unknown key; did you mean 'lifetime'?"),
        ("epoch = 5.5\n", "", "epoch", "missing; what the metrics spend in an epoch adds up to 4.598612288669"),
        ("epoch = 5.5", "epoch = 4.5", "epoch", "spend 4.598612288669 an epoch, more than the budget of 4.5"),
        ("epoch = 5.5", "epoch = 0", "epoch", "must be greater than 0, not 0"),
        ("epoch = 5.5", "epoch = inf", "epoch", "must be finite, not Infinity"),
        ("lifetime = 100.0", "lifetime = -1", "lifetime", "must be greater than 0, not -1"),
        ("lifetime = 100.0", 'lifetime = "long"', "lifetime", "must be a number, not 'long'"),
    ],
    "segments": [
        ('"stable", "beta"', '"beta", "beta"', "channel", "has 'beta' twice"),
        ('["stable", "beta"]', '["beta"]', "channel", "must be a list of 2 to 256 texts, not 1 of them"),
        ("platform = ", "Platform = ", "Platform", "a name is a-z, then a-z, 0-9 or _"),
    ],
    "metrics": [
        ("[metrics.dark]", "[metrics.dark-mode]", "dark-mode", "a name is a-z, then a-z, 0-9 or _"),
        ("[metrics.dark]", "[metrics.Dark]", "Dark", "a name is a-z, then a-z, 0-9 or _"),
        ("[metrics.dark]", f"[metrics.{'d' * 64}]", "d" * 64, "at most 63 characters"),
        ("[metrics.dark]", "[metrics]\nlight = 3\n[metrics.dark]", "light", "must be a table, not 3"),
    ],
    "metrics.dark": [
        ('description = "The dark theme is on"\n', "", "description", "missing"),
        ("The dark theme is on", "", "description", "must be a text that is not empty, not ''"),
        ("The dark theme is on", "  ", "description", "must be a text that is not empty"),
        ('"The dark theme is on"', "7", "description", "must be a text that is not empty, not 7"),
        ('kind = "boolean"\n', "", "kind", "missing"),
        ('"boolean"', '"bolean"', "kind", "unknown word 'bolean'; did you mean 'boolean'?"),
        ('"boolean"', '"BOOLEAN"', "kind", "unknown word 'BOOLEAN'; did you mean 'boolean'?"),
        ('"boolean"', '"xyz"', "kind", "unknown word 'xyz'; known: boolean, category"),
        ('"boolean"', "3", "kind", "unknown word 3; known: boolean, category"),
        ("epsilon = 2.0", "epsilom = 2.0", "epsilom", "unknown key; did you mean 'epsilon'?"),
        ("epsilon = 2.0", "", "epsilon", "missing"),
        ("epsilon = 2.0", "epsilon = 0", "epsilon", "must be greater than 0, not 0"),
        ("epsilon = 2.0", "epsilon = -0.5", "epsilon", "must be greater than 0, not -0.5"),
        ("epsilon = 2.0", "epsilon = nan", "epsilon", "must be finite, not NaN"),
        ("epsilon = 2.0", "epsilon = inf", "epsilon", "must be finite, not Infinity"),
        ("epsilon = 2.0", "epsilon = 33", "epsilon", "must be at most 32, not 33"),
        ("epsilon = 2.0", "epsilon = 1e-20", "epsilon", "must be at least 1e-06, not 1e-20"),
        ("epsilon = 2.0", "epsilon = 1e400", "epsilon", "must lie between 1e-300 and 1e300"),
        ("epsilon = 2.0", "epsilon = 1e999999999", "epsilon", "must lie between 1e-300 and 1e300"),
        ("epsilon = 2.0", "epsilon = true", "epsilon", "must be a number, or a logarithm"),
        ("epsilon = 2.0", 'epsilon = "log 3"', "epsilon", "a logarithm such as \"ln 3\", not 'log 3'"),
        ("epsilon = 2.0", 'epsilon = "ln 3/0"', "epsilon", "not 'ln 3/0'"),
        ("epsilon = 2.0", "epsilon = 2.0\nmemoize = 1", "memoize", "must be true or false, not 1"),
    ],
    "metrics.browser": [
        ('epsilon = "ln 3"', 'epsilon = "ln 3"\nstep = 1', "step", "unknown key; known: description, epsilon"),
        ('values = ["chrome", "edge", "firefox"]\n', "", "values", "missing"),
        ('"edge", "firefox"', '"firefox", "firefox"', "values", "has 'firefox' twice"),
        ('["chrome", "edge", "firefox"]', '["chrome"]', "values", "a list of 2 to 65536 texts, not 1 of them"),
        ('["chrome", "edge", "firefox"]', '"chrome"', "values", "a list of 2 to 65536 texts, not 'chrome'"),
        ('"edge", "firefox"', '"edge", 3', "values", "must be a text that is not empty, not 3"),
        ("2030-12-31", '"2030-12-31"', "expires", "must be a date such as 2027-12-31, without quotes"),
        ("2030-12-31", "2030-12-31T00:00:00Z", "expires", "must be a date such as 2027-12-31"),
    ],
    "metrics.minutes": [
        ("unit = ", "unti = ", "unti", "unknown key; did you mean 'unit'?"),
        ("range = [-10, 480]\n", "", "range", "missing"),
        ("[-10, 480]", "[480, -10]", "range", "must go up: 480 is not below -10"),
        ("[-10, 480]", "[3, 3]", "range", "must go up: 3 is not below 3"),
        ("[-10, 480]", "[480]", "range", "must be a list of two numbers such as [0, 480], not [480]"),
        ("[-10, 480]", "[0, inf]", "range", "must be finite, not Infinity"),
        ("[-10, 480]", "[0, 1e400]", "range", "must lie between 1e-300 and 1e300"),
        ("[-10, 480]", '["0", "9"]', "range", "must be a number, not '0'"),
        ("step = 0.5", "step = 0.3", "step", "a step of 0.3 does not divide the range from -10 to 480"),
        ("step = 0.5", "step = 0", "step", "a step must be greater than 0, not 0"),
        ("step = 0.5", 'step = "0.5"', "step", "must be a number, not '0.5'"),
        ("step = 0.5", "step = 0.0001", "step", "has 4900000 steps; at most 1048576 are possible"),
        (MINUTES, FINE_MINUTES, "", "noise over 490000 steps at epsilon 0.0001 does not fit 32 bits"),
        ('"sum"', '"summ"', "reduce", "unknown word 'summ'; did you mean 'sum'?"),
        ('"sum"', '"any"', "reduce", "unknown word 'any'; known: last, max, mean, min, sample, sum"),
        ('"laplace"', '"laplce"', "mechanism", "unknown word 'laplce'; did you mean 'laplace'?"),
    ],
}
# fmt: on


@pytest.mark.parametrize(
    ("table", "old", "new", "key", "what"),
    [(table, *mistake) for table, mistakes in MISTAKES.items() for mistake in mistakes],
)
def test_a_mistake_is_named_with_its_key_and_what_would_be_right(
    table: str, old: str, new: str, key: str, what: str
) -> None:
    """The error says the file, the metric and the key, what is wrong, and the nearest right spelling."""
    Collection.loads(LARGE)
    where = ".".join(filter(None, (table, key)))
    assert [found for found in problems(changed(old, new)) if found[0] == where and what in found[1]]


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("epsilon = 2.0", "epsilon = 0", "metrics.dark.epsilon"),
        ('"edge", "firefox"', '"firefox", "firefox"', "metrics.browser.values"),
        ("[-10, 480]", "[480, -10]", "metrics.minutes.range"),
        ('"boolean"', '"bolean"', "metrics.dark.kind"),
        ("epoch = 5.5", "epoch = 4.5", "budget.epoch"),
    ],
)
def test_one_mistake_is_one_problem(old: str, new: str, where: str) -> None:
    """Nothing else is complained of because of it."""
    assert [found for found, _ in problems(changed(old, new))] == [where]


def test_all_mistakes_are_reported_at_once() -> None:
    """Somebody who mends a file runs it once."""
    text = LARGE
    for old, new in (
        ("owner = ", "onwer = "),
        ('"edge", "firefox"', '"firefox", "firefox"'),
        ("epsilon = 2.0", "epsilon = nan"),
        ("[-10, 480]", "[480, -10]"),
        ("lifetime = 100.0", "lifetime = -1"),
    ):
        text = changed(old, new, text)
    assert {where for where, _ in problems(text)} == {
        "collection.onwer",
        "collection.owner",
        "metrics.browser.values",
        "metrics.dark.epsilon",
        "metrics.minutes.range",
        "budget.lifetime",
    }


@pytest.mark.parametrize("text", ["", "[collection]\n", 'title = "x"\n'])
def test_an_empty_file_is_told_what_it_lacks(text: str) -> None:
    """The header's keys, a budget and at least one metric."""
    found = dict(problems(text))
    assert found.keys() >= {"collection.name", "collection.owner", "collection.epoch", "budget.epoch", "metrics"}
    assert "at least one question: add [metrics.NAME]" in found["metrics"]


def test_too_many_segments_are_refused() -> None:
    """256 combinations keep devices many in each; 360 do not."""
    twenty = ", ".join(f'"v{number}"' for number in range(20))
    text = changed("[segments]", f'[segments]\nx = [{twenty}]\ny = ["a", "b", "c"]')
    assert ("segments", "makes 360 combinations; at most 256 keep devices many in each") in problems(text)
    allowed = ", ".join(f'"v{number}"' for number in range(256))
    text = f"{SMALL}[segments]\nx = [{allowed}]"
    assert Collection.loads(text).segment_count == 256


def test_a_great_many_values_with_one_twice_are_refused_at_once() -> None:
    """The error names the value; to compare all pairs would take half a minute."""
    values = [f"v{number}" for number in range((1 << 16) - 1)]
    text = changed('["chrome", "edge", "firefox"]', json.dumps([*values, values[-1]]))
    assert problems(text) == [("metrics.browser.values", "has 'v65534' twice")]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('[collection\nname = "x"', 1, 12),
        ('[collection]\nname = "x', 2, 10),
        ("[collection]\nname x", 2, 6),
        ("[collection]\nname = 1\nname = 2", 3, 9),
        ("[a]\n[a]", 2, 3),
        ('[collection]\nname = "a"\n\n\n  epoch = [1, 2', 5, 16),
        ("x = '''\nabc", 2, 4),
    ],
)
def test_what_is_no_toml_is_told_with_line_and_column(text: str, line: int, column: int) -> None:
    """As editors count them, from 1; where the file just ends, its end."""
    [(where, what)] = problems(text)
    assert where == ""
    assert what.startswith("not TOML: ")
    assert what.endswith(f"(at line {line}, column {column})")


@pytest.mark.parametrize("text", [f"x = {'9' * 5000}", f"x = {'[' * 20_000}"], ids=["digits", "brackets"])
def test_what_the_parser_gives_up_on_is_a_collection_error_too(text: str) -> None:
    """Integers of thousands of digits and thousands of open brackets raise other errors in the standard library."""
    [(where, what)] = problems(text)
    assert where == ""
    assert what.startswith("can not be read: ")


def test_a_file_that_can_not_be_read_is_told_by_name(tmp_path: Path) -> None:
    """Missing, a directory, or not UTF-8."""
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'name = "\xff"')
    for path in (tmp_path / "missing.toml", tmp_path, binary):
        with pytest.raises(CollectionError, match=f"^{re.escape(str(path))}: can not be read: "):
            Collection.load(path)


def test_a_problem_without_a_file_is_one_of_the_text() -> None:
    """`loads` calls it <text> unless it is told better."""
    with pytest.raises(CollectionError, match=r"^<text>: collection\.name: missing"):
        Collection.loads("")


def test_everything_in_the_file_is_in_the_collection() -> None:
    """Names, numbers, words and dates, as what they are."""
    large = Collection.loads(LARGE)
    assert (large.name, large.owner, large.epoch_seconds) == ("large", "someone@example.org", 7 * 86400)
    assert large.budget == Budget(Fraction(11, 2), Fraction(100))
    assert dict(large.segments) == {"channel": ("stable", "beta"), "platform": ("linux", "macos", "windows")}
    assert list(large.metrics) == ["browser", "dark", "minutes"]
    browser, dark, minutes = large.metrics.values()
    assert (browser.name, browser.description) == ("browser", "The default browser")
    assert (browser.epsilon.text, browser.expires, browser.reducer.name) == ("ln 3", date(2030, 12, 31), "last")
    assert (dark.epsilon.text, dark.expires, dark.memoize, dark.instantaneous) == ("2", None, False, None)
    assert (minutes.kind.name, minutes.reducer.name) == ("number", "sum")
    assert minutes.kind.parameters() == {"range": ["-10", "480"], "step": "1/2", "unit": "minutes"}


def test_columns_are_numbered_by_the_names_of_their_metrics() -> None:
    """Device and aggregator number them alike, however the file is ordered; a report names the number."""
    large = Collection.loads(LARGE)
    assert [column.metric for column in large.columns] == ["browser", "dark", "minutes"]
    assert [column.number for column in large.columns] == [0, 1, 2]
    assert isinstance(large.columns[1].shape, Symbol)
    assert isinstance(large.columns[2].shape, Integer)
    assert large.columns[1].channel() == large.columns[1].mechanism.channel()
    for name, value, column in (("browser", "edge", 0), ("dark", True, 1), ("minutes", 3.25, 2)):
        report = large.metric(name).randomize(value)
        assert isinstance(report, Report)
        assert report.column == column
        assert report.payload in set(large.columns[column].mechanism.payloads())


def test_a_metric_that_is_not_there_is_named_with_the_nearest() -> None:
    """A KeyError that can be read."""
    with pytest.raises(UnknownMetricError) as refusal:
        Collection.loads(LARGE).metric("browsr")
    assert str(refusal.value) == "the collection has no metric 'browsr'; did you mean 'browser'?"
    with pytest.raises(KeyError, match=r"no metric 'zzz'$"):
        Collection.loads(LARGE).metric("zzz")


def test_a_collection_can_not_be_changed() -> None:
    """Neither its values nor its tables: what was checked stays."""
    large = Collection.loads(LARGE)
    with pytest.raises(AttributeError):
        large.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        large.metrics["dark"] = large.metrics["browser"]  # type: ignore[index]
    with pytest.raises(TypeError):
        large.segments["platform"] = ()  # type: ignore[index]


@pytest.mark.parametrize(
    ("epsilons", "budget", "fits"),
    [
        (["0.1", "0.2"], "0.3", True),
        (["0.1", "0.2"], "0.2999999999999999999", False),
        (["0.1"] * 10, "1", True),
        (["0.7", "0.1", "0.2"], "1.0", True),
        (["1e-5", "1"], "1.00001", True),
        (["1e-5", "1"], "1.000009", False),
        (['"ln 3"'], "1.098612288669", True),
        (['"ln 3"'], "1.098612288668", False),
    ],
)
def test_a_budget_is_added_up_exactly(epsilons: list[str], budget: str, fits: bool) -> None:
    """0.1 and 0.2 are within 0.3 (as doubles they are not); a logarithm counts rounded up."""
    metrics = "".join(
        f'[metrics.m{place}]\nkind = "boolean"\ndescription = "x"\nepsilon = {epsilon}\n'
        for place, epsilon in enumerate(epsilons)
    )
    text = f'[collection]\nname = "x"\nowner = "x"\nepoch = "1d"\n[budget]\nepoch = {budget}\n{metrics}'
    if fits:
        assert Collection.loads(text).budget.epoch == Fraction(budget)
    else:
        assert [where for where, _ in problems(text)] == ["budget.epoch"]


def test_the_budget_that_an_error_suggests_is_enough() -> None:
    """Somebody who copies the sum out of the message into the file has a file that loads."""
    [(_, what)] = problems(changed("epoch = 5.5\n", ""))
    suggested = what.rsplit(" ", 1)[-1]
    Collection.loads(changed("epoch = 5.5", f"epoch = {suggested}"))


def test_a_segment_is_a_number_in_mixed_radix() -> None:
    """The first by name counts most: every combination has its own index, from 0 up."""
    large = Collection.loads(LARGE)
    combinations = [(c, p) for c in ("stable", "beta") for p in ("linux", "macos", "windows")]
    indices = [large.segment_index({"platform": platform, "channel": channel}) for channel, platform in combinations]
    assert indices == list(range(6)) == list(range(large.segment_count))


def test_without_segments_there_is_one() -> None:
    """Every device is in it."""
    small = Collection.loads(SMALL)
    assert small.segment_count == 1
    assert small.segment_index({}) == 0


@pytest.mark.parametrize(
    ("segment", "complaint"),
    [
        ({}, "one segment of each of: channel, platform; given: none"),
        ({"platform": "linux"}, "given: platform"),
        ({"platform": "linux", "channel": "beta", "x": "y"}, "given: platform, channel, x"),
        ({"platform": "amiga", "channel": "beta"}, "segment 'platform' is one of linux, macos, windows, not 'amiga'"),
    ],
)
def test_a_segment_that_is_none_is_refused(segment: dict[str, str], complaint: str) -> None:
    """Too few, too many, and a value that is not declared."""
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Collection.loads(LARGE).segment_index(segment)


@pytest.mark.parametrize(
    ("epoch", "time", "number"),
    [
        ("1h", 0.0, 0),
        ("1h", 3599.999, 0),
        ("1h", 3600, 1),
        ("1d", 86399.999, 0),
        ("1d", 1_700_000_000, 19675),
        ("7d", 7 * 86400 - 1, 0),
        ("7d", 7 * 86400, 1),
        ("1d", -1, -1),
    ],
)
def test_an_epoch_is_a_whole_number_of_its_lengths_since_1970(epoch: str, time: float, number: int) -> None:
    """Aligned to UTC; a clock before 1970 gives a negative one."""
    collection = Collection.loads(changed('"1d"', f'"{epoch}"', SMALL))
    assert collection.epoch_seconds == EPOCHS[epoch]
    assert collection.epoch_at(time) == number


GOLDEN = {"small": 0xF29C4C729D463D6A, "large": 0x6365465189465883, "editor": 0x52AC1911C15C5C75}


@pytest.mark.parametrize("name", GOLDEN)
def test_digests_are_what_they_were(name: str) -> None:
    """Three files have the digests that they have always had.

    A digest that changes is a break: devices in the field and aggregators with newer software no longer know each
    other's collections, and reports wait until they are dropped. It may change only together with what reports mean
    or with how they are drawn, and then the release notes say that both ends have to be updated.
    """
    texts = {"small": SMALL, "large": LARGE, "editor": EDITOR.read_text(encoding="utf-8")}
    assert hex(Collection.loads(texts[name]).digest) == hex(GOLDEN[name])


SAME = {
    "a comment": ("[budget]", "# why\n[budget] # so"),
    "blank lines": ("[budget]", "\n\n\n[budget]"),
    "a whole number for a decimal": ("epsilon = 2.0", "epsilon = 2"),
    "more decimals": ("epsilon = 1.5", "epsilon = 1.500"),
    "an exponent": ("epsilon = 1.5", "epsilon = 15e-1"),
    "decimals in a range": ("[-10, 480]", "[-10.0, 4.8e2]"),
    "decimals in a step": ("step = 0.5", "step = 0.50"),
    "a logarithm in brackets": ('"ln 3"', '"ln(3.0)"'),
    "single quotes": ('"The dark theme is on"', "'The dark theme is on'"),
    "the default reducer by its name": ('description = "The dark', 'reduce = "last"\ndescription = "The dark'),
    "the memo, refused": ("epsilon = 2.0", "epsilon = 2.0\nmemoize = false"),
    "the owner": ("someone@", "another@"),
    "the budget": ("epoch = 5.5", "epoch = 6"),
    "no lifetime": ("lifetime = 100.0\n", ""),
    "the day it expires": ("2030-12-31", "2031-12-31"),
    "that it expires": ("expires = 2030-12-31\n", ""),
}


@pytest.mark.parametrize(("old", "new"), SAME.values(), ids=SAME)
def test_what_changes_no_meaning_changes_no_digest(old: str, new: str) -> None:
    """Formatting, defaults that are spelt out, and what devices and aggregators can disagree about without harm."""
    assert Collection.loads(changed(old, new)).digest == Collection.loads(LARGE).digest


def test_the_automatic_mechanism_by_its_name_is_the_same() -> None:
    """The digest knows what is drawn, not how it was chosen."""
    auto, left_out = (Collection.loads(changed('"ln 3"', f'"ln 3"{line}')) for line in ('\nmechanism = "auto"', ""))
    chosen = left_out.metrics["browser"].columns[0].mechanism.name
    named = Collection.loads(changed('"ln 3"', f'"ln 3"\nmechanism = "{chosen}"'))
    assert auto.digest == left_out.digest == named.digest


EXTRA = '[metrics.x]\nkind = "boolean"\ndescription = "x"\nepsilon = 0.5\n'
OTHER = {
    "the name": ('"large"', '"larger"'),
    "the epoch": ('"7d"', '"1d"'),
    "a segment's name": ("channel = ", "canal = "),
    "a segment's value": ('"beta"', '"alpha"'),
    "a segment's order": ('"stable", "beta"', '"beta", "stable"'),
    "another segment": ('channel = ["stable", "beta"]', 'channel = ["stable", "beta"]\nx = ["a", "b"]'),
    "no segment": ('channel = ["stable", "beta"]\n', ""),
    "a metric's name": ("[metrics.dark]", "[metrics.darker]"),
    "a description": ("The dark theme is on", "The dark theme is off"),
    "an epsilon": ("epsilon = 2.0", "epsilon = 2.0000000001"),
    "an epsilon next to a logarithm": ('"ln 3"', "1.098612288669"),
    "a logarithm": ('"ln 3"', '"ln 3.0000000001"'),
    "a value": ('"edge"', '"opera"'),
    "a value's order": ('"chrome", "edge"', '"edge", "chrome"'),
    "another value": ('"firefox"]', '"firefox", "safari"]'),
    "a value's capitals": ('"edge"', '"Edge"'),
    "the lower end": ("[-10,", "[-20,"),
    "the upper end": ("480]", "490]"),
    "the whole range shifted": ("[-10, 480]", "[0, 490]"),
    "the step": ("step = 0.5", "step = 1"),
    "a grid of as many steps": ("[-10, 480]\nstep = 0.5", "[-20, 960]\nstep = 1"),
    "the unit": ('unit = "minutes"', 'unit = "hours"'),
    "no unit": ('unit = "minutes"\n', ""),
    "the reducer": ('"sum"', '"mean"'),
    "the kind": ('kind = "boolean"', 'kind = "category"\nvalues = ["no", "yes"]'),
    "the memo": ("epsilon = 2.0", "epsilon = 2.0\nmemoize = true"),
    "a fresh randomisation": ("epsilon = 2.0", "epsilon = 2.0\nmemoize = true\ninstantaneous_epsilon = 1"),
    "another fresh randomisation": ("epsilon = 2.0", "epsilon = 2.0\nmemoize = true\ninstantaneous_epsilon = 1.5"),
    "one metric less": (LARGE[LARGE.index("[metrics.dark]") :], ""),
    "one metric more": ("[metrics.dark]", f"{EXTRA}[metrics.dark]"),
}


@pytest.mark.parametrize(("old", "new"), OTHER.values(), ids=OTHER)
def test_what_changes_the_meaning_changes_the_digest(old: str, new: str) -> None:
    """Everything that a report's meaning or its chances depend on."""
    assert Collection.loads(changed(old, new)).digest != Collection.loads(LARGE).digest


def test_no_two_meanings_share_a_digest() -> None:
    """All of those changes have digests of their own, 64 bits long."""
    digests = [Collection.loads(changed(*change)).digest for change in OTHER.values()]
    assert len(set(digests)) == len(digests)
    assert all(0 < digest < 1 << 64 for digest in digests)


def _spelt(value: Any, chance: Random) -> str:
    """A value in TOML, its numbers in any of the ways to write them."""
    if isinstance(value, list):
        return f"[{', '.join(_spelt(each, chance) for each in value)}]"
    if isinstance(value, Decimal | int):
        plain = f"{Decimal(value).normalize():f}"
        decimals = plain if "." in plain else f"{plain}.0"
        return chance.choice([plain, decimals, f"{decimals}00", f"{decimals}e0", f"{Decimal(value).scaleb(1):f}e-1"])
    return value.isoformat() if isinstance(value, date) else json.dumps(value)


@given(st.randoms(use_true_random=False), st.lists(st.text("# abc", max_size=9), max_size=5))
def test_a_digest_does_not_depend_on_order_or_formatting(shuffled: Random, comments: list[str]) -> None:
    """The large file with its tables, keys and comments in any order, its numbers in any spelling: one digest."""
    parsed = tomllib.loads(LARGE, parse_float=Decimal)
    tables = {f"metrics.{name}": table for name, table in parsed.pop("metrics").items()} | parsed
    blocks = []
    for path, table in tables.items():
        lines = [f"{key} = {_spelt(value, shuffled)}" for key, value in table.items()]
        lines += [f"# {comment}" for comment in comments]
        shuffled.shuffle(lines)
        blocks.append("\n".join([f"[{path}]", *lines]))
    shuffled.shuffle(blocks)
    assert Collection.loads("\n".join(blocks)).digest == Collection.loads(LARGE).digest
