"""By which rules a store is laid out, and which store it is.

words:
  schema    the number of the rules: names of keys, forms of values, what scripts rely on. It grows where an earlier
            release would read or write something wrong; what is merely added leaves it as it is
  identity  a random word of a store's own. A copy of the store has it, too: what is counted in both is the same

A store of before there were numbers has the rules of number 1.
"""

from __future__ import annotations

import os

from deniable_aggregator.store.errors import SchemaMismatch
from deniable_aggregator.store.imports import IDENTITY_BYTES
from deniable_aggregator.store.keys import IDENTITY_KEY, SCHEMA_KEY
from deniable_aggregator.store.servers import Places

__all__ = ["SCHEMA", "begin", "check_schema"]

SCHEMA = 1
"""The rules that this release knows, and all before them."""


async def begin(servers: Places) -> None:
    """Have a store say which rules it is laid out by, and which one it is, unless it does."""
    await servers.ask(SCHEMA_KEY, ("SET", SCHEMA_KEY, SCHEMA, "NX"))
    await servers.ask(IDENTITY_KEY, ("SET", IDENTITY_KEY, os.urandom(IDENTITY_BYTES), "NX"))


async def check_schema(servers: Places) -> None:
    """A SchemaMismatch for a store that this release would read wrongly."""
    (said,) = await servers.ask(SCHEMA_KEY, ("GET", SCHEMA_KEY))
    if said is not None and (not said.isdigit() or int(said) > SCHEMA):
        raise SchemaMismatch(
            f"this store is laid out by the rules of a newer release (schema {said.decode(errors='replace')[:20]}; "
            f"this release knows {SCHEMA}): it is left as it is. Serve it with the newer release, or restore a "
            "backup of before it"
        )
