"""The proxies of deploy/, run as they are configured there, but for ports, and where files and aggregators are."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from support.deployed import DEPLOY
from support.endpoints import TLS
from support.ports import free_port
from support.programs import deploys, program
from support.waiting import PATIENCE, soon

__all__ = ["EDGES", "Behind", "Edge", "edge", "networks"]

EDGES = ("nginx", "envoy")


class Behind(NamedTuple):
    """What an edge is in front of."""

    reports: str
    """HOST:PORT that takes reports and questions."""
    page: str
    """And that of the page."""


class Edge(NamedTuple):
    """An edge that runs."""

    devices: int
    """The port for devices."""
    people: int
    """The port for people."""
    room: Path
    """What it reads and writes."""
    process: subprocess.Popen[bytes]

    def written(self) -> str:
        """All that it has written, anywhere in its room."""
        return "".join(path.read_text(errors="replace") for path in self.room.rglob("*") if path.is_file())

    def renew(self) -> None:
        """Give it another certificate, as who renews one does."""
        for kind in ("pem", "key"):
            shutil.copyfile(TLS / f"client.{kind}", self.room / f"server.{kind}")
        again = self.room / "certificate.yaml"
        if again.exists():
            shutil.copyfile(again, self.room / "fresh")
            (self.room / "fresh").replace(again)
        else:
            self.process.send_signal(signal.SIGHUP)


@contextlib.contextmanager
def edge(which: str, room: Path, behind: Behind) -> Iterator[Edge]:
    """An edge that takes connections."""
    room.mkdir()
    shutil.copyfile(TLS / "ca.pem", room / "people.pem")
    for kind in ("pem", "key"):
        shutil.copyfile(TLS / f"server.{kind}", room / f"server.{kind}")
    devices, people = free_port(), free_port()
    ways: dict[str, Callable[[Path, int, int, Behind], list[str | Path]]] = {"nginx": _nginx, "envoy": _envoy}
    command = ways[which](room, devices, people, behind)
    with _running(command, room, devices, people) as process:
        yield Edge(devices, people, room, process)


@contextlib.contextmanager
def networks(room: Path) -> Iterator[Callable[[str], str]]:
    """What nginx counts an address as, if calls are limited by that: its own words, of an address that is told."""
    text = (DEPLOY / "nginx" / "nginx.conf").read_text()
    (told,) = re.findall(r"^  map \$remote_addr \$network \{.*?^  \}$", text, re.MULTILINE | re.DOTALL)
    assert re.findall(r"^  limit_\w+_zone (\S+)", text, re.MULTILINE) == ["$network"] * 2
    port = free_port()
    server = f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 $network; }} }}"
    told = told.replace("$remote_addr", "$http_from")
    (room / "nginx.conf").write_text(
        f"events {{}}\nhttp {{\naccess_log off;\n{_temporary(room)}{told}\n{server}\n}}\n"
    )

    def network(address: str) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", "/", headers={"From": address})
            return connection.getresponse().read().decode()

    with _running(_started(room), room, port):
        yield network


@contextlib.contextmanager
def _running(command: list[str | Path], room: Path, *ports: int) -> Iterator[subprocess.Popen[bytes]]:
    with (room / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=room, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        soon(lambda: process.poll() is not None or all(map(_taken, ports)), "the edge listens")
        assert process.poll() is None, (room / "log").read_text()
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _taken(port: int) -> bool:
    """Whether somebody takes connections there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE):
        return True
    return False


def _nginx(room: Path, devices: int, people: int, behind: Behind) -> list[str | Path]:
    text = (DEPLOY / "nginx" / "nginx.conf").read_text()
    for before, after in (("8443 ssl", f"{people} ssl"), ("443 ssl", f"{devices} ssl"), ("/etc/deniable", str(room))):
        assert before in text
        text = text.replace(before, after)
    (room / "nginx.conf").write_text(text)
    upstreams = (DEPLOY / "nginx" / "upstreams.conf").read_text()
    upstreams = upstreams.replace("127.0.0.1:8470", behind.reports).replace("127.0.0.1:8471", behind.page)
    (room / "upstreams.conf").write_text(upstreams + _temporary(room))
    return _started(room)


def _temporary(room: Path) -> str:
    """Where nginx may write, and not only root."""
    return "".join(
        f"{kind}_temp_path {room / kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )


def _started(room: Path) -> list[str | Path]:
    os.chmod(room, 0o711)
    own = f"daemon off; pid {room / 'pid'};"
    return [program("nginx"), "-p", room, "-c", room / "nginx.conf", "-e", "stderr", "-g", own]


def _envoy(room: Path, devices: int, people: int, behind: Behind) -> list[str | Path]:
    for name in ("envoy.yaml", "certificate.yaml"):
        text = (DEPLOY / "envoy" / name).read_text().replace("/etc/deniable", str(room))
        text = text.replace("port_value: 443}", f"port_value: {devices}}}")
        text = text.replace("port_value: 8443}", f"port_value: {people}}}")
        for before, after in (("8470", behind.reports), ("8471", behind.page)):
            text = text.replace(f"port_value: {before}", f"port_value: {after.rpartition(':')[2]}")
        (room / name).write_text(text)
    flags = ("--disable-hot-restart", "--concurrency", "2", "--log-level", "warning")
    return [deploys("envoy"), "-c", room / "envoy.yaml", *flags]
