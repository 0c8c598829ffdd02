"""What an aggregator logs: a line an event, as JSON on request, with nothing of who calls or what they send."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest

from deniable_aggregator.serving.logs import _Json, _Text
from support.aggregator_server import Client
from support.aggregators import EXACT, WORKER, batch, started_by
from support.commands import COMMAND, told
from support.endpoints import TLS
from support.waiting import PATIENCE, soon

KEYS = ["time", "level", "event", "from", "process"]
SECRET = "a-token-that-nobody-is-to-read"


def events(log: Path) -> list[dict[str, Any]]:
    """All lines of a log, each of which is an event; the last may be on its way."""
    found = [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    for each in found:
        assert list(each)[:5] == KEYS
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", each["time"])
        assert each["level"] in {"debug", "info", "warning", "error"}
    return found


async def call(port: int) -> list[str]:
    """Good batches, wrong tokens, nonsense and broken connections; what nothing may be logged of."""
    unsaid = [SECRET]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        client = Client(channel)
        for _ in range(20):
            own = batch()
            unsaid += [own.batch_id.hex(), str(own.batch_id)[2:-1]]
            await client.submit(own)
        with pytest.raises(grpc.aio.AioRpcError):
            await client.call(b"\xff" * 50, metadata=(("authorization", f"Bearer {SECRET}"),), timeout=PATIENCE)
    for nonsense in (b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(60), os.urandom(200)):
        with socket.create_connection(("127.0.0.1", port)) as line:
            unsaid.append(f":{line.getsockname()[1]}")
            line.sendall(nonsense)
    return unsaid


def serving(room: Path, metrics: Path) -> list[str | Path]:
    """The command of an aggregator whose log is its own."""
    return [COMMAND, "serve", metrics, "--data", room / "data", "--listen", "127.0.0.1:0", "--http", "off"]


def test_every_line_is_an_event_and_tells_of_nobody(tmp_path: Path) -> None:
    """Under load, with a worker that is killed, a file that does not load, callers who send nonsense."""
    metrics, log = tmp_path / "metrics.toml", tmp_path / "log"
    metrics.write_text(EXACT)
    command = [*serving(tmp_path, metrics), "--log-format", "json", "--log-level", "debug"]
    with log.open("wb") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as serve:

        def said(words: str) -> list[str]:
            return [each["event"] for each in events(log) if words in each["event"]]

        try:
            soon(lambda: said("serving exact on"))
            port = int(said("serving exact on")[0].rpartition(":")[2])
            unsaid = asyncio.run(call(port))
            (worker,) = (pid for pid, name in started_by(serve.pid).items() if name == WORKER)
            os.kill(worker, signal.SIGKILL)
            soon(lambda: said("starting it again"))
            metrics.write_text("[collection]\nname = 1\n")
            serve.send_signal(signal.SIGHUP)
            soon(lambda: said("what is served stays as it is"))
            serve.terminate()
            assert serve.wait(PATIENCE) == 0
        finally:
            serve.kill()
        assert serve.stdout
        assert serve.stdout.read() == b""
    assert said("draining")
    assert {each["from"] for each in events(log)} >= {"serving.supervisor", "serving.staff"}
    text = log.read_text()
    assert [each for each in unsaid if each in text] == []


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("closed by ('10.1.2.3', 5555)", "closed by ('ADDRESS)"),
        ("raddr=('2001:db8::7', 443, 0, 0)", "raddr=('ADDRESS, 0, 0)"),
        ("ipv4:10.1.2.3:444 is gone", "ADDRESS is gone"),
        ("ipv6:[2001:db8::7]:443 is gone", "ADDRESS is gone"),
        ("ipv6:%5B2001:db8::7%5D:443", "ADDRESS"),
        ("nothing of that: 3 calls, 1.5 s", "nothing of that: 3 calls, 1.5 s"),
    ],
)
def test_what_libraries_say_is_told_without_addresses(message: str, told: str) -> None:
    """In both forms, in what has gone wrong, too; the house's own events are told as they are."""

    def record(name: str) -> logging.LogRecord:
        try:
            raise ConnectionError(message)
        except ConnectionError:
            return logging.LogRecord(name, logging.WARNING, "f", 1, "%s", (message,), sys.exc_info())

    line = json.loads(_Json().format(record("asyncio")))
    assert line["event"] == told
    assert line["trace"].splitlines()[-1] == f"ConnectionError: {told}"
    text = _Text().format(record("asyncio")).splitlines()
    assert (text[0], text[-1]) == (told, f"ConnectionError: {told}")
    assert json.loads(_Json().format(record("deniable_aggregator.serving.x")))["event"] == message


def test_who_can_not_be_understood_writes_no_lines(tmp_path: Path) -> None:
    """In words as well: a library's own lines, of handshakes that failed, would be as many as somebody likes."""
    metrics, log = tmp_path / "metrics.toml", tmp_path / "log"
    metrics.write_text(EXACT)
    keys = ("--tls-cert", TLS / "server.pem", "--tls-key", TLS / "server.key")
    command = [*serving(tmp_path, metrics), *keys, "--log-level", "error"]
    with log.open("wb") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as serve:
        try:
            assert serve.stdout
            port = int(serve.stdout.readline().rpartition(b":")[2])
            for nonsense in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00" + bytes(600)):
                with socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
                    line.sendall(nonsense)
                    with contextlib.suppress(ConnectionError):
                        while line.recv(100):
                            pass
            serve.terminate()
            assert serve.wait(PATIENCE) == 0
        finally:
            serve.kill()
    assert log.read_text() == ""


def test_a_level_leaves_out_what_is_less_grave(tmp_path: Path) -> None:
    """And nothing but levels and forms is taken."""
    metrics, log = tmp_path / "metrics.toml", tmp_path / "log"
    metrics.write_text(EXACT)
    command = [*serving(tmp_path, metrics), "--keep", "nothing=9d", "--log-level", "error"]
    with log.open("wb") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as serve:
        try:
            assert serve.stdout
            assert serve.stdout.readline().startswith(b"serving exact on")
            serve.terminate()
            assert serve.wait(PATIENCE) == 0
        finally:
            serve.kill()
    assert log.read_text() == ""
    for wrong in ("--log-level=loud", "--log-format=xml"):
        assert told("serve", metrics, wrong).returncode == 2
