"""Whoever has given a device, or a question, the port of the page is told which one was meant."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import pytest

import deniable
from support.commands import EDITOR, serving
from support.commands import deniable as command
from support.endpoints import TLS
from support.ports import free_port
from support.waiting import PATIENCE, soon

RIGHT = "to the port of `deniable serve --listen` (8470 unless said), and not to that of --http (8471)"


@pytest.mark.parametrize("by_tls", [False, True])
def test_the_page_s_port_is_told_from_an_aggregator_s(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, by_tls: bool
) -> None:
    """In the status, to who flushes, and at a terminal; in the clear and by TLS. Nothing is lost by it."""
    caplog.set_level(logging.INFO, "deniable")
    port = free_port()
    (tmp_path / "token").write_text("reads\n")
    (tmp_path / "tokens").write_text(f"read {hashlib.sha256(b'reads').hexdigest()}\n")
    secure = ("--tls-cert", TLS / "server.pem", "--tls-key", TLS / "server.key", "--tokens", tmp_path / "tokens")
    page = f"0.0.0.0:{port}" if by_tls else f"127.0.0.1:{port}"
    trust = deniable.Credentials(roots=(TLS / "ca.pem").read_bytes()) if by_tls else None
    asked = ("--tls-ca", TLS / "ca.pem", "--token-file", tmp_path / "token") if by_tls else ()
    with (
        serving(tmp_path / "data", EDITOR, "--http", page, *(secure if by_tls else ())),
        deniable.Client(
            deniable.Collection.load(EDITOR),
            endpoint=f"localhost:{port}",
            state=tmp_path / "device.db",
            consent="granted",
            segment={"platform": "linux"},
            credentials=trust,
        ) as device,
    ):
        device.record("dark_mode", True)
        assert not device.flush(PATIENCE / 30)
        soon(lambda: RIGHT in device.status().last_error)
        assert device.status().waiting == 1
        found = command("estimates", "--endpoint", f"localhost:{port}", *asked)
        assert (found.returncode, found.stdout) == (2, "")
        assert RIGHT in found.stderr
    assert RIGHT in caplog.text
