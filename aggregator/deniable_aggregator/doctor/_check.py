"""What a look is, and what it is taken at.

words:
  look     at one thing: it finds nothing, or says what is wrong, and what to do
  subject  the deployment: what an aggregator of it is told, and where one is said to be reached
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from deniable._paths import told
from deniable_aggregator.serving.server import Settings
from deniable_aggregator.store import Durability, Store, StoreError, is_begun, reached

__all__ = ["OTHERS", "CannotLook", "Check", "Finding", "Look", "Subject", "Wrong"]

OTHERS = 0o037
"""What of a secret file's mode lets in whom it is not for: a group may read it, as the account that serves has to."""
Wrong = tuple[str, str]
"""What is wrong, and what to do."""


class CannotLook(Exception):  # noqa: N818  (what happened is the better name)
    """A look can not be taken; the message says why, and is empty where there is nothing to look at."""


class Finding(NamedTuple):
    """Something that is wrong."""

    check: str
    what: str
    do: str


@dataclass
class Subject:
    """A deployment."""

    settings: Settings
    collections: tuple[Path, ...]
    """Files and directories."""
    page: str | None = None
    """Where the page is to listen."""
    page_by_tls: bool = False
    """Whether it speaks TLS there, with the certificate of the settings."""
    collector: str | None = None
    """Where spans and figures are to be sent."""
    endpoint: str | None = None
    """Where an aggregator is said to be reached."""
    roots: Path | None = None
    """Whom to trust there."""
    token_file: Path | None = None
    """What has a token that reads, for a page that asks for one."""
    clock: Callable[[], float] = time.time
    patience: float = 5.0
    """Seconds in which whoever is asked has to have answered."""
    silent: dict[str, CannotLook] = field(default_factory=dict, init=False)
    """Addresses at which no page has answered: none is waited for twice."""
    leaving: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)
    _store: Store | None = field(default=None, init=False)
    _lost: str = field(default="", init=False)

    async def store(self) -> Store:
        """The store, opened and not written to; a CannotLook where there is none yet, or it is not to be had."""
        if self._lost:
            raise CannotLook(self._lost)
        if self._store is None:
            try:
                self._store = await self._opened()
            except (StoreError, OSError) as error:
                self._lost = told(error) if isinstance(error, OSError) else str(error)
                raise CannotLook(self._lost) from error
        return self._store

    async def _opened(self) -> Store:
        settings = self.settings
        if settings.data_dir is not None and not is_begun(settings.data_dir):
            raise CannotLook
        url = settings.redis_url
        if url is None:
            assert settings.data_dir is not None
            url = await self.leaving.enter_async_context(reached(settings.data_dir))
        durability = Durability() if settings.data_dir else settings.durability
        store = Store(url, shards=settings.shards, durability=durability)
        self.leaving.push_async_callback(store.close)
        await store.looked_at(simulated=settings.simulated)
        return store


Look = Callable[[Subject], AsyncIterator[Wrong]]


class Check(NamedTuple):
    """A look, and what it is called."""

    name: str
    look: Look
