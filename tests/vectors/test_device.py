"""The client says what the vectors say: it is given their words, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tools.porting import ROOT
from tools.porting_words import fed, words_of

from deniable import Collection, Report
from deniable.collection import Column
from deniable.device.outbox import Batch
from deniable.mechanisms import MECHANISMS, Mechanism
from deniable.randomness import FineCoin, below, coin, shuffle

COLLECTIONS = json.loads((ROOT / "collections.json").read_text("utf-8"))["collections"]
LOADED = {own["name"]: Collection.load(ROOT / own["file"]) for own in COLLECTIONS}


def cases(name: str) -> Any:
    """What a file says."""
    return json.loads((ROOT / name).read_text("utf-8"))


def column(collection: str, number: int) -> Column:
    """One of a collection's columns."""
    return LOADED[collection].columns[number]


@pytest.mark.parametrize("own", COLLECTIONS, ids=LOADED)
def test_a_collections_text_has_these_thresholds_and_this_digest(own: dict[str, Any]) -> None:
    """From the file's text: digest, identities, costs and every parameter of every column."""
    loaded = LOADED[own["name"]]
    assert f"{loaded.digest:016x}" == own["digest"]
    assert {name: f"{number:016x}" for name, number in loaded.identities.items()} == {
        metric["name"]: metric["identity"] for metric in own["metrics"]
    }
    for metric in own["metrics"]:
        found = loaded.metrics[metric["name"]]
        assert str(found.epsilon.value) == metric["epsilon"]["value"]
        assert [each.number for each in found.columns] == [each["number"] for each in metric["columns"]]
        for known, each in zip(metric["columns"], found.columns, strict=True):
            assert {name: str(number) for name, number in each.mechanism.parameters().items()} == known["parameters"]
            assert (each.mechanism.name, each.shape.counters) == (known["mechanism"], known["shape"]["counters"])


def sent(mechanism: Mechanism, value: int) -> tuple[str, int]:
    """What is remembered, if anything is, and the payload."""
    if mechanism.first is mechanism:
        return "", mechanism.randomize(value)
    kept = mechanism.remember(value)
    return f"{kept:x}", mechanism.renew(kept)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_makes_these_payloads_of_these_words(name: str) -> None:
    """It takes all words of a case and no more, and remembers and sends what the case says."""
    file = cases(f"mechanisms/{name}.json")
    subjects = [column(own["collection"], own["column"]).mechanism for own in file["subjects"]]
    wrong = []
    for subject, value, remembered, payload, words, _, _ in file["cases"]:
        with fed(words_of(words)) as left:
            if sent(subjects[subject], int(value, 16)) != (remembered, int(payload, 16)) or left:
                wrong.append((subject, value, words))
    assert wrong == []


def test_draws_make_these_numbers_of_these_words() -> None:
    """One of so many, coins of 64 and of 256 bits, and random orders."""
    file = cases("draws.json")

    def order(size: int) -> list[int]:
        items = list(range(size))
        shuffle(items)
        return items

    ways = {
        "below": lambda limit: str(below(int(limit))),
        "coin": lambda threshold: int(coin(int(threshold))),
        "fine_coin": lambda threshold: int(FineCoin(int(threshold)).toss()),
        "shuffle": order,
    }
    assert ways.keys() == file.keys()
    for name, way in ways.items():
        for about, drawn, words in file[name]:
            with fed(words_of(words)) as left:
                assert (way(about), left) == (drawn, []), (name, about)


def test_values_become_these_inputs() -> None:
    """Of every metric: the column that the words draw, and the number that its mechanism is given."""
    for collection, name, value, words, number, chosen in cases("kinds.json")["cases"]:
        metric, given = LOADED[collection].metrics[name], iter(words_of(words))
        found, made = metric.encode(metric.kind.check(value), given.__next__)
        assert (found.number, made, list(given)) == (number, int(chosen, 16), []), (name, value)


def test_reports_become_these_bytes() -> None:
    """The whole message of a batch."""
    for own in cases("batches.json")["cases"]:
        loaded = LOADED[own["collection"]]
        reports = [Report(number, int(payload, 16)) for number, payload in own["reports"]]
        segment = loaded.segment_index(own["segment"])
        batch = Batch.of(bytes.fromhex(own["batch_id"]), loaded, own["epoch"], segment, reports)
        assert (segment, batch.request.hex()) == (own["segment_index"], own["request"])
