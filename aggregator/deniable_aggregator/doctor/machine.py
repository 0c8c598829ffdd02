"""Looks at the machine: disk, files, the directory of the embedded store, what is installed."""

from __future__ import annotations

import os
import resource
from collections.abc import AsyncIterator
from pathlib import Path

from deniable_aggregator.doctor._check import CannotLook, Check, Subject, Wrong
from deniable_aggregator.store import EmbeddedStoreFailed, refuse_strangers
from deniable_aggregator.tracing import INSTALL, can

__all__ = ["CHECKS"]

_LEAST_FREE = 512 << 20
"""Bytes: what a rewrite of the file of a store of some fifty million counters takes, which is due now and then."""
_LEAST_PART = 0.1
_LEAST_FILES = 4096
"""2,048 connections of a process, and as many again for a second one that serves for it."""


def _data(subject: Subject) -> Path:
    """The directory of the embedded store, or the one that it will be made in."""
    if subject.settings.data_dir is None:
        raise CannotLook
    found = subject.settings.data_dir.absolute()
    while not found.exists():
        found = found.parent
    return found


async def _has_room(subject: Subject) -> AsyncIterator[Wrong]:
    """There is room on the disk, in bytes and in files."""
    data = _data(subject)
    found = os.statvfs(data)
    free, size = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    room = "make room, or move the directory: a store that can not write takes no batch, and devices keep theirs"
    if free < min(_LEAST_FREE, _LEAST_PART * size):
        yield f"the disk of {data} has {free >> 20} MiB left of {size >> 20}", room
    if found.f_files and found.f_favail < min(1000, _LEAST_PART * found.f_files):
        yield f"the disk of {data} has inodes for {found.f_favail} more files", room


async def _is_ours(subject: Subject) -> AsyncIterator[Wrong]:
    """The directory is one, ours, and nobody else's."""
    data = _data(subject)
    if not data.is_dir():
        yield f"{data} is no directory", "name another one by --data"
        return
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        yield f"{data} can not be written to by this account", "run doctor as the account that serves; or chown it"
    if data != subject.settings.data_dir.absolute():  # type: ignore[union-attr]
        return
    try:
        refuse_strangers(data)
    except EmbeddedStoreFailed as error:
        yield str(error), "name another one by --data, or move what is not an aggregator's"
    if data.stat().st_mode & 0o077:
        yield f"{data} is open to others of this machine: counters and ids are in it", f"chmod 700 {data}"


async def _has_files(_: Subject) -> AsyncIterator[Wrong]:
    """A process may have files enough for a fleet's connections."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < _LEAST_FILES:
        yield (
            f"a process may have {hard} files: that bounds the connections of devices",
            f"raise the hard limit to {_LEAST_FILES} or more (LimitNOFILE= in systemd, ulimits in compose)",
        )


async def _can_send(subject: Subject) -> AsyncIterator[Wrong]:
    """What sends spans and figures is installed."""
    if subject.collector is None:
        raise CannotLook
    if not can():
        yield f"--otlp {subject.collector} needs OpenTelemetry, which is not installed: nothing is served", INSTALL


CHECKS = (
    Check("disk", _has_room),
    Check("data directory", _is_ours),
    Check("limit of files", _has_files),
    Check("OpenTelemetry", _can_send),
)
