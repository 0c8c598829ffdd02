"""Doubts: they are put together or not at all, and kept apart by collection and length of epochs."""

from __future__ import annotations

import pytest

from deniable_aggregator.store import Doubt, Doubted
from support.aggregator_store import Place

DAY, HOUR = Doubted("editor: the new one", 86_400, 20_000), Doubted("editor: the new one", 3_600, 20_000)


def test_doubts_are_read_as_they_were_put(here: Place) -> None:
    """Whatever a collection is called; one is replaced, and withdrawn, by itself."""
    doubts = here.store.doubts
    before = here.run(doubts.all())
    here.run(doubts.put({DAY: Doubt("restored"), HOUR: Doubt("fakes")}))
    here.run(doubts.put({DAY: Doubt("restored", removed=True)}))
    assert here.run(doubts.all()) == {**before, DAY: Doubt("restored", removed=True), HOUR: Doubt("fakes")}
    here.run(doubts.withdraw([DAY, HOUR]))
    assert here.run(doubts.all()) == before


def test_doubts_are_put_together_or_not_at_all(here: Place) -> None:
    """However many they are it takes one look and one statement; where one has no reason none is put."""
    doubts = here.store.doubts
    before = here.run(doubts.all())
    many = {DAY._replace(epoch=epoch): Doubt("restored") for epoch in range(300)}
    with pytest.raises(ValueError, match="one line of 1 to 300 characters"):
        here.run(doubts.put({**many, HOUR: Doubt("")}))
    assert here.run(doubts.all()) == before
    with here.raw() as server:
        server.config_resetstat()
        here.run(doubts.put(many))
        said = server.info("commandstats")
    assert [said[f"cmdstat_{name}"]["calls"] for name in ("hgetall", "hset")] == [1, 1]
    here.run(doubts.withdraw(many))
    assert here.run(doubts.all()) == before
