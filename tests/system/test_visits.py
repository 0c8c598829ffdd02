"""The benchmark of visits: its visitors say what became of each, and none of them waits for ever."""

from __future__ import annotations

import importlib
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from deniable import Collection
from deniable_aggregator.planning.fleet import reported
from support.commands import EDITOR, ROOT, serving
from support.endpoints import TLS

COLLECTION = Collection.load(EDITOR)


@pytest.fixture
def visits(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What asks for visits."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return importlib.import_module("benchmarks.visitors").Visits


def test_visits_are_acknowledged_over_tls(visits: Any, tmp_path: Path) -> None:
    """Each connects, shakes hands, says a batch of its own and is told that it is stored; a batch of nobody's is
    not."""
    batch = reported(COLLECTION, {"dark_mode": True}, int(time.time() // 86_400), 0).request.hex()
    options = ("--tls-cert", str(TLS / "server.pem"), "--tls-key", str(TLS / "server.key"))
    with serving(tmp_path / "data", EDITOR, *options) as endpoint:
        port = int(endpoint.rpartition(":")[2])
        seen = visits(port, 30, (batch,), visitors=3).make()
        assert (seen.acknowledged, seen.others) == (30, {})
        seen = visits(port, 2, (bytes(40).hex(),), visitors=1).make()
        assert (seen.acknowledged, seen.others) == (0, {"ConnectionError: the batch was refused": 2})


def test_a_server_that_says_nothing_holds_nobody(visits: Any) -> None:
    """A wait has a bound, and what it was for is said."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        seen = visits(silent.getsockname()[1], 4, ("00" * 20,), visitors=2, wait=0.1).make()
    assert (seen.acknowledged, seen.others) == (0, {"TimeoutError: waited 0.1 seconds to shake hands": 4})
