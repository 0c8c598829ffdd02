"""One metric as a collection file asks for it, and what is wrong with it where it can not be asked."""

from __future__ import annotations

import deniable

__all__ = ["LINKABLE", "ONCE", "asked", "refused"]

LINKABLE = 'instantaneous_epsilon = "linkable"\n'
"""What repeats a remembered answer as it is."""
ONCE = (
    "has no second randomisation: leave out memoize, or repeat what is remembered as it is, which identifies the "
    f"device, with {LINKABLE.strip()}"
)
"""What is wrong with remembering an answer that can not be randomised afresh."""

_COLLECTION = """
[collection]
name = "one"
epoch = "1d"
owner = "a"
[budget]
epoch = {budget}
[metrics.one]
kind = "{kind}"
description = "d"
{more}
"""


def asked(kind: str, more: str, budget: float = 40) -> deniable.Metric:
    """The metric of a file that gives these lines."""
    text = _COLLECTION.format(kind=kind, more=more, budget=budget)
    return deniable.Collection.loads(text).metrics["one"]


def refused(kind: str, more: str, budget: float = 40) -> list[str]:
    """What is wrong with these lines, key by key."""
    try:
        asked(kind, more, budget)
    except deniable.CollectionError as error:
        return [f"{problem.where.removeprefix('metrics.')}: {problem.what}" for problem in error.problems]
    return []
