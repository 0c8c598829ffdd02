"""What a batch has to have survived before it is acknowledged.

memory      it is in the memory of the server: lost with the server's process, unless that writes a file by itself
fsync       it is in the server's append-only file, and that has been synced: survives the server and its machine's
            power, not its disk
replicated  it is in the memory of so many replicas, too: survives the loss of the primary, if one of these replicas
            takes over

`docs/durability.md` says exactly what can be lost with each.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from redis.exceptions import ResponseError

from deniable_aggregator.store.errors import StoreUnavailable, StoreUnfit
from deniable_aggregator.store.links import Command, Link

__all__ = ["Durability", "Promise"]


class Promise(Enum):
    """How much is waited for."""

    MEMORY = "memory"
    FSYNC = "fsync"
    REPLICATED = "replicated"


@dataclass(frozen=True, slots=True)
class Durability:
    """What is waited for."""

    level: Promise = Promise.MEMORY
    replicas: int = 1
    """How many replicas have to have it, where it is replicated."""
    patience: float = 2.0
    """For how many seconds it is waited. A batch that has not got so far by then is not acknowledged."""

    def __post_init__(self) -> None:
        if self.replicas < 1:
            raise ValueError(f"at least one replica, not {self.replicas}")
        if self.patience <= 0:
            raise ValueError(f"a time to wait, not {self.patience} seconds")

    async def wait(self, link: Link) -> tuple[Command, ...]:
        """The command to wait with, after a script and on its connection; a StoreUnfit where that can not be."""
        milliseconds = int(self.patience * 1000)
        if self.level is Promise.REPLICATED:
            return (("WAIT", self.replicas, milliseconds),)
        if self.level is Promise.MEMORY:
            return ()
        knows = True
        for probe, settings in await link.ask_everywhere(("WAITAOF", 0, 0, 1), ("CONFIG", "GET", "append*")):
            file = _settings(settings)
            if file and file.get("appendonly") != "yes":
                raise StoreUnfit(
                    "the store keeps nothing on disk: set appendonly yes there, or use --durability memory"
                )
            if isinstance(probe, ResponseError):
                knows = False
                if file.get("appendfsync") != "always":
                    raise StoreUnfit(
                        "this store does not know WAITAOF (Redis 7.2 and Valkey do): set appendfsync always there, "
                        "or use --durability memory"
                    )
        return (("WAITAOF", 1, 0, milliseconds),) if knows else ()

    def confirmed(self, reply: Any) -> None:
        """Raise a StoreUnavailable unless the reply to the command says that the batch has got so far."""
        if isinstance(reply, ResponseError):
            raise StoreUnavailable(str(reply))
        reached = reply if self.level is Promise.REPLICATED else reply[0]
        if reached < (self.replicas if self.level is Promise.REPLICATED else 1):
            where = "replicas" if self.level is Promise.REPLICATED else "the disk"
            raise StoreUnavailable(f"what was stored has not reached {where} within {self.patience:g} seconds")


def _settings(reply: Any) -> dict[str, str]:
    """What CONFIG GET says; nothing where it may not be asked."""
    if isinstance(reply, ResponseError):
        return {}
    words = [word.decode() for word in reply]
    return dict(zip(words[::2], words[1::2], strict=True))
