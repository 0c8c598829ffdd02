"""The stores that its tests run against: the bundled Valkey and Debian's Redis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from support.aggregator_store import Fresh, Place, place, redis_place
from support.servers import REDIS

PLACES = [
    place,
    pytest.param(redis_place, marks=pytest.mark.skipif(REDIS is None, reason="no redis-server: make system-tools")),
]


@pytest.fixture(scope="module", params=PLACES, ids=["valkey", "redis"])
def kind(request: pytest.FixtureRequest) -> Fresh:
    """Which server."""
    found: Fresh = request.param
    return found


@pytest.fixture(scope="module")
def here(kind: Fresh, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A store with one shard for all tests that only add to it."""
    with kind(tmp_path_factory.mktemp("store")) as a_place:
        yield a_place


@pytest.fixture
def fresh(kind: Fresh, tmp_path: Path) -> Fresh:
    """Makes a store of a test's own."""
    return partial(kind, tmp_path)
