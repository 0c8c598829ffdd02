"""docs/collections.md says all that a collection file can say: what it leaves out or makes up is found."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from deniable import Collection, CollectionError
from deniable.collection.reduce import REDUCERS
from deniable.kinds import KINDS
from deniable_aggregator.planning.start import QUESTIONS, start
from deniable_aggregator.planning.truth import Truth
from support.commands import ROOT, told

PAGE = (ROOT / "docs" / "collections.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
HEAD = """
[collection]
name = "asked"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 1.0
"""


def lines(heading: str) -> list[list[str]]:
    """The lines of the table under a heading that begin with a key, cell by cell."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if "|" in line]
    return [cells for cells in found if cells[0].strip("| ").startswith("`")]


def rows(heading: str) -> dict[str, list[str]]:
    """The table under a heading: cells by what the first cell names."""
    return {re.sub(r"[`| ]", "", cells[0]): cells[1:] for cells in lines(heading)}


def known(text: str, place: str) -> set[str]:
    """The keys that the reader knows in a table, as it says where there is one that it does not."""
    with pytest.raises(CollectionError) as wrong:
        Collection.loads(text)
    (told,) = re.findall(rf"^<text>: {re.escape(place)}: unknown key; known: (.*)$", str(wrong.value), re.MULTILINE)
    return set(told.split(", "))


COMMON, EACH = rows("What every metric can say"), rows("What every kind can say")
WHOLE = rows("What the file itself can say")
KEYS = [
    (cells[0].strip("`"), kind, *cells[2:])
    for cells in lines("Each key of a kind")
    for kind in cells[1].replace("`", "").split(", ")
]
"""Of each kind every key: what it says, what it takes, and what it is unless said."""
BY_KIND = {"reduce", "mechanism"}
"""Keys that take the words of the metric's kind, which have a table of their own."""
WRONG = {
    **dict.fromkeys(("epsilon", "per_flag_epsilon"), "1000"), "paths": "0", "step": "-1", "clip": "0", "delta": "2",
    "collection.sample": "2",
    "budget.epoch": "0", "budget.lifetime": "0", "budget.epoch_delta": "2", "budget.lifetime_delta": "2",
}  # fmt: skip
"""Values of which the message says the bounds, where an empty text is not one."""
SAID = "must be said"


def test_the_example_is_a_collection() -> None:
    """It loads, and spends what its budget says."""
    found = Collection.loads(EXAMPLES[0])
    assert sum(metric.epsilon.value for metric in found.metrics.values()) == found.budget.epoch


def test_the_truth_is_one_of_the_example(tmp_path: Path) -> None:
    """Simulated devices have what the page's last example says."""
    (tmp_path / "truth.toml").write_text(EXAMPLES[-1])
    drawn = Truth.load(tmp_path / "truth.toml", Collection.loads(EXAMPLES[0])).draw(7, np.random.default_rng(1))
    assert {name: len(population) for name, population in drawn.items()} == {"open": 7, "loaves": 7, "flours": 7}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_has_the_keys_that_the_page_says(kind: str) -> None:
    """Those of every metric and its own, and no others."""
    own = set(re.findall(r"`(\w+)`", EACH[kind][1]))
    assert own.isdisjoint(COMMON)
    metric = f'[metrics.one]\nkind = "{kind}"\nqqqqqqqqqqqq = 1\n'
    assert known(HEAD + metric, "metrics.one.qqqqqqqqqqqq") == own | COMMON.keys()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_has_the_words_that_the_page_says(kind: str) -> None:
    """How it is reduced, in this order, as the first is what it is unless said, and by what it is randomised."""
    _, _, reduce, mechanism = EACH[kind]
    assert tuple(reduce.split(", ")) == KINDS[kind].reducers
    assert set(reduce.split(", ")) <= REDUCERS.keys()
    assert set(mechanism.split(", ")) == set(KINDS[kind].mechanisms)


def test_all_kinds_are_there_and_no_other() -> None:
    """A row each."""
    assert EACH.keys() == KINDS.keys()


@pytest.mark.parametrize("table", ["collection", "budget"])
def test_the_other_tables_are_shown(table: str) -> None:
    """Each key of the file's own tables is in the example."""
    asked = '[metrics.one]\nkind = "boolean"\ndescription = "d"\nepsilon = 1.0\n'
    text = (HEAD + asked).replace(f"[{table}]\n", f"[{table}]\nqqqqqqqqqqqq = 1\n")
    for key in known(text, f"{table}.qqqqqqqqqqqq"):
        assert re.search(rf"\b{key}\b", EXAMPLES[0]), key


def question(kind: str, key: str = "", value: str = "") -> tuple[str, str]:
    """A collection with a question of a kind, as `deniable init` writes it, and the metric's name; with another value
    of a key, or without it."""
    needed = "".join(QUESTIONS[other].text for other in QUESTIONS[kind].needs)
    own, name = QUESTIONS[kind].text, re.findall(r"^\[metrics\.(\w+)\]", QUESTIONS[kind].text)[0]
    if key:
        own = re.sub(rf"^{key} = .*\n", "", own, flags=re.MULTILINE)
    line = f"{key} = {value}\n" if value else ""
    return HEAD.replace("epoch = 1.0", "epoch = 50.0") + needed + own + line, name


def wrong(text: str, place: str) -> str:
    """What is said of a place of a collection; empty where nothing is."""
    try:
        Collection.loads(text)
    except CollectionError as error:
        return next((problem.what for problem in error.problems if problem.where == place), "")
    return ""


def taken(message: str) -> str:
    """What a key takes, as a message about a wrong value says it."""
    if "; known: " in message:
        return "one of " + message.partition("; known: ")[2]
    return re.sub(r"^must (be|lie) ", "", re.split(r", not |; or ", message)[0])


def test_the_page_has_a_question_of_each_kind_that_check_finds_nothing_wrong_with(tmp_path: Path) -> None:
    """Those that `deniable init --kinds all` writes, word by word; and no finding, with a thousand devices."""
    section = PAGE.split("\n## A question of each kind\n")[1].split("\n## ")[0]
    (shown,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    assert shown == "\n".join(each.text for each in QUESTIONS.values())
    assert QUESTIONS.keys() == KINDS.keys()
    file = tmp_path / "own.toml"
    file.write_text(start("own", list(KINDS), "own.toml"))
    checked = told("check", file, "--strict")
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout


def test_each_key_of_each_kind_has_a_row() -> None:
    """And no other."""
    listed = {(kind, key) for key, kind, *_ in KEYS}
    assert len(listed) == len(KEYS)
    assert listed == {(kind, key) for kind in KINDS for key in re.findall(r"`(\w+)`", EACH[kind][1])}


@pytest.mark.parametrize(("key", "kind", "what", "takes", "unless"), KEYS, ids=lambda each: each[:20])
def test_a_key_takes_and_is_what_the_page_says(key: str, kind: str, what: str, takes: str, unless: str) -> None:
    """Its bounds are those of the message that a wrong value gets, and what it is unless said changes nothing where
    it is said; where it must be said, that is said."""
    assert what
    text, name = question(kind, key, WRONG.get(key, '""'))
    assert takes.startswith(taken(wrong(text, f"metrics.{name}.{key}")))
    without, _ = question(kind, key)
    assert bool(wrong(without, f"metrics.{name}.{key}")) == unless.startswith(SAID)
    if unless.startswith("`"):
        assert Collection.loads(question(kind, key, unless.strip("`"))[0]).digest == Collection.loads(without).digest


@pytest.mark.parametrize("key", sorted(COMMON.keys() - BY_KIND))
def test_a_key_of_every_metric_takes_and_is_what_the_page_says(key: str) -> None:
    """As of one that has been made of a boolean."""
    _, takes, unless = COMMON[key]
    more = "memoize = true\n" if key in {"remembered_answers", "instantaneous_epsilon"} else ""
    base = (
        HEAD.replace("epoch = 1.0", "epoch = 50.0")
        + '[metrics.one]\nkind = "boolean"\ndescription = "d"\nepsilon = 1.0\n'
    )
    base = re.sub(rf"^(\[metrics.*\n(?:.*\n)*?){key} = .*\n", r"\1", base, flags=re.MULTILINE) + more
    given = wrong(f"{base}{key} = {WRONG.get(key, chr(34) * 2)}\n", f"metrics.one.{key}")
    assert takes.startswith(taken(given))
    assert wrong(base, f"metrics.one.{key}").startswith("missing") == (unless == SAID)
    if unless.startswith("`"):
        assert Collection.loads(f"{base}{key} = {unless.strip('`')}\n").digest == Collection.loads(base).digest


@pytest.mark.parametrize("key", sorted(WHOLE))
def test_a_key_of_the_file_itself_takes_what_the_page_says(key: str) -> None:
    """Of its own tables; segments are any names."""
    table, own = key.replace("NAME", "region").split(".")
    _, takes, unless = WHOLE[key]
    asked = '[metrics.one]\nkind = "boolean"\ndescription = "d"\nepsilon = 1.0\n'
    without = re.sub(rf"(\[{table}\]\n(?:[^\[]*\n)?){own} = .*\n", r"\1", HEAD)
    head = without if f"[{table}]" in HEAD else f"{without}[{table}]\n"
    text = head.replace(f"[{table}]\n", f"[{table}]\n{own} = {WRONG.get(key, chr(34) * 2)}\n") + asked
    assert takes.startswith(taken(wrong(text, f"{table}.{own}")))
    assert wrong(without + asked, f"{table}.{own}").startswith("missing") == (unless == SAID)


def test_the_tables_of_the_file_have_all_their_keys() -> None:
    """Of collection and budget those that the reader knows."""
    asked = '[metrics.one]\nkind = "boolean"\ndescription = "d"\nepsilon = 1.0\n'
    for table in ("collection", "budget"):
        text = (HEAD + asked).replace(f"[{table}]\n", f"[{table}]\nqqqqqqqqqqqq = 1\n")
        assert known(text, f"{table}.qqqqqqqqqqqq") == {
            key.partition(".")[2] for key in WHOLE if key.startswith(f"{table}.")
        }
