"""Mistakes in a collection file: what is wrong is said key by key, with what would be right."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from deniable import Collection, CollectionError
from support.collection_files import LARGE, SMALL, changed, problems

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
        ('epsilon = "ln 3"', 'epsilon = "ln 3"\nstep = 1', "step",
         "it is a key of number, and this is a category; known: description, epsilon"),
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
