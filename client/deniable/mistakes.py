"""Mistakes: what an application does that it does not mean, and how it is told.

words:
  misuse   a name, type or value that is wrong: counted, logged once, and raised only if `strict`
  said     what the log has been told in the life of the client: it is told once
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from collections.abc import Collection as Names
from pathlib import Path
from typing import Any

from deniable._section import nearest
from deniable.collection import Collection
from deniable.errors import InvalidValueError, UnknownMetricError
from deniable.kinds._values import shown

__all__ = ["Mistakes", "check_given"]

_log = logging.getLogger("deniable")

_MOST_TOLD = 20
"""Mistakes that a flush names: values may be of any number of types."""


def check_given(collection: object, **others: tuple[object, type]) -> None:
    """Refuse what is given to a client and is of no use to it, and say what is."""
    if not isinstance(collection, Collection):
        how = f", such as deniable.Collection.load({str(collection)!r})" if isinstance(collection, str | Path) else ""
        raise TypeError(f"collection: takes a deniable.Collection{how}, not a {type(collection).__name__}")
    for name, (given, taken) in others.items():
        if given is not None and not isinstance(given, taken):
            raise TypeError(f"{name}: takes a deniable.{taken.__name__}, not a {type(given).__name__}")


class Mistakes:
    """Tells an application what is wrong, without ever standing in its way."""

    def __init__(self, collection: Collection, strict: bool, mistaken: Callable[[str, Exception], None]) -> None:
        self._collection = collection
        self._strict = strict
        self._mistaken = mistaken
        self._said: set[str] = set()
        self._since: dict[str, None] = {}

    def say(self, advice: str) -> None:
        """Log a piece of advice, once."""
        if advice and advice not in self._said:
            self._said.add(advice)
            _log.warning("deniable: %s", advice)

    def survive(self, error: Exception) -> None:
        """Log what should not happen, once: telemetry must never end with an application's surprise."""
        if "failed" not in self._said:
            self._said.add("failed")
            _log.error("deniable: the worker failed; it goes on in a minute", exc_info=error)

    def unknown(self, metric: Any, asked: Names[str]) -> None:
        """Nothing is recorded for a name that the collection does not have, or that is answered from others."""
        name = metric if type(metric) is str else shown(metric)
        known = self._collection.metrics.get(name)
        if known is not None:
            hint = f"{name} is answered from what is recorded for {' and '.join(known.kind.of)}, not for itself"
            self._misuse("invalid value", name, hint, InvalidValueError(hint))
            return
        close = nearest(name, asked)
        hint = f"a metric that the collection does not have{f'; near: {close}' if close else ''}"
        self._misuse("unknown metric", close or "", hint, UnknownMetricError(name, close))

    def invalid(self, metric: str, value: Any, error: Exception) -> None:
        """A value is not one of its metric's kind, or fails when it is looked at."""
        what = f"a {type(value).__name__} that its kind does not take"
        known = error if isinstance(error, InvalidValueError) else InvalidValueError(what)
        self._misuse("invalid value", metric, f"{metric}: {what}", known)

    def since(self) -> list[str]:
        """What was wrong since this was asked before, in the log's words, each once."""
        found, self._since = self._since, {}
        return list(found)

    def _misuse(self, what: str, near: str, hint: str, error: Exception) -> None:
        """Count a mistake and log it, or raise it; the error says what was recorded, and the log does not.

        It is logged once for each metric that it is of, or near to: names that nobody knows may be as many as values.
        """
        if self._strict:
            raise error
        self._mistaken(what, error)
        key = f"{what}: {near}"
        if key not in self._said:
            self._said.add(key)
            _log.warning("deniable: %s (strict=True raises it; further ones are only counted)", hint)
        if len(self._since) < _MOST_TOLD:
            self._since[hint] = None
