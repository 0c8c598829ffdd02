"""What was stored before metrics had identities: counters are read as they are, and a device's memory goes on.

`earlier_store.json` has the keys of a store, and `earlier_device.sql` a state file, as the version before this one
wrote them: forty reports of each metric in each of three days, and a device in the middle of its second day.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import redis

from deniable import Collection
from deniable_aggregator.analysis.catalog import Catalog
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import Query
from deniable_aggregator.answers import answer
from deniable_aggregator.store import Store
from support.device import Device
from support.stored import stored_in

HERE = Path(__file__).parent
EARLIER: dict[str, Any] = json.loads((HERE / "earlier_store.json").read_text())
DAY, LAST = 86_400, 20_002
OLD = Collection.loads(EARLIER["collection"])
NEW = Collection.loads(
    EARLIER["collection"].replace("ofen", "often").replace("[budget]", "version = 1\n[budget]")
    + '[metrics.added]\nkind = "boolean"\ndescription = "d"\nepsilon = 1\n'
)


def restore(store: Store) -> None:
    """Write the keys as they were."""
    link: Any = store._servers._link
    with redis.Redis(unix_socket_path=link._pool.connection_kwargs["path"]) as server:
        for name, (kind, value) in EARLIER["keys"].items():
            if kind == "string":
                server.set(name, bytes.fromhex(value))
            else:
                assert kind == "set"
                server.sadd(name, *map(bytes.fromhex, value))


@pytest.mark.parametrize("served", [[OLD], [NEW, OLD]], ids=["its version", "with the next one"])
def test_a_store_of_the_version_before_is_read(served: list[Collection], tmp_path: Path) -> None:
    """Each answer is that of its counters, over all epochs and in each, alone and beside a mended version."""
    assert OLD.digest == EARLIER["digest"]

    async def read() -> None:
        async with stored_in(tmp_path) as empty:
            restore(empty)
        async with stored_in(tmp_path) as store:
            analyst = Analyst(Catalog(served), store, clock=lambda: (LAST + 1) * DAY)
            for name in OLD.metrics:
                days = await analyst.by_epoch("earlier", Query(epochs=9), name)
                assert [each.last_epoch for each in days] == [LAST - 2, LAST - 1, LAST]
                for day in days:
                    own = [np.array(EARLIER["counters"][f"{day.last_epoch} {segment}"][name]) for segment in (0, 1)]
                    assert repr(day.estimate) == repr(answer(OLD.metrics[name], [own[0] + own[1]]))

    asyncio.run(read())


def earlier(asked: Collection, path: Path) -> Device:
    """The device, with a collection that it has now."""
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.executescript((HERE / "earlier_device.sql").read_text())
    connection.close()
    path.chmod(0o600)
    return Device(asked, path)


@pytest.mark.parametrize(("asked", "often"), [(OLD, "9"), (NEW, "5")], ids=["its version", "the next one"])
def test_a_device_of_the_version_before_goes_on(asked: Collection, often: str, tmp_path: Path) -> None:
    """Its memory is told again, and not paid for again, whichever version asks; its day is answered.

    Values of that day were kept under the digest of its version: who gets the next one on the same day answers with
    what was recorded since. That happens once: from now on values are kept under what they mean.
    """
    device = earlier(asked, tmp_path / "device.db")
    device.keep({"often": 5, "theme": "b"}, LAST - 1)
    assert device.seal((LAST - 0.5) * DAY) == {}
    query = "SELECT state FROM raw WHERE metric = 'often' ORDER BY digest <> ?"
    own = f"{asked.identities['often']:016x}"
    assert device.state.run(lambda connection: connection.execute(query, (own,)).fetchone()) == (often,)
    (reports,) = device.seal(LAST * DAY).values()
    (theme,) = (report for report in reports if asked.columns[report.column].metric == "theme")
    assert theme.payload == 0, "which is what it had told the day before"
    assert [(line.metric, line.epsilon) for line in device.ledger] == [
        ("often", 1.0), ("theme", 1.0), ("often", 1.0), ("theme", 0.0),
    ]  # fmt: skip


def test_a_memory_is_found_in_the_words_that_it_had_however_late_it_is_asked_for(tmp_path: Path) -> None:
    """Words are mended with the update, and the metric is not answered in the first epoch: then others are noted."""
    device = earlier(
        Collection.loads(EARLIER["collection"].replace("The theme", "The colours")), tmp_path / "device.db"
    )
    for epoch, values in ((LAST, {"often": 1}), (LAST + 1, {"often": 1, "theme": "b"})):
        device.keep(values, epoch)
        assert [*device.seal((epoch + 1) * DAY)] == [epoch]
    assert [(line.epsilon, line.start // DAY) for line in device.ledger if line.metric == "theme"] == [
        (1.0, LAST - 2), (0.0, LAST + 1),
    ]  # fmt: skip
