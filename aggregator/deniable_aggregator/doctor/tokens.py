"""Looks at the file of tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deniable._paths import told
from deniable_aggregator.caller import REPORT
from deniable_aggregator.doctor._check import OTHERS, CannotLook, Check, Subject, Wrong
from deniable_aggregator.serving.tokens import Grant, grants_of, lines_of

__all__ = ["CHECKS"]

_SOON = timedelta(days=14)


def _file(subject: Subject) -> Path:
    if subject.settings.access.tokens is None:
        raise CannotLook
    return subject.settings.access.tokens


def _grants(subject: Subject) -> list[Grant]:
    try:
        return [each for each in grants_of(_file(subject), lines_of(_file(subject))) if each is not None]
    except OSError as error:
        raise CannotLook(str(error)) from error


async def _is_read(subject: Subject) -> AsyncIterator[Wrong]:
    """Every line says something that is understood."""
    try:
        grants_of(_file(subject), lines_of(_file(subject)))
    except OSError as error:
        yield str(error), "deniable token list names the lines; deniable token new writes them"


async def _is_kept(subject: Subject) -> AsyncIterator[Wrong]:
    """Nobody else may read or write it."""
    file = _file(subject)
    try:
        mode = file.stat().st_mode
    except OSError as error:
        raise CannotLook(told(error)) from error
    if mode & OTHERS:
        yield (
            f"{file} can be read or written by others of this machine: who writes a line is let in",
            f"chmod 640 {file}, its group being that of the account that serves, or 600 where it is that account's",
        )


async def _lets_in(subject: Subject) -> AsyncIterator[Wrong]:
    """Some token is good for reporting, now and in a while."""
    file, grants, now = _file(subject), _grants(subject), subject.clock()
    reporting = [each for each in grants if each.scope == REPORT]
    make = f"deniable token new {file} --scope ... makes one; whoever needs it is given it before"
    if not reporting:
        yield f"{file} has no token to report with: all devices are refused", make
    elif not any(each.good(now) for each in reporting):
        yield f"every token of {file} to report with has expired: all devices are refused", make
    soon = datetime.fromtimestamp(now, UTC).date() + _SOON
    for each in grants:
        if each.good(now) and each.expires is not None and each.expires <= soon:
            who = f" ({each.note})" if each.note else ""
            yield f"a token to {each.scope}{who} expires on {each.expires.isoformat()}", make


CHECKS = (
    Check("tokens", _is_read),
    Check("file of tokens", _is_kept),
    Check("tokens' days", _lets_in),
)
