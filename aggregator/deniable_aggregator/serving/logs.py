"""What an aggregator says while it serves: an event a line, in words for people, or as JSON for programs.

words:
  event   something that has happened, in a sentence
  form    of a line: text, or json

    {"time":"2026-11-19T22:04:05.123Z","level":"warning","event":"worker 2 ended (-9); starting it again",
     "from":"serving.staff","process":4711}

Nobody who calls is named: what this house says has no addresses of others and nothing of what they send. What others
say in it (a library that tells of a broken connection) is told without the addresses in it.
"""

from __future__ import annotations

import json
import logging
import os
import re
from datetime import UTC, datetime
from typing import Any

__all__ = ["FORMS", "LEVELS", "begin"]

FORMS = ("text", "json")
LEVELS = ("error", "warning", "info", "debug")
_HOUSE = "deniable_aggregator"
_LOG = logging.getLogger(_HOUSE)
_ADDRESS = re.compile(
    r"(?:ipv[46]:|tcp:)?"
    r"(?:(?:\d{1,3}(?:\.\d{1,3}){3}|\[?[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F:.]+\]?)(?:'?[:,] ?\d+)?"
    r"|%5B[0-9a-fA-F:%]+%5D(?::\d+)?)"
)
"""With its port, as it is written in messages and in tuples."""


def begin(form: str, level: str) -> None:
    """Have events told from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if form == "json" else _Text())
    logging.basicConfig(handlers=[handler], level=logging.ERROR if level == "error" else logging.WARNING)
    _LOG.setLevel(level.upper())
    # Its lines pass by here: a line a caller who can not be understood, for as many as like to come.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")


class _Text(logging.Formatter):
    """An event in words."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The event."""
        return _event(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        """Where it went wrong."""
        return _ADDRESS.sub("ADDRESS", super().formatException(ei))


class _Json(logging.Formatter):
    """An event as an object."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": f"{moment:%Y-%m-%dT%H:%M:%S}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": _event(record),
            "from": record.name.removeprefix(f"{_HOUSE}."),
            "process": record.process,
        }
        if record.exc_info:
            line["trace"] = _ADDRESS.sub("ADDRESS", self.formatException(record.exc_info))
        return json.dumps(line, separators=(",", ":"))


def _event(record: logging.LogRecord) -> str:
    """What has happened; of another house without addresses."""
    event = record.getMessage()
    ours = record.name == _HOUSE or record.name.startswith(f"{_HOUSE}.")
    return event if ours else _ADDRESS.sub("ADDRESS", event)
