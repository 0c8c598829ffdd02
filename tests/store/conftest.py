"""One embedded store for all tests of a file that only add to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.aggregator_store import Place, place


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A store with one shard."""
    with place(tmp_path_factory.mktemp("store")) as a_place:
        yield a_place
