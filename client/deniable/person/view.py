"""`view`: one page of HTML in a file that only its owner reads, opened in the browser."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deniable.errors import StateError
from deniable.person.device import Device
from deniable.person.page import page
from deniable.person.words import plain

__all__ = ["view"]

_OPEN = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)


def view(devices: Sequence[Device], to: Path | None, *, opened: bool) -> list[str]:
    """Write the page, to a new directory if no path is given, and open it; what `view` shows.

    A file that is there already is never written over: it could be the state file.
    """
    path = Path(tempfile.mkdtemp(prefix="deniable-")) / "device.html" if to is None else to.absolute()
    try:
        descriptor = os.open(path, _OPEN, 0o600)
    except FileExistsError as error:
        raise StateError(f"{path}: is there already: give the page a name of its own, or remove that file") from error
    except OSError as error:
        raise StateError(f"{path}: {error.strerror}: give the page another place, with --to FILE") from error
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(page(devices))
    if opened and not _open(path.as_uri()):
        return [
            plain(path),
            "No browser was found to open it with: open it yourself. It shows what this device has sent.",
        ]
    return [plain(path), "It shows what this device has sent: remove it when you have seen it."]


def _open(address: str) -> bool:
    import webbrowser

    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
