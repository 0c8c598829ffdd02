"""What is said of a new version of a collection before it is shipped: what it asks more, costs more and breaks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from deniable import Collection
from deniable_aggregator.commands import main
from deniable_aggregator.planning.update import Cost, review
from support.collection_files import head, metric

OLD = (
    head("shop", 9, version=3)
    + metric("open", "boolean", "The shop is open")
    + metric(
        "theme",
        "category",
        "The theme",
        values=["a", "b", "c"],
        epsilon=2,
        memoize=True,
        instantaneous_epsilon="linkable",
    )
)
NEXT = OLD.replace("version = 3", "version = 4")
ADDED = '[metrics.till]\nkind = "boolean"\ndescription = "The till is open"\nepsilon = 0.5\n'


@pytest.fixture(name="old")
def _old(tmp_path: Path) -> Path:
    """The old version, as a file."""
    (tmp_path / "old.toml").write_text(OLD)
    return tmp_path / "old.toml"


def said(old: Path, text: str, *options: str) -> int:
    """What the command ends with."""
    new = old.with_name("new.toml")
    new.write_text(text)
    return main(["diff", str(old), str(new), *options])


def test_what_is_asked_more_costs_more_and_breaks_nothing(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A metric more is no break: it is told with its price, a day and a year."""
    assert said(old, NEXT + ADDED) == 0
    told = capsys.readouterr().out
    assert "+ asks till (boolean, epsilon 0.5): The till is open\n" in told
    assert (
        "A device spends at most 3 an epoch, now 3.5; on fresh answers 365 a year, now 547.5; "
        "on remembered ones 6 ever, now 6.\n"
    ) in told
    assert "too: 2 of their metrics are added to the same answers.\n" in told


def test_the_cost_of_a_version_is_what_its_metrics_can_spend() -> None:
    """Fresh answers by the year, remembered ones once for each that can be remembered."""
    assert Cost.of(Collection.loads(OLD)) == (3.0, 365.0, 6.0)
    assert Cost.of(Collection.loads(OLD.replace('"1d"', '"1h"'))) == (3.0, 24 * 365.0, 6.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("epsilon = 1\n", "epsilon = 1.5\n"), "open: means something else (epsilon): its answers begin anew"),
        (('"a", "b", "c"', '"a", "b"'), "; devices remember it anew, and spend up to 4 on it again"),
        (("[metrics.open]", "[metrics.opened]"), "open: is no longer asked; what older devices report of it is in"),
        (("version = 4", "version = 3"), "its version is 3, which is not newer than 3: both can not be served; say"),
        (
            ("version = 4", "version = 2"),
            "not newer than 3: where both are served it counts as the older; say version = 4",
        ),
        (
            ("[budget]", "retired = 2026-11-20\n[budget]"),
            "it is retired from 2026-11-20 on: nothing of a later epoch is",
        ),
        (
            ("epsilon = 1\n", "epsilon = 1\nexpires = 2026-11-01\n"),
            "open: ends on 2026-11-01 (before: never): devices with this file do not answer it from then on",
        ),
        (('"shop"', '"shops"'), "it is called shops, not shop: another collection, with which nothing goes on"),
    ],
    ids=[
        "an epsilon",
        "a remembered value",
        "a name",
        "the same version",
        "a smaller one",
        "retired",
        "expires",
        "another collection",
    ],
)
def test_what_breaks_is_told_and_ends_with_1(
    change: tuple[str, str], words: str, old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each in a line of its own, for people; and for programs, with the metrics by name."""
    text = (NEXT + ADDED).replace(*change)
    assert said(old, text) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("! ")]
    assert len(lines) == 1
    assert words in lines[0]
    assert said(old, text, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert [f"! {each}" for each in found["breaks"]] == lines
    assert (found["old"]["version"], found["old"]["name"]) == (3, "shop")


def test_a_lifetime_s_budget_that_is_spent_sooner_is_a_break() -> None:
    """Since there is less of it, since more is asked of it, or since there is one at all; not where it lasts."""
    lasting = NEXT.replace("epoch = 9", "epoch = 9\nlifetime = 106")  # 6 for what is remembered, and 1 a day
    for old, new, days in (
        (lasting, lasting.replace("106", "46"), ("40", "100")),
        (lasting, lasting + ADDED, ("66", "100")),
        (NEXT, lasting, ("100", "for ever")),
    ):
        after, before = days
        (told,) = review(Collection.loads(old), Collection.loads(new.replace("version = 4", "version = 5"))).breaks
        assert told.startswith(f"a lifetime's budget lasts for {after} days of answers (before: {before}), then")
    for new in (lasting, lasting.replace("106", "107"), NEXT):
        same = Collection.loads(new.replace("version = 4", "version = 5"))
        assert review(Collection.loads(lasting), same).breaks == ()


def test_other_words_are_a_doubt_unless_the_revision_is_raised(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether they mean the same only the author knows: it is told, and with `--strict` it ends with 1."""
    worded = NEXT.replace("shop is open", "shop is closed")
    assert (said(old, worded), said(old, worded, "--strict")) == (0, 1)
    doubt = (
        "? open: is worded anew, 'The shop is open' is now 'The shop is closed', and goes on; "
        "if that means something else, say revision = 2\n"
    )
    assert capsys.readouterr().out.count(doubt) == 2
    found = review(
        Collection.loads(OLD), Collection.loads(worded.replace("epsilon = 1\n", "epsilon = 1\nrevision = 2\n"))
    )
    assert found.doubts == ()
    assert dict(found.update.changed) == {"open": ("revision",)}


def test_check_says_the_same_against_an_older_version(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below what it says of the version itself."""
    new = old.with_name("new.toml")
    new.write_text(NEXT + ADDED)
    assert main(["check", str(new), "--against", str(old)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("shop, version 4, digest ")
    assert "\nBeside version 3 (" in told
    assert "+ asks till (boolean, epsilon 0.5): The till is open\n" in told


def test_what_can_not_be_read_ends_with_2(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As everywhere."""
    assert said(old, "nothing") == 2
    assert "not TOML" in capsys.readouterr().err


REMEMBERED = """
[metrics.{name}]
kind = "category"
description = "d"
values = ["a", "b", "c", "d", "e", "f", "g", "h"]
epsilon = 2
memoize = true
{more}
"""


def test_a_memory_more_takes_of_the_others_and_the_line_that_keeps_them_is_told() -> None:
    """Beyond two, metrics that are remembered share one bit of a batch: with the line that is told one goes on."""
    few = "".join(REMEMBERED.format(name=f"m{number}", more="") for number in range(8))
    old = Collection.loads(OLD[: OLD.index("[metrics.theme]")].replace("epoch = 9", "epoch = 99") + few)
    more = NEXT[: NEXT.index("[metrics.theme]")].replace("epoch = 9", "epoch = 99") + few + REMEMBERED
    (broken, *_) = review(old, Collection.loads(more.format(name="m8", more=""))).breaks
    told = re.search(r"^m0: means something else \(instantaneous_epsilon\).*; with (.+) it goes on$", broken)
    assert told
    kept = more.replace("[metrics.m0]", f"[metrics.m0]\n{told[1]}")
    assert "m0" not in review(old, Collection.loads(kept.format(name="m8", more=""))).update.changed
