"""What `deniable check` finds unwise."""

from __future__ import annotations

import re
import sqlite3
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from deniable import Collection
from deniable.device.ledger import Ledger
from deniable.device.schema import migrate
from deniable.errors import BudgetExceededError
from deniable.kinds import Distribution
from deniable.mechanisms import fitting
from deniable_aggregator.answers import answer
from deniable_aggregator.answers.distribution import tree_of
from deniable_aggregator.estimators import expected
from deniable_aggregator.planning.check import findings, reasons
from deniable_aggregator.planning.noise import lasting
from support.commands import told
from support.joints import exactly, sources

HEAD = '[collection]\nname = "c"\nepoch = "1d"\nowner = "o"\n[budget]\nepoch = 10\n'
VECTOR = (
    '[metrics.update]\nkind = "vector"\ndescription = "d"\ndimensions = 2\nclip = 1\nnorm = "l2"\n'
    "epsilon = 1\ndelta = 1e-6\nfleet = 1000\n"
)
NUMBER = '[metrics.length]\nkind = "number"\ndescription = "d"\nrange = [0, 10]\nepsilon = 1\n'
CATEGORY = (
    '[metrics.one]\nkind = "category"\ndescription = "d"\nvalues = ["a", "b", "c", "d"]\n'
    "epsilon = 1\nmemoize = true\n"
)


def found(text: str) -> list[str]:
    """The findings of a collection, in a few words."""
    return list(findings(Collection.loads(text)))


def test_it_says_when_the_deltas_of_a_lifetime_are_spent() -> None:
    """A limit that holds where the file says nothing does not come as a surprise after years."""
    _, told = lasting(Collection.loads(HEAD + "lifetime = 9\n" + VECTOR))
    assert "A lifetime's budget of delta of 0.001 is spent after 1,000 epochs of answers" in told
    _, told = lasting(Collection.loads(HEAD + "lifetime = 9\nlifetime_delta = 0.5\n" + VECTOR))
    assert "of 0.5 is spent after 500,000 epochs" in told
    assert found(HEAD + "lifetime = 9\n" + VECTOR) == []


@pytest.mark.parametrize(
    ("lifetime", "metrics", "told"),
    [
        ("lifetime = 300\n", NUMBER, "of 300 is spent after 300 epochs of answers (300 days): devices fall silent."),
        ("lifetime = 1000\n", NUMBER, "is spent after 1,000 epochs of answers (1,000 days, 2.7 years): devices fall"),
        (
            "lifetime = 9.9\n",
            NUMBER + CATEGORY,
            "after 5 epochs of answers (5 days): devices fall silent. 4 of it is ",
        ),
        ("lifetime = 9\n", CATEGORY, "of 9 lasts for ever: all answers are remembered. 4 of it is for what is remem"),
        ("", NUMBER, "There is no lifetime budget: a device answers, and spends, without end."),
    ],
    ids=["days", "years", "with memories", "memories alone", "no limit"],
)
def test_it_says_when_devices_fall_silent(lifetime: str, metrics: str, told: str) -> None:
    """After how many epochs, and days, a lifetime is spent; what is remembered is paid for before."""
    (said,) = lasting(Collection.loads(HEAD + lifetime + metrics))
    assert told in said


def test_a_device_falls_silent_when_it_is_said(tmp_path: Path) -> None:
    """The ledger answers as many epochs, and not one more."""
    asked = Collection.loads(HEAD + "lifetime = 7.5\n" + NUMBER)
    (said,) = lasting(asked)
    assert "after 7 epochs" in said
    connection = sqlite3.connect(tmp_path / "state")
    migrate(connection)
    ledger = Ledger(connection, asked)
    for epoch in range(7):
        ledger.charge(asked.metric("length"), epoch)
    with pytest.raises(BudgetExceededError, match="budget of a lifetime"):
        ledger.charge(asked.metric("length"), 7)


def test_it_says_which_metric_is_never_answered() -> None:
    """One whose memories would cost more than a lifetime may: it is refused from the first day on."""
    (told,) = found(HEAD + "lifetime = 3.5\n" + CATEGORY)
    assert told.startswith("one: is never answered: the 4 answers that a device may remember cost epsilon 4, and")
    assert found(HEAD + "lifetime = 4\n" + CATEGORY) == []
    memory = 'memoize = true\ninstantaneous_epsilon = "linkable"\n'
    told, *_ = found(HEAD + "lifetime = 9\nlifetime_delta = 7e-6\n" + VECTOR + memory)
    assert told.startswith(
        "update: is never answered: the 8 answers that a device may remember cost delta 8e-06, and"
    )


def test_it_tells_what_the_deltas_add_up_to(tmp_path: Path) -> None:
    """Beside what the epsilons do; where there is none, nothing is said of it."""
    file = tmp_path / "metrics.toml"
    file.write_text(HEAD + VECTOR)
    assert "Its deltas add up to 1e-06 an epoch, of a budget of 1e-05, and 0.001 ever." in told("check", file).stdout
    file.write_text(HEAD + CATEGORY)
    assert "delta" not in told("check", file).stdout


def test_it_says_what_many_levels_of_a_tree_cost() -> None:
    """Six levels that split in two, of which one is answered, take five times the devices; three are well."""

    def tree(depth: int) -> str:
        paths = ["/".join(names) for names in product("ab", repeat=depth)]
        return f'{HEAD}lifetime = 9\n[metrics.one]\nkind = "tree"\ndescription = "d"\npaths = {paths}\nepsilon = 1\n'

    assert found(tree(3).replace("'", '"')) == []
    (told,) = found(tree(6).replace("'", '"'))
    assert told.startswith("one: of 6 levels a device answers one: a share takes up to 5.2 times as many devices as")


@pytest.mark.parametrize(
    ("more", "devices", "pairs"),
    [
        ("", 12_000, "; with pairs = 'a' about 2,200 do"),
        ('mechanism = "randomized_response"\n', 36_000, "; with pairs = 'a' about 2,200 do"),
        ("memoize = true\n", 820_000, ""),
    ],
    ids=["as is best", "by another mechanism", "remembered"],
)
def test_it_says_how_many_devices_the_cells_of_a_joint_take(more: str, devices: int, pairs: str) -> None:
    """With as many reports, as they are made, the interval of an average cell just reaches 0; and with how many of
    pairs it would."""
    text = (
        '[collection]\nname = "c"\nowner = "o"\nepoch = "1d"\n[budget]\nepoch = 9\n[metrics.all]\nkind = "joint"\n'
        'description = "d"\nepsilon = 1\nof = ["a", "b", "c"]\n' + more + sources({"a": 2, "b": 5, "c": 3})
    )
    collection = Collection.loads(text)
    (said,) = [reason for reason in reasons(collection) if reason.startswith("all")]
    assert said == f"all: 30 cells: about {devices:,} reports tell one of average size from none{pairs}"
    metric = collection.metrics["all"]
    row = answer(metric, exactly(metric, np.full((2, 5, 3), 1 / 30), devices)).rows[0]
    assert row.low == pytest.approx(0, abs=0.004)


@pytest.mark.parametrize("mechanism", fitting(64))
def test_it_counts_the_buckets_of_a_distribution_by_the_mechanism_that_is_named(mechanism: str) -> None:
    """The devices that they take are those that it takes: of another one as many more as its curve varies more."""

    def reports(more: str) -> float:
        table = '[metrics.one]\nkind = "distribution"\ndescription = "d"\nrange = [0, 1]\nbuckets = 64\nepsilon = 1\n'
        (said,) = reasons(Collection.loads(HEAD + table + more))
        return float(re.findall(r"about ([0-9,]+) reports", said)[0].replace(",", ""))

    asked = Collection.loads(
        HEAD + '[metrics.one]\nkind = "distribution"\ndescription = "d"\nrange = [0, 1]\nbuckets = 64\nepsilon = 1\n'
        f'mechanism = "{mechanism}"\n'
    ).metrics["one"]
    kind, mechanisms = asked.kind, [column.mechanism for column in asked.columns]
    assert isinstance(kind, Distribution)
    fleet = expected(mechanisms, tree_of(kind), kind.allotment(mechanisms), 10**9)
    wanted = 10**9 * float(fleet.rough()[1:].mean()) * (1.96 / 0.01) ** 2
    assert reports(f'mechanism = "{mechanism}"\n') == pytest.approx(wanted, rel=0.05)
    assert reports(f'mechanism = "{mechanism}"\n') >= reports("")
