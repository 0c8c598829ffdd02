"""Digests: collection files that mean the same have the same one, others have others."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import Collection
from support.collection_files import LARGE, SMALL, changed

EDITOR = Path(__file__).resolve().parents[3] / "examples" / "editor.toml"

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
    "that it is retired": ('epoch = "7d"', 'epoch = "7d"\nretired = 2031-12-31'),
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
