"""Questions to a store: windows, segments, trends, and what is read again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from deniable import Collection
from deniable_aggregator.analysis.catalog import Catalog, NotKnownError
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.answers import answer, leading
from deniable_aggregator.store import Additions, Arrivals, CounterKey, EpochKey, Store
from support.collection_files import head, metric
from support.stored import put, stored

DAY = 86400
TODAY = 20_000

COLLECTION = Collection.loads(
    head("editor", 4.0, channel=["beta", "stable"], platform=["linux", "windows"])
    + metric("dark", "boolean", "The dark theme is on", memoize=True, instantaneous_epsilon="linkable")
    + metric("browser", "category", "The default browser", values=["chrome", "edge", "firefox"])
)


class CountingStore(Store):
    """A store that counts the keys that are read from it."""

    keys_read = 0

    async def cells(self, digest: int, cells: Any, segments: int) -> Any:
        """Read, and count."""
        self.keys_read += len(cells) * segments
        return await super().cells(digest, cells, segments)


def asked(questions: Callable[[Analyst, CountingStore], Awaitable[None]], now: float = TODAY * DAY) -> None:
    """Run questions against a store of their own."""

    async def run() -> None:
        async with stored() as store:
            store.__class__ = CountingStore
            assert isinstance(store, CountingStore)
            await questions(Analyst(Catalog([COLLECTION]), store, clock=lambda: now), store)

    asyncio.run(run())


def test_a_window_ends_with_the_newest_epoch_that_has_reports() -> None:
    """Devices report an epoch when it is over, so the current one is empty; without a choice, it is not asked."""

    async def questions(analyst: Analyst, store: CountingStore) -> None:
        (empty,) = await analyst.answers("", Query(), "dark")
        assert (empty.first_epoch, empty.last_epoch, empty.estimate.reports) == (TODAY, TODAY, 0)
        await put(store, COLLECTION, TODAY - 3, {"dark": [30, 70]})
        await put(store, COLLECTION, TODAY - 1, {"dark": [10, 40]})
        (newest,) = await analyst.answers("", Query(), "dark")
        assert (newest.last_epoch, newest.estimate.reports) == (TODAY - 1, 50)
        (three,) = await analyst.answers("", Query(epochs=3), "dark")
        assert (three.first_epoch, three.last_epoch, three.estimate.reports) == (TODAY - 3, TODAY - 1, 150)
        (chosen,) = await analyst.answers("", Query(last_epoch=TODAY - 3), "dark")
        assert chosen.estimate == answer(COLLECTION.metrics["dark"], [np.array([30, 70])])

    asked(questions)


def test_an_epoch_that_has_only_begun_does_not_take_the_place_of_a_whole_one() -> None:
    """The newest epoch is asked once it has half as many batches as the fullest."""

    async def questions(analyst: Analyst, store: CountingStore) -> None:
        await put(store, COLLECTION, TODAY - 1, {"dark": [30, 70]}, batches=100)
        await put(store, COLLECTION, TODAY, {"dark": [10, 39]}, batches=49)
        assert (await analyst.answers("", Query(), "dark"))[0].last_epoch == TODAY - 1
        await put(store, COLLECTION, TODAY, {"dark": [1, 0]}, batches=1)
        assert (await analyst.answers("", Query(), "dark"))[0].last_epoch == TODAY

    asked(questions)


def test_a_segment_in_which_nobody_reported_has_no_answer_of_another_one() -> None:
    """Of an epoch that has reports in the first segment alone, the second has none."""

    async def questions(analyst: Analyst, store: CountingStore) -> None:
        await put(store, COLLECTION, TODAY, {"dark": [30, 70]}, segment=0)
        for segment, reports in ((("beta", "linux"), 100), (("beta", "windows"), 0), (("stable", "linux"), 0)):
            query = Query(segment=dict(zip(("channel", "platform"), segment, strict=True)))
            (found,) = await analyst.answers("", query, "dark")
            assert found.estimate.reports == reports

    asked(questions)


def test_segments_are_asked_one_by_one_or_added_up() -> None:
    """One value of a segment is asked over all values of the others, and all of them make up the whole."""

    async def questions(analyst: Analyst, store: CountingStore) -> None:
        for segment in range(4):
            await put(store, COLLECTION, TODAY, {"browser": [10 * (segment + 1), 5, 5]}, segment)
        (whole,) = await analyst.answers("", Query(), "browser")
        assert whole.estimate.reports == 140
        (beta,) = await analyst.answers("", Query(segment={"channel": "beta"}), "browser")
        assert beta.estimate.reports == 20 + 30
        platforms = await analyst.by_segment("", Query(segment={"channel": "beta"}), "browser", "platform")
        assert [each.estimate.reports for each in platforms] == [20, 30]
        assert [each.segment["platform"] for each in platforms] == ["linux", "windows"]
        with pytest.raises(NotKnownError, match="known: channel, platform"):
            await analyst.by_segment("", Query(), "browser", "colour")
        with pytest.raises(NotKnownError, match=r"channel=beta\|stable"):
            await analyst.answers("", Query(segment={"channel": "nightly"}))

    asked(questions)


def test_a_trend_has_a_point_for_every_epoch_with_reports_and_is_about_the_leading_row() -> None:
    """The overview shows the largest share epoch by epoch; epochs without reports are left out, not drawn as zero."""

    async def questions(analyst: Analyst, store: CountingStore) -> None:
        for ago, edge in ((5, 300), (2, 310), (0, 320)):
            await put(store, COLLECTION, TODAY - ago, {"browser": [100, edge, 50], "dark": [80, 20]})
        overview = await analyst.overview("", Query(epochs=3), epochs=30)
        browser, dark = overview.answers
        assert (browser.metric.name, browser.first_epoch, browser.estimate.reports) == ("browser", TODAY - 2, 930)
        trend = overview.trends[0]
        assert trend.row == ("shares", "edge")
        assert [point.epoch for point in trend.points] == [TODAY - 5, TODAY - 2, TODAY]
        assert [point.reports for point in trend.points] == [450, 460, 470]
        alone = await analyst.by_epoch("", Query(epochs=30), "browser")
        assert [point.row for point in trend.points] == [each.estimate.rows[1] for each in alone]
        assert dark.effective == pytest.approx(100)

    asked(questions)


def test_rows_of_which_nothing_is_known_are_not_the_largest() -> None:
    """Of flags that devices draw some have no reports yet: they stand behind all others, wherever they are."""
    text = """
[collection]
name = "drawn"
epoch = "1d"
owner = "telemetry@example.org"
[budget]
epoch = 2.0
[metrics.addons]
kind = "flags"
description = "What is installed"
flags = ["a", "b", "c", "d", "e"]
epsilon = 2.0
"""
    collection = Collection.loads(text)
    metric = collection.metrics["addons"]
    counters = [np.array([0, yes] if not yes else [10 - yes, yes]) for yes in (0, 4, 0, 7, 5)]
    found = answer(metric, counters)
    assert [math.isnan(row.value) for row in found.rows] == [True, False, True, False, False]
    assert leading(metric, found) == ("shares", "d")

    async def cut(analyst: Analyst, store: CountingStore) -> None:
        analyst.catalog.replace([collection])
        keys = [CounterKey(collection.digest, number, TODAY, 0) for number in range(5)]
        size, entry = [2] * 5, np.arange(10)
        additions = Additions.checked(keys, size, entry // 2, entry % 2, np.concatenate(counters))
        await store.add(0, {EpochKey(collection.digest, TODAY): Arrivals([bytes(16)], DAY, DAY)}, additions)
        for rows, largest in ((1, "d"), (2, "de"), (4, "deba")):
            (told,) = await analyst.answers("drawn", Query(last_epoch=TODAY, rows=rows))
            assert [row.key for row in told.estimate.rows] == [*largest]

    asked(cut)


def test_only_what_has_changed_is_read_again() -> None:
    """Asking again reads nothing; a batch of one epoch has that epoch read again, and the answer follows."""

    async def questions(analyst: Analyst, store: CountingStore) -> None:
        for ago in range(10):
            await put(store, COLLECTION, TODAY - ago, {"dark": [60, 40]})
        first = await analyst.overview("", Query(epochs=10), epochs=10)
        before, version = store.keys_read, await analyst.version("", Query(epochs=10))
        assert await analyst.overview("", Query(epochs=10), epochs=10) == first
        assert store.keys_read == before
        assert await analyst.version("", Query(epochs=10)) == version
        await put(store, COLLECTION, TODAY - 4, {"dark": [1, 0]})
        assert await analyst.version("", Query(epochs=10)) != version
        again = await analyst.overview("", Query(epochs=10), epochs=10)
        assert again.answers[1].estimate.reports == first.answers[1].estimate.reports + 1
        assert store.keys_read == before + 2 * 4  # the epoch's two columns in four segments

    asked(questions)


def test_an_epoch_whose_ids_are_forgotten_keeps_its_answers() -> None:
    """The ids of an old epoch expire; its counters, which nothing can change any more, are still what they were."""

    async def questions(analyst: Analyst, store: CountingStore) -> None:
        await put(store, COLLECTION, TODAY - 9, {"dark": [60, 40]})
        (before,) = await analyst.answers("", Query(last_epoch=TODAY - 9), "dark")
        ids = b"deniable:{0}:seen:%016x.%d" % (COLLECTION.digest, TODAY - 9)
        await store._servers.ask(ids, ("DEL", ids))
        (after,) = await analyst.answers("", Query(last_epoch=TODAY - 9), "dark")
        assert after == before
        assert after.estimate.reports == 100

    asked(questions)


def test_counters_are_let_go_of_when_there_are_too_many_of_them() -> None:
    """With room for one epoch only, answers are the same as with room for all."""

    async def questions(analyst: Analyst, store: CountingStore) -> None:
        for ago in range(4):
            await put(store, COLLECTION, TODAY - ago, {"browser": [10 + ago, 20, 30]})
        roomy = await analyst.by_epoch("", Query(epochs=4), "browser")
        tight = Analyst(Catalog([COLLECTION]), store, clock=lambda: TODAY * DAY)
        tight._counters._most_bytes = 300
        assert await tight.by_epoch("", Query(epochs=4), "browser") == roomy
        assert tight._counters._size <= 300
        assert (await store.read([CounterKey(COLLECTION.digest, 0, TODAY, 0)]))[0] is not None

    asked(questions)


@pytest.mark.parametrize("choices", [{"epochs": 0}, {"epochs": 1_000_000}, {"confidence": 1.0}, {"confidence": 0.0}])
def test_a_query_that_can_not_be_answered_does_not_exist(choices: dict[str, Any]) -> None:
    """A window has epochs, and a confidence level lies between 0 and 1."""
    with pytest.raises(ValueError, match=r"epochs|between 0 and 1"):
        Query(**choices)
