"""A store of a newer release is left as it is; one of before there were numbers is gone on with."""

from __future__ import annotations

import pytest

from deniable_aggregator.store import SchemaMismatch, Store
from deniable_aggregator.store.schema import SCHEMA
from support.aggregator_store import Fresh


@pytest.mark.parametrize("newer", [str(SCHEMA + 1), "2b"])
def test_a_store_of_a_newer_release_is_refused_and_left_as_it_is(fresh: Fresh, newer: str) -> None:
    """By who opens it, and by who looks at it; it says which number it has, and what to do."""
    with fresh() as place, place.raw() as server:
        server.set("deniable:schema", newer)
        before = {name: server.dump(name) for name in server.keys("*")}
        store = Store(place.url)
        for opened in (store.open(), store.looked_at()):
            with pytest.raises(
                SchemaMismatch, match=rf"schema {newer}; this release knows {SCHEMA}\).*newer release"
            ):
                place.run(opened)
        place.run(store.close())
        assert {name: server.dump(name) for name in server.keys("*")} == before


def test_a_store_without_a_number_is_given_one(fresh: Fresh) -> None:
    """As of before there were any; what it has stays."""
    with fresh() as place, place.raw() as server:
        server.delete("deniable:schema", "deniable:identity")
        place.run(place.store.open())
        assert server.get("deniable:schema") == str(SCHEMA).encode()
        assert len(server.get("deniable:identity")) == 16
        assert server.get("deniable:shards") == b"1"
