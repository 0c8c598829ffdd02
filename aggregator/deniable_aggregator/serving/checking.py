"""What an aggregator would do, found out without doing it: nothing listens, and nothing is written into a store.

Whatever would keep it from serving is raised, as it would be when it starts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from deniable_aggregator.serving.server import Settings
from deniable_aggregator.serving.sources import Sources, collections_of
from deniable_aggregator.store import Store, StoreUnfit, reached

__all__ = ["checked"]


async def checked(settings: Settings, sources: Sources) -> list[str]:
    """What would be done, in sentences."""
    own = collections_of(sources.read())
    access = settings.access
    access.check()
    how = "in the clear" if access.certificate is None else f"by TLS with {access.certificate}"
    whom = f"whoever has a token of {access.tokens}" if access.tokens else "everybody who reaches it"
    asked = [f"would serve {each.name}, version {each.version}: {len(each.metrics)} metrics" for each in own]
    return [
        *(asked or ["would serve nothing yet: there is no collection"]),
        f"would take reports and questions on {settings.listen}, {how}, from {whom}",
        await _of_store(settings),
    ]


async def _of_store(settings: Settings) -> str:
    if settings.data_dir and not settings.data_dir.exists():
        return f"would begin a store in {settings.data_dir}"
    async with _address(settings) as url:
        store = Store(url, shards=settings.shards, durability=settings.durability)
        try:
            begun = await store.looked_at()
            simulated = begun and await store.simulated()
        finally:
            await store.close()
    named = settings.data_dir or _without_password(url)
    if begun and settings.simulated and not simulated:
        raise StoreUnfit("this store was begun for real devices: simulated ones have one of their own, by --data")
    return f"would {'go on with' if begun else 'begin'} a store at {named}, which is reached"


@asynccontextmanager
async def _address(settings: Settings) -> AsyncIterator[str]:
    """Where the store is; an embedded one is started for as long as this takes, if no aggregator runs it."""
    if settings.redis_url:
        yield settings.redis_url
        return
    assert settings.data_dir is not None
    async with reached(settings.data_dir) as url:
        yield url


def _without_password(url: str) -> str:
    """Nor its options, of which a password can be one."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
