"""A plugin of pytest: the store is killed once more just before a test looks at it, as random kills may have it.

`tools/probes_served.py` runs the test of lost replies with it, of the code of any day.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def late_store(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Stores that the test's module begins are killed when its chaos has ended."""
    module: Any = request.module
    begun: list[Any] = []
    begin, end = module.EmbeddedStore.__init__, module.Chaos.end

    def known(self: Any, *arguments: Any, **named: Any) -> None:
        begin(self, *arguments, **named)
        begun.append(self)

    async def ended(self: Any) -> None:
        await end(self)
        for store in begun:
            if store.pid:
                with suppress(ProcessLookupError):
                    os.kill(store.pid, signal.SIGKILL)

    monkeypatch.setattr(module.EmbeddedStore, "__init__", known)
    monkeypatch.setattr(module.Chaos, "end", ended)
