"""An upload apart, in a process of its own: where gRPC has been loaded before a fork, it would hang in the child."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import IO, TYPE_CHECKING

from deniable.wire.credentials import Credentials
from deniable.wire.outcome import LONG_WAIT, UNREACHABLE, Outcome
from deniable.wire.upload import Uploader

if TYPE_CHECKING:
    import subprocess

__all__ = ["Apart", "main"]

_START_SECONDS = 20.0
"""A process of its own may take so long in addition to the deadline."""


class Apart(Uploader):
    """An uploader in a process of its own."""

    def __init__(self, endpoint: str, credentials: Credentials, deadline: float) -> None:
        super().__init__(endpoint, credentials, deadline)
        given = {
            name: value.decode() if isinstance(value, bytes) else value for name, value in asdict(credentials).items()
        }
        self._task = {"endpoint": endpoint, "credentials": given, "deadline": deadline}
        self._patience = deadline + _START_SECONDS
        self._process: subprocess.Popen[str] | None = None

    def send(self, request: bytes) -> Outcome | None:
        """Submit the batch in that process; of one that ends without a word nobody knows what it has reached."""
        import subprocess

        if getattr(sys, "frozen", False) or not sys.executable:
            return Outcome(
                True, "unreachable", LONG_WAIT, "a forked process leaves uploading to the next start", unstored=True
            )
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-I", "-c", _ALONE, *_importable()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with self._process as process:
            if self._cut:
                process.kill()
            try:
                said, _ = process.communicate(json.dumps(self._task | {"request": request.hex()}), self._patience)
                return Outcome(**json.loads(said))
            except (OSError, ValueError, TypeError, subprocess.TimeoutExpired):
                process.kill()
                return None if self._cut else UNREACHABLE

    def cut(self) -> None:
        """End the process at once."""
        self._cut = True
        if self._process is not None:
            self._process.kill()


_ALONE = "import sys; sys.path[:] = sys.argv[1:]; from deniable.wire.apart import main; main()"
"""What a process of its own runs. It is isolated (-I): it imports nothing from the directory that it works in."""


def _importable() -> list[str]:
    """Where this process imports from, in its order; not where that is another place in another directory."""
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [*(place for place in sys.path if os.path.isabs(place)), own]


def main(instruction: IO[str] = sys.stdin, answer: IO[str] = sys.stdout) -> None:
    """Send the one batch that a parent process hands over, and tell it the outcome."""
    task = json.load(instruction)
    given = {
        name: value.encode() if value and name != "token" else value for name, value in task["credentials"].items()
    }
    uploader = Uploader(task["endpoint"], Credentials(**given), task["deadline"])
    outcome = uploader.send(bytes.fromhex(task["request"]))
    uploader.close()
    json.dump(outcome and asdict(outcome), answer)
