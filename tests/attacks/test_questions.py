"""Readers who ask for too much: what a question costs is known before, and devices do not wait for it."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from deniable import Collection
from deniable.v1 import estimate_service_pb2 as pb
from deniable.v1 import estimate_service_pb2_grpc
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.prices import _ROW as ROW
from deniable_aggregator.analysis.prices import MOST, Price, TooDearError
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.analysis.remembered import Remembered, state_of
from deniable_aggregator.analysis.turns import SLICE
from deniable_aggregator.answers import answer, row_count, searching
from deniable_aggregator.planning.simulate import simulate
from deniable_aggregator.serving.estimate_service import EstimateService
from deniable_aggregator.store import Store
from deniable_aggregator.telling.questions import Questions
from support.aggregator_server import DAY, connected
from support.aggregators import DESK, EXACT, batch, running
from support.site import Running
from support.site import running as site
from support.stored import put, stored
from support.toy import known
from support.waiting import PATIENCE

TODAY = 20_000
_VALUES = ", ".join(f'"v{number}"' for number in range(16))
TEXT = (
    '[collection]\nname = "big"\nepoch = "1d"\nowner = "a@b.example"\n[budget]\nepoch = 100\n'
    f"[segments]\none = [{_VALUES}]\nother = [{_VALUES}]\n"
    + "".join(
        f'[metrics.m{number:02}]\nkind = "category"\nvalues = ["a", "b", "c", "d", "e"]\n'
        'description = "It"\nepsilon = 1\n'
        for number in range(20)
    )
)
COLLECTION = Collection.loads(TEXT)
"""256 segments and 20 metrics."""


class CountingStore(Store):
    """A store that counts the cells that are read from it."""

    cells_read = 0

    async def cells(self, digest: int, cells: Any, segments: int) -> Any:
        """Read, and count."""
        self.cells_read += len(cells) * segments
        return await super().cells(digest, cells, segments)


def asked(work: Any, collection: Collection = COLLECTION) -> None:
    """Run something against an analyst with a store of its own."""

    async def run() -> None:
        async with stored() as store:
            store.__class__ = CountingStore
            await work(Analyst(Catalog([collection]), store, clock=lambda: TODAY * DAY), store)

    asyncio.run(run())


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """An aggregator of a large collection; nothing has been reported."""
    with site(COLLECTION) as started:
        yield started


def test_a_message_of_a_few_bytes_buys_no_minutes_of_work(aggregator: Running) -> None:
    """Ten years of everything are refused before any of it is read, in words that say what would fit."""
    every = pb.ListEstimatesRequest(query=pb.Query(epochs=3660, last_epoch=TODAY))
    assert len(every.SerializeToString()) <= 14
    with grpc.insecure_channel(aggregator.endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        with pytest.raises(grpc.RpcError) as refused:
            service.ListEstimates(every, timeout=PATIENCE)
    error: Any = refused.value
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert f"{MOST:,} is the most" in error.details()
    assert "epochs at the most" in error.details()
    assert "one metric at a time" in error.details()


def test_nothing_is_read_for_a_question_that_is_refused() -> None:
    """The price is known from the catalog alone."""

    async def work(analyst: Analyst, store: CountingStore) -> None:
        for question in (
            Questions(analyst).estimates("me", "", pb.Query(epochs=3660)),
            Questions(analyst).overview("me", "", pb.Query(epochs=1), 3660),
            Questions(analyst).overview("me", "", pb.Query(last_epoch=(1 << 31)), (1 << 32) - 1),
        ):
            with pytest.raises((TooDearError, ValueError)):
                await question
        assert store.cells_read == 0

    asked(work)


def test_what_a_refusal_says_would_fit_does() -> None:
    """So many epochs are below the bound, and one more is not; one metric of twenty is below it for all of them."""
    metrics = list(COLLECTION.metrics.values())
    with pytest.raises(TooDearError, match=r"ask for [0-9,]+ epochs at the most, or one metric at a time") as refused:
        Price(COLLECTION, metrics, 3660).check()
    epochs = int(str(refused.value).partition("ask for ")[2].partition(" epochs")[0].replace(",", ""))
    assert Price(COLLECTION, metrics, epochs).check() <= MOST
    with pytest.raises(TooDearError):
        Price(COLLECTION, metrics, epochs + 1).check()
    assert all(Price(COLLECTION, [metric], 3660).check() for metric in metrics)


def test_a_year_of_everything_is_answered() -> None:
    """What people ask for is far below the bound: a year of twenty metrics in 256 segments is read and added up."""

    async def work(analyst: Analyst, store: CountingStore) -> None:
        for epoch in (TODAY - 364, TODAY - 3, TODAY):
            for segment in (0, 7, 255):
                await put(store, COLLECTION, epoch, {"m07": [1, 2, 3, 4, 5]}, segment)
        answers = await Questions(analyst).estimates("me", "", pb.Query(epochs=365, last_epoch=TODAY))
        assert [own.reports for own in answers] == [135 if own.metric == "m07" else 0 for own in answers]
        assert store.cells_read == 365 * 256 * 20

    asked(work)


def test_no_slice_of_an_answer_is_longer_than_it_may_be() -> None:
    """Between two turns of the loop no more is done than a slice, and the last piece of work that ended it."""

    async def work(analyst: Analyst, store: CountingStore) -> None:
        await put(store, COLLECTION, TODAY, {"m00": [10, 20, 30, 40, 50]})
        asking = asyncio.create_task(Questions(analyst).estimates("me", "", pb.Query(epochs=100, last_epoch=TODAY)))
        done = [0]
        while not asking.done():
            await asyncio.sleep(0)
            done.append(analyst.turns.done)
        assert len(await asking) == 20
        assert max(after - before for before, after in itertools.pairwise(done)) <= 2 * SLICE
        assert done[-1] > 50 * SLICE

    asked(work)


def test_a_question_whose_asker_has_gone_is_not_answered_on() -> None:
    """Cancelled, it stops at the end of a slice, and its turn is another's."""

    async def work(analyst: Analyst, store: CountingStore) -> None:
        questions, turns = Questions(analyst), analyst.turns
        asking = [
            asyncio.create_task(questions.estimates("me", "", pb.Query(epochs=500, last_epoch=TODAY)))
            for _ in range(6)
        ]
        while turns.done < SLICE:  # noqa: ASYNC110 - turn by turn
            await asyncio.sleep(0)
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        done, read = turns.done, store.cells_read
        (answer,) = await questions.estimates("me", "", pb.Query(), "m00")
        assert answer.reports == 0
        assert turns.done - done < 3 * SLICE
        assert store.cells_read - read == 256

    asked(work)


def test_ten_years_are_remembered_in_as_little_room_as_a_day() -> None:
    """Answers about many epochs are kept by a digest of what they were made from, and few enough are kept."""
    assert len(state_of([7] * 3660)) == len(state_of([7])) == 16
    remembered = Remembered()
    for number in range(200_000):
        remembered.keep((0, "m", number, number + 1, 0), b"", number, lambda _: 1)
    assert len(remembered._kept) <= 100_000


def test_no_question_is_answered_with_what_was_found_for_another() -> None:
    """While one is being answered, a thousand others are asked, so that their numbers are forgotten: that of the one
    is not given to another, for whom its answer would be kept."""

    async def work(analyst: Analyst, store: CountingStore) -> None:
        read, held, go = store.cells, asyncio.Event(), asyncio.Event()

        async def cells(digest: int, cells: Any, segments: int) -> Any:
            held.set()
            await go.wait()
            return await read(digest, cells, segments)

        await put(store, COLLECTION, TODAY, {"m00": [400, 300, 200, 120, 80]})
        store.cells = cells  # type: ignore[method-assign]
        asking = asyncio.create_task(analyst.answers("", Query(last_epoch=TODAY, confidence=0.5), "m00"))
        await held.wait()
        for number in range(999):
            analyst._remembered.number(number)
        other = Query(last_epoch=TODAY)
        await analyst.version("", other)
        go.set()
        (one,), (another,) = await asking, await analyst.answers("", other, "m00")
        assert (one.estimate.confidence, another.estimate.confidence) == (0.5, 0.95)

    asked(work)


def test_a_watch_of_a_dear_question_is_answered_as_often_as_it_is_cheap() -> None:
    """A watch is asked for again every second; one that costs much has longer pauses, by its price."""

    async def work(analyst: Analyst, _: CountingStore) -> None:
        service = EstimateService(analyst)
        assert service._pause("", pb.Query()) == 1
        epochs = 500
        price = Questions(analyst).price("", pb.Query(epochs=epochs)).check()
        assert service._pause("", pb.Query(epochs=epochs)) == pytest.approx(price / 10_000_000)
        assert price > 100_000_000

    asked(work)


def test_a_watch_waits_where_too_many_questions_do(aggregator: Running) -> None:
    """A question is refused then, and can be asked again; a watch goes on, and is answered when there is room."""
    turns = aggregator.analyst_of(aggregator.server.store).turns

    async def fill() -> list[asyncio.Task[None]]:
        async def hold(asker: str) -> None:
            async with turns.question(asker, 1):
                await asyncio.Event().wait()

        tasks = [asyncio.create_task(hold(f"asker {number % 20}")) for number in range(68)]
        while len(turns._waiting) < 64:  # noqa: ASYNC110 - turn by turn
            await asyncio.sleep(0)
        return tasks

    async def leave(tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    tasks = aggregator.wait_for(fill())
    with grpc.insecure_channel(aggregator.endpoint) as channel:
        service = estimate_service_pb2_grpc.EstimateServiceStub(channel)
        watch: Any = service.WatchEstimates(pb.WatchEstimatesRequest(), timeout=PATIENCE)
        with pytest.raises(grpc.RpcError) as refused:
            service.GetEstimate(pb.GetEstimateRequest(metric="m00"), timeout=PATIENCE)
        error: Any = refused.value
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert told(f"{aggregator.url}/api/v1/collections/big/estimates") == 429
        aggregator.wait_for(leave(tasks))
        assert len(next(watch).estimates) == 20
        watch.cancel()


def test_a_dear_question_is_refused_over_http(aggregator: Running) -> None:
    """Asking again later would not help: it is another status than that of too many."""
    assert told(f"{aggregator.url}/api/v1/collections/big/estimates?last=3660&last_epoch={TODAY}") == 422
    assert told(f"{aggregator.url}/api/v1/collections/big/overview?trend=3660&last_epoch={TODAY}") == 422


def told(url: str) -> int:
    """The status of an answer that is none."""
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, timeout=PATIENCE)
    with refused.value as answer:
        assert json.loads(answer.read())["error"]["status"] == "RESOURCE_EXHAUSTED"
    return int(refused.value.code)


SERIES = (
    TEXT.partition("[metrics")[0]
    + """
[metrics.level]
kind = "ordinal"
values = ["low", "high", "higher"]
description = "It"
epsilon = 1
[metrics.where]
kind = "place"
values = ["a/a", "b/b", "c/c", "d/d", "e/e", "f/f", "g/g", "h/h"]
description = "It"
epsilon = 1
"""
)
"""Metrics of several series, one of which has most of its rows only where something was reported."""


def test_who_asks_is_charged_for_the_rows_that_are_told() -> None:
    """Once each, however many series they are in, and none that an answer does not have."""

    async def work(analyst: Analyst, _: object) -> None:
        questions, rows = Questions(analyst), 4 + 1  # of places, how many were found
        query = pb.Query(last_epoch=TODAY)

        async def told() -> tuple[int, int]:
            """What telling all answers costs, and telling them as an overview, when they are remembered."""
            found = []
            for asking in (questions.estimates("me", "", query), questions.overview("me", "", query, 1)):
                before = analyst.turns.done
                await asking
                found.append(analyst.turns.done - before)
            return found[0], found[1]

        await told()
        assert await told() == (rows * ROW, rows * ROW)

    with known():
        asked(work, Collection.loads(SERIES))


def test_every_kind_has_the_rows_that_are_charged_for(everything: Collection) -> None:
    """The number of rows is told without an answer, and is that of the answer, as finely as it may be told."""
    from planning.everything import populations

    generator = np.random.default_rng(1)
    for metric in everything.metrics.values():
        few = simulate(metric, populations(300)[metric.name], generator)
        many = [10**6 * own for own in few] if metric.kind.name == "distribution" else few
        assert len(answer(metric, few).rows) <= row_count(metric)
        if not searching(metric):  # of what is found there can be so many at the most
            assert row_count(metric) <= len(answer(metric, many).rows) + 1


@pytest.fixture
def everything() -> Collection:
    """A metric of every kind."""
    from planning.everything import collection

    return collection(1.0)


def test_devices_do_not_wait_for_questions(tmp_path: Path) -> None:
    """While the process that answers questions is stopped, and many wait, devices' batches are acknowledged."""
    file = tmp_path / "metrics.toml"
    file.write_text(EXACT)

    async def run() -> None:
        async with running(file, "--data", tmp_path / "data") as started, connected(started.port) as device:
            (desk,) = [pid for pid, name in started.children().items() if name == DESK]
            (worker,) = started.workers()
            behind = os.getpriority(os.PRIO_PROCESS, worker) + 1
            assert os.getpriority(os.PRIO_PROCESS, desk) >= min(behind, 19)  # beyond which nobody gives way
            async with grpc.aio.insecure_channel(started.endpoint) as channel:
                service: Any = estimate_service_pb2_grpc.EstimateServiceStub(channel)
                os.kill(desk, signal.SIGSTOP)
                try:
                    asking = [
                        asyncio.ensure_future(service.ListEstimates(pb.ListEstimatesRequest(), timeout=PATIENCE))
                        for _ in range(10)
                    ]
                    for _ in range(50):
                        assert not await device.submit(batch())
                    assert not any(each.done() for each in asking)
                finally:
                    os.kill(desk, signal.SIGCONT)
                reports = [answer.estimates[0].reports for answer in await asyncio.gather(*asking)]
                assert reports == [50] * 10
                os.kill(desk, signal.SIGKILL)
                assert not await device.submit(batch())

                async def again() -> bool:
                    try:
                        answer = await service.ListEstimates(pb.ListEstimatesRequest(), timeout=PATIENCE)
                    except grpc.aio.AioRpcError as error:
                        if error.code() is not grpc.StatusCode.UNAVAILABLE:
                            raise
                        return False
                    return int(answer.estimates[0].reports) == 51

                while not await again():  # noqa: ASYNC110 - it is another process
                    await asyncio.sleep(0.1)

    asyncio.run(asyncio.wait_for(run(), PATIENCE))
