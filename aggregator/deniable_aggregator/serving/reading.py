"""Which thread of gRPC's reads what has come.

words:
  directly  the thread that waits for calls also reads the connections and takes the calls apart

By itself gRPC has threads that read, and hands over every call, message and answer between them and the thread that
waits: two more switches for each. That serves whom several processors stand by; a worker has one. Calls that come one
by one cost 9 to 13% less processor time directly, and under full load it makes no difference
(docs/decisions.md). gRPC has this as an experiment that can be switched off; a gRPC that does not know it reads as it
likes.
"""

from __future__ import annotations

import os

__all__ = ["DIRECTLY", "read_directly"]

DIRECTLY = {"GRPC_EXPERIMENTS": "-event_engine_listener"}
"""What gRPC finds in its environment when it is loaded, and never looks at again."""


def read_directly() -> None:
    """Have this process and those that it starts read directly, unless whoever has started it has said otherwise. It
    is for a process that has not loaded gRPC yet."""
    for name, value in DIRECTLY.items():
        os.environ.setdefault(name, value)
