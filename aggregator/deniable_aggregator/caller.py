"""Who makes a call, as far as tokens tell it: what asks for a collection by name asks here whether the caller may.

words:
  caller  whoever makes a call. Nothing is known of it but what its token is good for; None where there are no tokens
  scope   what a token is good for: "report" (an application's devices) or "read" (people and programs that ask)

Whoever lets calls in says who the caller is, for as long as the call lasts. It is asked where a collection is found:
at one place for what is reported (`ingest/admission.py`), at one for what is read (`analysis/catalog.py`), so that no
question can forget it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

__all__ = ["CALLER", "READ", "REPORT", "Caller", "NotPermittedError", "Reader", "may", "named"]

REPORT, READ = "report", "read"


class Caller(Protocol):
    """Whoever makes a call."""

    def named(self, scope: str) -> frozenset[str] | None:
        """The names of the collections that it is let in for, as of now; None: all of them."""


class Reader:
    """A caller that has been let in somewhere else, to read these collections; None: all of them."""

    def __init__(self, names: frozenset[str] | None) -> None:
        self._names = names

    def named(self, scope: str) -> frozenset[str] | None:
        """Those, and only to read."""
        return self._names if scope == READ else frozenset()


class NotPermittedError(Exception):
    """The caller's token is not good for a collection, whether there is one of that name or not."""


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""Of the call that is being answered."""


def named(scope: str) -> frozenset[str] | None:
    """The names of the collections that the caller is let in for; None: all of them."""
    caller = CALLER.get()
    return None if caller is None else caller.named(scope)


def may(scope: str, collection: str) -> bool:
    """Whether the caller is let in for the collection of a name."""
    names = named(scope)
    return names is None or collection in names
