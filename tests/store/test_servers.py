"""What servers refuse, and what that means for who has asked."""

from __future__ import annotations

import pytest

from deniable_aggregator.store import Durability, StoreError, StoreFull, StoreUnavailable
from deniable_aggregator.store.links import Command, link_to
from deniable_aggregator.store.servers import Places, packed
from support.aggregator_store import Fresh, Place

WRITE: Command = ("SET", "a", 1)


def refused(here: Place, *command: bytes | str | int) -> StoreError:
    """The error that a command ends with."""

    async def ask() -> None:
        servers = Places(link_to(here.url, 5.0), Durability())
        try:
            await servers.ask(b"a", command)
        finally:
            await servers.close()

    with pytest.raises(StoreError) as caught:
        here.run(ask())
    return caught.value


@pytest.mark.parametrize("command", [("GET", "a", "b"), ("NOTHING",), ("INCR", "list")])
def test_what_makes_no_sense_will_not_make_sense_later(here: Place, command: Command) -> None:
    """A command that is malformed, unknown, or for another type is an error, and no outage."""
    with here.raw() as raw:
        raw.delete("list")
        raw.rpush("list", 1)
    assert type(refused(here, *command)) is StoreError


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (("CONFIG", "SET", "min-replicas-to-write", 1), StoreUnavailable),
        (("REPLICAOF", "127.0.0.1", 1), StoreUnavailable),
        (("CONFIG", "SET", "maxmemory", 1), StoreFull),
    ],
    ids=["it has lost its replicas", "it became a replica", "without memory"],
)
def test_a_server_that_takes_no_writes_is_away_or_full(
    fresh: Fresh, changed: Command, error: type[StoreError]
) -> None:
    """Until its replicas are back; another is in charge, or soon will be; until there is room."""
    with fresh() as here, here.raw() as raw:
        raw.execute_command(*changed)
        assert type(refused(here, *WRITE)) is error


@pytest.mark.parametrize("number", [-1, 1 << 32])
def test_numbers_that_a_script_would_read_otherwise_are_not_sent(number: int) -> None:
    """What has more than 32 bits is an error here."""
    with pytest.raises(ValueError, match="32 bits"):
        packed([[1, number]])
