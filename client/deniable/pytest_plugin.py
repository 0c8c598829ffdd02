"""A pytest plugin: `pytest_plugins = ["deniable.pytest_plugin"]` in a conftest.py gives `deniable_client`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from deniable.collection import Collection
from deniable.testing import TestClient

__all__ = ["deniable_client"]


@pytest.fixture
def deniable_client() -> Iterator[Callable[[Collection | str | Path], TestClient]]:
    """Makes test clients of collections, or of their files, and closes them after the test."""
    with ExitStack() as clients:

        def make(collection: Collection | str | Path) -> TestClient:
            if not isinstance(collection, Collection):
                collection = Collection.load(collection)
            return clients.enter_context(TestClient(collection))

        yield make
