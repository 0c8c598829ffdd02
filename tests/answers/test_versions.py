"""Several versions of a collection, served together: what means the same is one series, what does not stays apart."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from random import Random

import numpy as np
import pytest

from deniable import Collection, CollectionError, Report
from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.catalog import Catalog, NotKnownError
from deniable_aggregator.analysis.changes import Before, changes
from deniable_aggregator.analysis.offline import accumulate
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.analysis.versions import Update, reloaded
from deniable_aggregator.analysis.weighting import weighted_answers
from deniable_aggregator.answers import answer
from deniable_aggregator.serving.sources import collections_of
from deniable_aggregator.store import Store
from deniable_aggregator.telling.questions import Questions
from support.collection_files import head, metric
from support.device import Device
from support.stored import put, stored

DAY, START, EPOCHS, DEVICES = 86_400, 20_000, 10, 25
FIRST = (
    head("fleet", 9, lane=["a", "b"])
    + metric("changed", "category", "The theme", values=["a", "b"])
    + metric("kept", "boolean", "The dark them is on", memoize=True)
    + metric("plain", "count", "Times", max=9)
)
SECOND = FIRST.replace("them is", "theme is").replace("[budget]", "version = 1\n[budget]") + (
    '[metrics.added]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n'
)
THIRD = SECOND.replace("version = 1", "version = 2").replace('values = ["a", "b"]', 'values = ["a", "b", "c"]')
VERSIONS = [Collection.loads(text) for text in (FIRST, SECOND, THIRD)]
_Work = Callable[[Analyst, Store], Awaitable[None]]
VALUES = {"changed": "a", "kept": True, "plain": 3, "added": False}


def asked(questions: _Work, *served: Collection) -> None:
    """Ask about versions that are served, in a store of their own."""

    async def run() -> None:
        async with stored() as store:
            await questions(Analyst(Catalog(served), store, clock=lambda: (START + EPOCHS) * DAY), store)

    asyncio.run(run())


class Fleet:
    """Devices that update when they please, and what all of them have reported."""

    def __init__(self, devices: int) -> None:
        self._chance = Random(7)
        self.devices = [Device(VERSIONS[0]) for _ in range(devices)]
        self.sent: Counter[tuple[int, str, int]] = Counter()
        """Reports by version, metric and epoch."""
        self.counted: dict[tuple[str, int, int], list[np.ndarray]] = {}
        """Counters by metric, identity and epoch, added up here."""

    async def report(self, store: Store, epoch: int, newest: int) -> None:
        """An epoch of all of them, in the midst of which some get a newer version."""
        told: dict[int, list[Report]] = defaultdict(list)
        for device in self.devices:
            device.keep(self._values(device), epoch)
            if self._chance.random() < 0.3:
                device.collection = VERSIONS[self._chance.randint(VERSIONS.index(device.collection), newest)]
            device.keep({"added": False} if "added" in device.collection.metrics else {}, epoch)
            told[VERSIONS.index(device.collection)] += device.seal((epoch + 1) * DAY)[epoch]
        for version, reports in told.items():
            await self._store(store, VERSIONS[version], epoch, reports)

    def _values(self, device: Device) -> dict[str, object]:
        return {name: VALUES[name] for name in device.collection.metrics}

    async def _store(self, store: Store, collection: Collection, epoch: int, reports: list[Report]) -> None:
        counters = {}
        for name, own_metric in collection.metrics.items():
            numbers = {column.number for column in own_metric.columns}
            own = [report for report in reports if report.column in numbers]
            self.sent[collection.version, name, epoch] += len(own)
            counters[name] = accumulate(own_metric, own)
            where = name, collection.identities[name], epoch
            known = self.counted.get(where)
            self.counted[where] = (
                [a + b for a, b in zip(known, counters[name], strict=True)] if known else counters[name]
            )
        await put(store, collection, epoch, counters, batches=len(reports))


def test_a_fleet_that_updates_over_ten_epochs_has_one_series_of_what_stays_and_several_of_what_changes() -> None:
    """Answers are those of the counters of all versions together, exactly; nothing is lost, and nothing spent twice.

    Of what a device had recorded when it got a version that asks something else, nothing is answered: that alone is
    missing, and counted on the device.
    """
    fleet = Fleet(DEVICES)

    async def questions(analyst: Analyst, store: Store) -> None:
        for number in range(EPOCHS):
            newest = min(number // 3, 2)
            analyst.catalog.replace(reversed(VERSIONS[: newest + 1]))
            await fleet.report(store, START + number, newest)
            for collection in analyst.catalog.collections() if number % 3 in {0, 2} else ():
                for name in collection.metrics:
                    await the_same(analyst, collection, name)
        assert sum(len(own.metrics) for own in analyst.catalog.collections()) == 5
        every = await analyst.answers("fleet", Query(epochs=EPOCHS))
        old = await analyst.answers(f"fleet@{VERSIONS[1].digest:016x}", Query(epochs=EPOCHS))
        assert [own.metric.name for own in old] == ["changed"]
        assert sum(own.estimate.reports for own in [*every, *old]) == sum(fleet.sent.values())

    async def the_same(analyst: Analyst, collection: Collection, name: str) -> None:
        found = await analyst.by_epoch(analyst.catalog.title(collection), Query(epochs=EPOCHS), name)
        wanted = {
            epoch: counters
            for (metric, identity, epoch), counters in fleet.counted.items()
            if metric == name and identity == collection.identities[name] and any(own.any() for own in counters)
        }
        assert [each.last_epoch for each in found] == list(wanted)
        for each in found:
            own = answer(collection.metrics[name], wanted[each.last_epoch])
            assert repr(each.estimate) == repr(own)

    asked(questions, VERSIONS[0])
    assert {version for (version, _, _), times in fleet.sent.items() if times} == {0, 1, 2}
    kept = sum(times for (_, name, _), times in fleet.sent.items() if name == "kept")
    assert kept == sum(times for (_, name, _), times in fleet.sent.items() if name == "plain") == DEVICES * EPOCHS
    lost = sum(device.health.get("lost to a change of the collection", 0) for device in fleet.devices)
    assert kept - sum(times for (_, name, _), times in fleet.sent.items() if name == "changed") == lost > 0
    for device in fleet.devices:
        charges = Counter((charge.metric, charge.start) for charge in device.ledger)
        assert set(charges.values()) == {1}
        assert sum(charge.epsilon for charge in device.ledger if charge.metric == "kept") == 1


@pytest.fixture(name="filled")
def _filled() -> Callable[[_Work], None]:
    """Three versions with two epochs of counters each, in both segments."""

    def run(questions: _Work) -> None:
        async def work(analyst: Analyst, store: Store) -> None:
            for place, version in enumerate(VERSIONS):
                for epoch, segment in ((START + 8, 0), (START + 9, 0), (START + 9, 1)):
                    counters = {"kept": [10 + place, 20], "changed": [7, 3, 2][: 2 + (place == 2)]}
                    await put(store, version, epoch, counters, segment, batches=5)
            await questions(analyst, store)

        asked(work, VERSIONS[2], VERSIONS[0], VERSIONS[1])

    return run


def test_every_question_is_about_all_versions_that_mean_the_same(
    filled: Callable[[_Work], None],
) -> None:
    """Windows, epochs, segments, overviews, trends, comparisons, weighted answers and what is told over the wire."""

    async def questions(analyst: Analyst, store: Store) -> None:
        one = 3 * 30 + 0 + 1 + 2  # of three versions
        (window,) = await analyst.answers("fleet", Query(epochs=2), "kept")
        epochs = await analyst.by_epoch("fleet", Query(epochs=2), "kept")
        lanes = await analyst.by_segment("fleet", Query(epochs=2), "kept", "lane")
        overview = await analyst.overview("fleet", Query(), 2)
        assert window.estimate.reports == 3 * one
        assert [own.estimate.reports for own in epochs] == [one, 2 * one]
        assert [own.estimate.reports for own in lanes] == [2 * one, one]
        by_name = {own.metric.name: own.estimate.reports for own in overview.answers}
        assert by_name == {"added": 0, "changed": 24, "kept": 2 * one, "plain": 0}
        trends = {own.metric.name: trend for own, trend in zip(overview.answers, overview.trends, strict=True)}
        assert [point.reports for point in trends["kept"].points] == [one, 2 * one]
        (changed,) = (await changes(analyst, "fleet", Query(), Before(), metric="kept")).changed
        assert [side.estimate.reports for side in (changed.comparison.before, changed.comparison.after)] == [
            one, 2 * one,
        ]  # fmt: skip
        shares = {"a": 0.5, "b": 0.5}
        weighted = await weighted_answers(analyst, "fleet", Query(), "lane", shares, "kept", analyst.turns.own())
        assert weighted[0].estimate.reports == 2 * one
        (message,) = await Questions(analyst).estimates("somebody", "", pb.Query(), "kept")
        assert (message.reports, message.place.title, message.place.earlier) == (2 * one, "fleet", "")

    filled(questions)


def test_what_has_changed_is_answered_under_the_title_of_the_version_that_asked_it_last(
    filled: Callable[[_Work], None],
) -> None:
    """The answer says since which version it is asked so, and where it is answered as before or afterwards."""
    title = f"fleet@{VERSIONS[1].digest:016x}"

    async def questions(analyst: Analyst, store: Store) -> None:
        assert [analyst.catalog.title(own) for own in analyst.catalog.collections()] == ["fleet", title]
        (now,) = await analyst.answers("fleet", Query(), "changed")
        assert (now.estimate.reports, now.place) == (24, ("fleet", 2, title, ""))
        (before,) = await analyst.answers(title, Query())
        assert (before.metric.name, before.estimate.reports) == ("changed", 2 * 2 * 10)
        assert before.place == (title, 0, "", "fleet")
        with pytest.raises(NotKnownError, match="'kept' goes on in a newer version: it is answered in 'fleet'"):
            await analyst.answers(title, Query(), "kept")
        (same,) = await analyst.answers(f"{VERSIONS[0].digest:016x}", Query(), "kept")
        assert same.estimate.reports == 2 * 93, "a version of which nothing is left means the newest"

    filled(questions)


def test_a_version_that_is_served_from_now_on_changes_what_was_remembered() -> None:
    """Answers are remembered by the versions that they are made of, and have another tag as soon as those change."""

    async def questions(analyst: Analyst, store: Store) -> None:
        for version in VERSIONS[:2]:
            await put(store, version, START + 9, {"kept": [10, 20]})
        seen = []
        for served in (VERSIONS[:1], VERSIONS[:2], VERSIONS[:1]):
            analyst.catalog.replace(served)
            (found,) = await analyst.answers("fleet", Query(), "kept")
            seen.append((found.estimate.reports, await analyst.version("fleet", Query())))
        assert [reports for reports, _ in seen] == [30, 60, 30]
        assert seen[0] == seen[2] != seen[1]

    asked(questions, VERSIONS[0])


def test_what_is_dear_is_so_much_dearer_over_several_versions() -> None:
    """The price knows that the counters of each are looked up."""
    alone, joined = (Questions(Analyst(Catalog(served), None)) for served in (VERSIONS[:1], VERSIONS[:2]))  # type: ignore[arg-type]
    prices = [each.price("fleet", pb.Query(epochs=100), "kept").counters for each in (alone, joined)]
    read = 100 * (50 + 2 * (50 + 2))
    assert prices[1] - prices[0] == read


def test_a_revision_that_comes_back_is_added_to_what_it_was() -> None:
    """The one in between stays apart, between its neighbours."""
    again = Collection.loads(FIRST.replace("[budget]", "version = 3\n[budget]").replace("them is", "themes"))
    catalog = Catalog([again, *VERSIONS])
    assert [own.version for own in catalog.joined(again)] == [3, 2, 1, 0]
    title = f"fleet@{VERSIONS[2].digest:016x}"
    assert catalog.place(again, "changed") == ("fleet", 3, title, "")
    assert catalog.place(VERSIONS[2], "changed") == (title, 2, "fleet", "fleet")
    assert [*catalog.collection(title).metrics] == ["added", "changed"]


def test_of_a_name_the_greatest_version_is_meant_whatever_the_files_are_called() -> None:
    """a_new.toml stands before z_old.toml, and is the newer one all the same."""
    texts = (("a_new.toml", THIRD), ("z_old.toml", FIRST))
    for given in (texts, texts[::-1]):
        catalog = Catalog(collections_of(given))
        assert catalog.collection("fleet").digest == catalog.collection("").digest == VERSIONS[2].digest


def test_two_files_of_one_version_that_ask_something_else_are_refused() -> None:
    """The message says what to do; doing it changes no digest. Two files that ask the same are one."""
    other = FIRST.replace("them is", "theme is")
    with pytest.raises(CollectionError) as refusal:
        collections_of((("a.toml", FIRST), ("b.toml", other)))
    assert str(refusal.value) == (
        "b.toml: collection.version: is 0 as in a.toml, and asks something else: give the newer one a greater "
        "number, such as version = 1; a version is no part of a digest, devices that have it go on"
    )
    numbered = other.replace("[budget]", "version = 1\n[budget]")
    assert Collection.loads(numbered).digest == Collection.loads(other).digest
    assert len(collections_of((("a.toml", FIRST), ("b.toml", numbered)))) == 2
    assert len(Catalog(collections_of((("a.toml", FIRST), ("b.toml", FIRST)))).served()) == 1


def test_several_names_are_asked_for_by_name() -> None:
    """The message says which there are."""
    other = Collection.loads(FIRST.replace('"fleet"', '"other"'))
    with pytest.raises(NotKnownError, match="there are several collections, name one of them: fleet, other"):
        Catalog([*VERSIONS, other]).collection("")


CHANGES = {
    "kind": (('kind = "boolean"', 'kind = "count"\nmax = 1'), ("kind",)),
    "epsilon": (("epsilon = 1\nmemoize", "epsilon = 2\nmemoize"), ("epsilon",)),
    "a value": (('values = ["a", "b"]', 'values = ["a", "c"]'), ("values",)),
    "privacy unit": (("max = 9", 'max = 9\nprivacy_unit = "event"'), ("privacy_unit",)),
    "unit": (("max = 9", 'max = 9\nunit = "times"'), ("unit",)),
    "reducer": (("max = 9", 'max = 9\nreduce = "max"'), ("reduce",)),
    "mechanism": (("max = 9", 'max = 9\nmechanism = "geometric"'), ("mechanism",)),
    "memory": (("epsilon = 1\nmemoize = true", "epsilon = 1"), ("memoize", "remembered_answers")),
    "second randomisation": (("memoize = true", "memoize = true\ninstantaneous_epsilon = 0.5"),
                             ("instantaneous_epsilon",)),
    "revision": (("memoize = true", "memoize = true\nrevision = 2"), ("revision",)),
}  # fmt: skip


@pytest.mark.parametrize(("change", "keys"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_told_by_the_keys_that_it_is_made_of(change: tuple[str, str], keys: tuple[str, ...]) -> None:
    """One metric is changed, and the others are not."""
    old, new = FIRST, FIRST.replace(*change)
    assert old != new
    update = Update.of(Collection.loads(old), Collection.loads(new))
    ((_, found),) = update.changed.items()
    assert (found, update.added, update.gone, update.worded) == (keys, (), (), ())


@pytest.mark.parametrize(
    ("old", "new", "key"), [('"1d"', '"7d"', "epoch"), ('lane = ["a", "b"]', 'lane = ["b", "a"]', "segments")]
)
def test_epochs_and_segments_change_every_metric(old: str, new: str, key: str) -> None:
    """What a counter is about is another thing then."""
    update = Update.of(VERSIONS[0], Collection.loads(FIRST.replace(old, new)))
    assert update.changed == dict.fromkeys(("changed", "kept", "plain"), (key,))


def test_what_means_the_same_is_no_change() -> None:
    """Words, owner, budget, expiry and the version: the first alone is told."""
    words = (
        SECOND.replace("telemetry@example.org", "others@example.org")
        .replace("epoch = 9", "epoch = 8")
        .replace("max = 9", "max = 9\nexpires = 2030-01-01")
    )
    assert Update.of(VERSIONS[0], Collection.loads(words)) == Update(("added",), (), {}, ("kept",))


def test_a_reload_is_told_by_what_came_and_what_went() -> None:
    """And by what the newest version changes, by the names of metrics."""
    first, second, third = (f"fleet version {own.version} ({own.digest:016x})" for own in VERSIONS)
    assert reloaded(VERSIONS, VERSIONS) == []
    assert reloaded(VERSIONS[:1], VERSIONS[1::-1]) == [f"{second} is served", "fleet: added added; worded anew kept"]
    assert reloaded(VERSIONS[1:], VERSIONS[:1]) == [
        f"{first} is served",
        f"{second} is no longer served",
        f"{third} is no longer served",
        "fleet: gone added; worded anew kept",
    ]
    assert reloaded(VERSIONS[1:2], VERSIONS[2:]) == [
        f"{third} is served", f"{second} is no longer served", "fleet: changed changed (values)",
    ]  # fmt: skip
