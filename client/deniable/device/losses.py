"""What it means that a state file was lost: what is not answered since then, and who must not be without a file.

words:
  lost      a file was begun in the place of one that can not be read any more, or was removed in use (see state.py)
  closed    a time before which nothing is answered, as what was answered when is no longer known (see ledger.py)
  lasting   what of a collection holds only as long as the file remembers: a memory, a delta, a lifetime's budget
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from sqlite3 import Connection

from deniable.collection import Collection
from deniable.device import consent
from deniable.device.ledger import closed_before
from deniable.device.state import lost

__all__ = ["check_forgetful", "why"]

_log = logging.getLogger("deniable")

_CONSENT = (
    "the state file was lost, and with it what this device's person has said: nothing is collected until "
    "Client.set_consent() says it again, or Client.start_over() that the application's word is enough"
)
_LEDGER = (
    "what this device has spent and remembered was lost with its state file: what has a memory, a delta or a "
    "lifetime's budget is not answered until Client.start_over() is called, with the person's consent"
)
_CLOSED = (
    "nothing is answered before {day}: this device's clock was ahead of its time once, and which of the days until "
    "then were answered is no longer known"
)
_LAST = datetime.max.replace(tzinfo=UTC).timestamp() - 86400.0


def why(connection: Connection, collection: Collection, now: float) -> str:
    """Why nothing, or not everything, is answered by this state file; empty where all is well.

    That one epoch is not answered, the one in which a file was begun or forgot, is no trouble: it is over soon.
    """
    if consent.is_lost(connection):
        return _CONSENT
    if _lasting(collection) and lost(connection):
        return _LEDGER
    closed = closed_before(connection)
    if closed <= (collection.epoch_at(now) + 1) * collection.epoch_seconds:
        return ""
    return _CLOSED.format(day=f"{datetime.fromtimestamp(min(closed, _LAST), UTC):%Y-%m-%d}")


def check_forgetful(collection: Collection) -> None:
    """Refuse promises that a device that forgets with every start can not keep."""
    if broken := _lasting(collection):
        raise ValueError(f"state: name a file, or {' and '.join(broken)} would be forgotten with every start")
    if collection.sample < 1:
        raise ValueError("state: name a file, or each start would draw anew whether it takes part in an epoch")
    _log.info("deniable: without a state file every start spends anew, in the same epoch too")


def _lasting(collection: Collection) -> list[str]:
    """What of a collection needs a file that remembers."""
    lasting = [f"memoize of {metric.name}" for metric in collection.metrics.values() if metric.memoize]
    lasting += ["the budget of a lifetime"] if collection.budget.lifetime is not None else []
    return lasting + [f"the delta of {metric.name}" for metric in collection.metrics.values() if metric.kind.delta]
