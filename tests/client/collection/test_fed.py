"""What a collection says of metrics that are fed, and what people are told of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable import Metric
from deniable.codegen import generate
from deniable.collection import meaning
from deniable.device.transcript import read
from deniable_aggregator.planning.check import composed
from deniable_aggregator.telling.reveals import reveals
from support.collection_files import problems
from support.device import Device
from support.fed import BOTH, BROWSER, COUNT, DARK, HEAD, OF, TEXT, VALUES, asked
from support.toys import known

HOUR = 3600
MISTAKES = [
    ("", "of", "missing"),
    ("of = []", "of", "must be a list of 1 to 256 texts, not 0 of them"),
    ('of = ["browser", "browser"]', "of", "has 'browser' twice"),
    ('of = ["browser", "drak"]', "of", "there is no metric 'drak'; did you mean 'dark'?"),
    ('of = ["browser", "both"]', "of", "'both' is fed itself: name what is recorded, such as its own sources"),
    ('of = ["browser", "count"]', "of", "'count' is of kind count; taken: boolean, category"),
    ('of = ["browser"]', "of", "takes two metrics, not 1"),
    (f'{OF}\nreduce = "last"', "reduce", "how its sources' values are reduced, they say themselves"),
]


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    """The kinds of these tests."""
    with known():
        yield


@pytest.mark.parametrize(("line", "key", "what"), MISTAKES)
def test_a_mistake_is_told_at_its_key(line: str, key: str, what: str) -> None:
    """One problem for each."""
    ((where, told),) = problems(TEXT.replace(OF, line) + COUNT)
    assert where == f"metrics.both.{key}"
    assert what in told


def test_what_is_fed_feeds_nothing() -> None:
    """A chain has no meaning, and a circle less."""
    more = BOTH.replace("both", "more").replace('"browser", "dark"', '"both", "dark"')
    ((where, told),) = problems(TEXT + more)
    assert (where, told.partition(":")[0]) == ("metrics.more.of", "'both' is fed itself")


def test_a_source_with_mistakes_is_complained_of_once() -> None:
    """Its own problem is named at its own key, and nothing else because of it."""
    assert [where for where, _ in problems(TEXT.replace('values = ["a", "b", "c"]', "values = 3"))] == [
        "metrics.browser.values"
    ]
    assert [where for where, _ in problems(TEXT.replace("epsilon = 2\n", "epsilon = 0\n"))] == [
        "metrics.browser.epsilon"
    ]


def test_a_metric_that_is_recorded_for_has_no_sources() -> None:
    """`of` is no key of theirs."""
    ((where, told),) = problems(HEAD + DARK + BROWSER + 'of = ["dark"]\n')
    assert where == "metrics.browser.of"
    assert told.startswith("unknown key")


def test_the_order_of_metrics_is_irrelevant() -> None:
    """Columns, sources and digest are the same, wherever a metric stands; columns go by names."""
    blocks = [DARK, BROWSER, BOTH, BOTH.replace("both", "a_pair")]
    collections = []
    for seed in range(6):
        random.Random(seed).shuffle(blocks)
        collections.append(asked(HEAD.replace("40", "70") + "".join(blocks)))
    assert len({collection.digest for collection in collections}) == 1
    for collection in collections:
        assert [column.metric for column in collection.columns] == ["a_pair", "both", "browser", "dark"]
        assert [column.number for column in collection.columns] == [0, 1, 2, 3]
        both = collection.metrics["both"]
        assert both.sources == (collection.metrics["browser"], collection.metrics["dark"])
        assert both.kind.of == ("browser", "dark")


def test_the_digest_knows_the_sources_and_their_values() -> None:
    """What a fed metric means has the names of its sources, in their order, and what their values mean.

    So a device and an aggregator that number pairs differently do not know each other's collection.
    """
    collection = asked()
    told = meaning(collection.metrics["both"])
    assert [source["name"] for source in told["of"]] == ["browser", "dark"]
    assert told["of"][0]["parameters"] == {"values": ["a", "b", "c"]}
    assert [source["reduce"] for source in told["of"]] == ["last", "any"]
    assert all("of" not in meaning(collection.metrics[name]) for name in ("browser", "dark"))
    swapped = asked(TEXT.replace(OF, 'of = ["dark", "browser"]'))
    assert swapped.digest != collection.digest
    assert swapped.metrics["both"].kind.parameters() == collection.metrics["both"].kind.parameters()


# What people are told.


def test_generated_accessors_leave_it_out_and_say_so() -> None:
    """The module has an accessor for what can be recorded, and says what the other is answered from."""
    module = generate(asked(), "metrics.toml")
    compile(module, "metrics.py", "exec")
    assert "self.both" not in module
    assert "self.browser: Accessor" in module
    assert "    both: from browser, dark\n" in module
    assert "Answered from" not in generate(asked(HEAD + DARK), "metrics.toml")


def test_what_is_about_the_same_values_is_said(tmp_path: Path) -> None:
    """In the transcript of the device, in what reports reveal, and by `check`: epsilons add up."""
    collection = asked(TEXT.replace("epsilon = 30", "epsilon = 0.5") + COUNT)

    def about(metric: Metric) -> list[str]:
        return [other.name for other in collection.about(metric)]

    metrics = collection.metrics
    assert {name: about(metric) for name, metric in metrics.items()} == {
        "both": ["browser", "dark"],
        "browser": ["both"],
        "count": [],
        "dark": ["both"],
    }
    device = Device(collection, tmp_path / "state.db")
    device.keep(VALUES | {"count": 3}, 0)
    device.seal(HOUR)
    device.state.run(lambda connection: connection.execute("UPDATE transcript SET fate = 'sent'"))
    told = {entry.metric: entry.conclusion for entry in read(tmp_path / "state.db")}
    assert told["both"].endswith("answers of browser, dark are about the same values: epsilons add up")
    assert told["dark"].endswith("answers of both are about the same values: epsilons add up")
    assert "the same values" not in told["count"]
    assert any("What is sent for browser, dark is about the same values" in line and "(epsilon 3.5)" in line
               for line in reveals(metrics["both"], collection.about(metrics["both"])))  # fmt: skip
    assert any("(epsilon 1.5)" in line for line in reveals(metrics["dark"], collection.about(metrics["dark"])))
    assert not any("the same values" in line for line in reveals(metrics["count"], []))
    (sentence,) = composed(collection)
    assert sentence.startswith("both is answered from what is recorded for browser, dark: ")
    assert sentence.endswith("epsilon 3.5 allows.")
