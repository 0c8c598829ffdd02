"""Fleets that answer metrics of metrics: what feeds another metric is what the same device answers itself."""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deniable import Collection, linkage
from deniable.payload import PAYLOAD_BITS
from deniable_aggregator.answers import RowId
from deniable_aggregator.demo.fleet import Fleet
from deniable_aggregator.planning.audit import audit
from deniable_aggregator.planning.fleet import batches, report
from deniable_aggregator.planning.leverage import gain
from deniable_aggregator.planning.population import Population, with_fed
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.planning.truth import Truth, TruthError
from support.collection_files import head, metric
from support.recording import recording
from support.toys import known

TEXT = (
    head("fed", 100)
    + metric("dark", "boolean", epsilon=30)
    + metric("browser", "category", values=["a", "b", "c"], mechanism="randomized_response", epsilon=30)
    + metric("both", "pair", of=["browser", "dark"], epsilon=30)
)
"""At epsilon 30 a device says something else than what it has once in 10^12 times."""
APART = """
[dark]
values = [true, false]
[browser]
values = ["a", "b", "c"]
weights = [1, 2, 0]
"""
TOGETHER = """
[both]
values = [{browser = "a", dark = true}, {browser = "b", dark = false}, {browser = "b", dark = true}]
weights = [6, 3, 1]
"""
DEVICES = 2000


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    """The kinds of these tests."""
    with known():
        yield


def drawn(tmp_path: Path, text: str) -> tuple[Collection, Mapping[str, Population]]:
    """The collection, and what its devices have."""
    collection, file = Collection.loads(TEXT), tmp_path / "truth.toml"
    file.write_text(text)
    return collection, Truth.load(file, collection).draw(DEVICES, np.random.default_rng(5))


def test_what_devices_have_together_is_device_by_device() -> None:
    """Each device has its own values, by name, and only combinations that occur are kept."""
    names = ["a", "b", "a", "c", "a"]
    flags = [True, 1, True, False, False]
    found = Population.together({"name": names, "flag": flags})
    assert list(found) == [{"name": name, "flag": flag} for name, flag in zip(names, flags, strict=True)]
    assert [repr(value["flag"]) for value in found] == [repr(flag) for flag in flags]
    assert len(found.values) == 4
    assert list(Population.together({"name": [], "flag": []})) == []


def test_many_metrics_together_are_no_more_than_the_devices() -> None:
    """Of twelve metrics with a thousand values each, 10^36 combinations, three devices have three."""
    parts = {f"m{number}": Population(range(1000), np.array([999, 0, number])) for number in range(12)}
    found = Population.together(parts)
    assert [list(value.values()) for value in found] == [[999] * 12, [0] * 12, list(range(12))]
    assert len(found.values) == 3


def test_a_demonstration_knows_the_truth_of_what_is_told_together(tmp_path: Path) -> None:
    """Of a source by the table of what it feeds; of what is fed and has none nothing is told."""
    for text, dark in ((APART, 0.5), (TOGETHER, 0.7)):
        collection, file = Collection.loads(TEXT), tmp_path / "truth.toml"
        file.write_text(text)
        fleet = Fleet(collection, Truth.load(file, collection), 7)
        fleet._devices[7] = DEVICES
        told = {name: fleet.truth(collection.metrics[name], range(7, 8), {}) for name in ("browser", "dark")}
        assert told["dark"] == {RowId("shares", "yes"): dark}
        assert set(told["browser"] or ()) == {RowId("shares", value) for value in "abc"}
        if text is APART:
            assert fleet.truth(collection.metrics["both"], range(7, 8), {}) is None


@pytest.mark.parametrize("text", [APART, TOGETHER])
def test_a_fed_metric_has_what_its_sources_have(tmp_path: Path, text: str) -> None:
    """Drawn apart and put together, or drawn together and taken apart: for each device the same values."""
    _, values = drawn(tmp_path, text)
    assert values.keys() == {"dark", "browser", "both"}
    for pair, browser, dark in zip(values["both"], values["browser"], values["dark"], strict=True):
        assert pair == {"browser": browser, "dark": dark}


def test_a_truth_can_say_what_goes_together(tmp_path: Path) -> None:
    """Pairs occur as often as their weights say, within 6 standard errors; pairs that are not there do not occur."""
    _, values = drawn(tmp_path, TOGETHER)
    counted = Counter((pair["browser"], pair["dark"]) for pair in values["both"])
    shares = {("a", True): 0.6, ("b", False): 0.3, ("b", True): 0.1}
    assert counted.keys() == shares.keys()
    for pair, share in shares.items():
        assert abs(counted[pair] / DEVICES - share) < 6 * (share * (1 - share) / DEVICES) ** 0.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TOGETHER + APART, "told twice, by a table and by one of what it feeds: browser, dark"),
        ("[dark]\nvalues = [true]\n", "no other; missing: browser$"),
        (APART + "[drak]\nvalues = [true]\n", "no other; unknown: drak$"),
        ("[both]\nvalues = [{browser = 'a'}]\n", "both: takes a value for each of browser, dark"),
        ("[both]\nvalues = [{browser = 'x', dark = true}]\n", "both: not one of the 3 values"),
    ],
)
def test_a_truth_that_does_not_fit_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """Each metric that is recorded for is told once."""
    with pytest.raises(TruthError, match=words):
        drawn(tmp_path, text)


@pytest.mark.parametrize(
    "more",
    [
        "weigths = [1, 2]",
        "weights = 3",
        "weights = [1]",
        "weights = [1, 'a']",
        "weights = [1, nan]",
        "weights = [inf, 1]",
        f"weights = [1, {10**400}]",
        "weights = [-1, 2]",
        "weights = [0, 0]",
        "weights = [true, false]",
        "weights = []",
    ],
    ids=lambda more: more[:24],
)
def test_weights_that_weigh_nothing_are_refused(tmp_path: Path, more: str) -> None:
    """In a line that names the metric; and a word that is not known is not passed over."""
    text = f"[browser]\nvalues = ['a']\n[dark]\nvalues = [true, false]\n{more}\n"
    with pytest.raises(TruthError, match=r"truth\.toml: dark: .*weig"):
        drawn(tmp_path, text)
    assert drawn(tmp_path, text.replace(more, f"weights = [{10**300}, 1e300]"))


def test_counters_of_a_fed_metric_are_those_of_the_pairs(tmp_path: Path) -> None:
    """Simulated all at once by the twins: with hardly any noise every pair is counted as often as devices have it."""
    collection, values = drawn(tmp_path, TOGETHER)
    both = collection.metrics["both"]
    (counters,) = simulate(both, values["both"], np.random.default_rng(6))
    kind: Any = both.kind
    expected = Counter(map(repr, map(kind.check, values["both"])))
    assert counters.tolist() == [expected[repr(pair)] for pair in kind.pairs]


def test_a_fed_metric_is_audited_and_weighed_as_any_other() -> None:
    """What is sent bears out its epsilon, remembered or not, and one fake moves it as far as any of six answers."""
    for more in ("", "\nmemoize = true\ninstantaneous_epsilon = 0.5"):
        both = Collection.loads(TEXT.replace("epsilon = 30", "epsilon = 1" + more)).metrics["both"]
        assert all(finding.holds for finding in audit(both, 20_000))
        values = [f"v{number}" for number in range(6)]
        same = Collection.loads(
            TEXT.replace('kind = "pair"', f'kind = "category"\nvalues = {values}\nmechanism = "randomized_response"')
            .replace('of = ["browser", "dark"]\n', "")
            .replace("epsilon = 30", "epsilon = 1" + more)
        ).metrics["both"]
        assert gain(both) == gain(same)
        assert linkage.bits(both) == linkage.bits(same)


def consistent(collection: Collection, rows: bytes) -> tuple[str, bool]:
    """What one batch says, which is the same in all of its reports."""
    said = {}
    for (row,) in struct.iter_unpack("<Q", rows):
        said[collection.columns[row >> PAYLOAD_BITS].metric] = row & ((1 << PAYLOAD_BITS) - 1)
    assert said.keys() == {"dark", "browser", "both"}
    assert said["both"] == 2 * said["browser"] + said["dark"]
    return "abc"[said["browser"]], bool(said["dark"])


def test_every_batch_of_a_simulated_fleet_is_about_one_device(tmp_path: Path) -> None:
    """Drawn by the twins, from values of what is recorded alone: the pair is that of the batch's other reports."""
    collection, values = drawn(tmp_path, TOGETHER)
    recorded = {name: values[name] for name in ("dark", "browser")}
    sent = batches(collection, recorded, 7, np.random.default_rng(8))
    counted = Counter(consistent(collection, batch.rows) for batch in sent)
    assert counted == Counter(zip(values["browser"], values["dark"], strict=True))
    assert with_fed(collection, recorded).keys() == collection.metrics.keys()
    assert with_fed(collection, values) == values


def test_devices_that_report_one_by_one_do_so_too(tmp_path: Path) -> None:
    """The same with the SDK's own randomisers, over gRPC."""
    collection, values = drawn(tmp_path, TOGETHER)
    recorded = {name: values[name][:50] for name in ("dark", "browser")}
    with recording() as (endpoint, recorder):
        asyncio.run(report(collection, recorded, endpoint, 7, np.random.default_rng(9), lambda _: None))
        counted = Counter(consistent(collection, request.rows) for request in recorder.requests)
    assert counted == Counter(zip(recorded["browser"], recorded["dark"], strict=True))
