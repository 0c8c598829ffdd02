"""Who makes a call, as far as tokens tell it: what asks for a collection by name asks here whether the caller may.

words:
  caller  whoever makes a call. Nothing is known of it but what its token is good for; None where there are no tokens
  scope   what a token is good for: "report" (an application's devices) or "read" (people and programs that ask)

Whoever lets calls in says who the caller is, for as long as the call lasts. It is asked where a collection is found:
at one place for what is reported (`ingest/admission.py`), at one for what is read (`analysis/catalog.py`), so that no
question can forget it. How much a caller may bring is asked where batches come in (`ingest/service.py`).
"""

from __future__ import annotations

from contextvars import ContextVar
from datetime import timedelta
from typing import Protocol

__all__ = ["CALLER", "READ", "REPORT", "Caller", "NotPermittedError", "Reader", "may", "named", "wait"]

REPORT, READ = "report", "read"


class Caller(Protocol):
    """Whoever makes a call."""

    def named(self, scope: str) -> frozenset[str] | None:
        """The names of the collections that it is let in for, as of now; None: all of them."""

    def wait(self) -> timedelta | None:
        """How long it has to wait before a batch of its is looked at; None: not at all, and this one is counted."""


class Reader:
    """A caller that has been let in somewhere else, to read these collections; None: all of them."""

    def __init__(self, names: frozenset[str] | None) -> None:
        self._names = names

    def named(self, scope: str) -> frozenset[str] | None:
        """Those, and only to read."""
        return self._names if scope == READ else frozenset()

    def wait(self) -> timedelta | None:
        """It brings nothing."""
        return None


class NotPermittedError(Exception):
    """The caller's token is not good for a collection, whether there is one of that name or not."""


CALLER: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""Of the call that is being answered."""


def named(scope: str) -> frozenset[str] | None:
    """The names of the collections that the caller is let in for; None: all of them."""
    caller = CALLER.get()
    return None if caller is None else caller.named(scope)


def wait() -> timedelta | None:
    """How long the caller has to wait before a batch of its is looked at; None: not at all, and it is counted."""
    caller = CALLER.get()
    return None if caller is None else caller.wait()


def may(scope: str, collection: str) -> bool:
    """Whether the caller is let in for the collection of a name."""
    names = named(scope)
    return names is None or collection in names
