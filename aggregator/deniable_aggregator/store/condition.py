"""How the servers of a store are, as they say themselves: for who looks whether they are as they should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from redis.exceptions import ResponseError

from deniable_aggregator.store.links import Link

__all__ = ["Condition", "conditions_of"]

_SETTINGS = ("maxmemory-policy", "appendonly", "appendfsync")


class Condition(NamedTuple):
    """How a server is."""

    time: float
    """By its clock, in seconds since 1970."""
    settings: Mapping[str, str]
    """How it is set; nothing where that may not be asked."""
    info: Mapping[str, str]
    """What it says of itself."""

    def number(self, name: str) -> int:
        """A number of what it says; 0 where it says none."""
        return int(self.info.get(name, 0))


async def conditions_of(link: Link) -> list[Condition]:
    """How each of them is."""
    found = []
    for told in await link.ask_everywhere(("TIME",), ("INFO",), *(("CONFIG", "GET", name) for name in _SETTINGS)):
        (seconds, micro), info, *settings = told
        lines = (line.partition(":") for line in info.decode().splitlines())
        said = [own for own in settings if not isinstance(own, ResponseError)]
        found.append(
            Condition(
                int(seconds) + int(micro) / 1e6,
                {own[0].decode(): own[1].decode() for own in said if own},
                {name: value for name, _, value in lines},
            )
        )
    return found
