"""What an aggregator would do, found out without doing it: nothing listens, and nothing is written into a store.

Whatever would keep it from serving is raised, as it would be when it starts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from deniable_aggregator.serving.access import Access
from deniable_aggregator.serving.server import Settings
from deniable_aggregator.serving.sources import Sources, collections_of
from deniable_aggregator.store import Store, is_begun, reached, refuse_strangers

__all__ = ["checked"]


async def checked(settings: Settings, sources: Sources) -> list[str]:
    """What would be done, in sentences."""
    own = collections_of(sources.read())
    access = settings.access
    access.check()
    how = "in the clear" if access.certificate is None else f"by TLS with {access.certificate}"
    asked = [
        f"would serve {each.name}, version {each.version}: {len(each.metrics)} metrics"
        + (f", retired from {each.retired} on" if each.retired else "")
        for each in own
    ]
    return [
        *(asked or ["would serve nothing yet: there is no collection"]),
        f"would take reports and questions on {settings.listen}, {how}, from {_whom(access)}",
        await _of_store(settings),
    ]


def _whom(access: Access) -> str:
    """Who is let in."""
    shown = [
        *([f"shows a certificate of {access.client_ca}"] if access.client_ca else []),
        *([f"has a token of {access.tokens}"] if access.tokens else []),
    ]
    return f"whoever {' and '.join(shown)}" if shown else "everybody who reaches it"


async def _of_store(settings: Settings) -> str:
    data = settings.data_dir
    if data and not is_begun(data) and (data.is_dir() or not data.exists()):
        refuse_strangers(data)
        return f"would begin a store in {data}"
    async with _address(settings) as url:
        store = Store(url, shards=settings.shards, durability=settings.durability)
        try:
            begun = await store.looked_at(simulated=settings.simulated)
        finally:
            await store.close()
    named = data or _without_password(url)
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
