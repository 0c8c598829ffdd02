"""A device's whole visit: to connect, to shake hands, to say one batch, to hear that it is stored, and to leave.

python -m benchmarks.visits --rounds 1 --visits 200    a short look
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.duress_servers import counted
from benchmarks.ingest_servers import COLLECTION, batch
from benchmarks.processes import Running, cpu_seconds, tree
from benchmarks.visitors import Visits

__all__ = ["main", "measure"]

_ROUNDS = 5
_VISITS = 1500
_WARM_VISITS = 200
_BODIES = 100
_REPORTS = 20
_START_SECONDS = 20.0
_DAY = 86_400
_FLEET = 1_000_000
_PLACES = ("bare", "floor", "own", "bare behind nginx", "floor behind nginx", "own behind nginx")
_WAYS = (("own", "by themselves"), ("own behind nginx", "through nginx as a gateway"))
_ALONE = ", one at a time"
_TEXT = """\
# A device's whole visit

Devices keep no connections, so that nothing ties their batches together. A visit is a connection, a handshake of TLS
1.3 (a certificate on the curve P-256, nothing resumed), one batch of {reports} reports, its acknowledgement, and the
end; {visitors} at a time, or one (`benchmarks/visitors.py`). *Bare* is a gRPC server in Python that only answers,
*the floor* one that answers once the batch's id is in a store, synced to disk, and does nothing else.
*Behind nginx* ({nginx}), that speaks TLS with the devices and passes calls on over connections that stay. Time is
that of all processes of a server, nginx's and the store's included; the medians of {rounds} rounds in which all take
turns, with the lowest and the highest. **{acknowledged:,} visits of the aggregator were acknowledged, {stored:,}
batches were stored**; {others}.

| | visits a second | processor time of a visit | of it nginx's | p50 | p99 |
|---|---|---|---|---|---|
{rows}

For a visit the aggregator takes {ratio} the time of a bare server{behind};
{alone:.2f} x where one comes at a time, whose batch then has a flush and a sync of its own; the floor takes
{floor:.2f} x then. The goal, no dearer than bare, {verdict}.

A fleet of a million, each of which comes once a day, on this machine:

| devices connect | processor time a day where they come evenly, one at a time | where all come at once |
|---|---|---|
{sizing}
"""
_NGINX = """\
{user}daemon off;
pid {room}/nginx.pid;
error_log {room}/error.log;
worker_processes 1;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {room}/body;
  proxy_temp_path {room}/proxy;
  fastcgi_temp_path {room}/fastcgi;
  uwsgi_temp_path {room}/uwsgi;
  scgi_temp_path {room}/scgi;
  upstream warm {{ server 127.0.0.1:{behind}; keepalive 64; keepalive_requests 1000000; }}
  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {room}/cert.pem;
    ssl_certificate_key {room}/key.pem;
    ssl_protocols TLSv1.3;
    location / {{ grpc_pass grpc://warm; }}
  }}
}}
"""


class _Seen(NamedTuple):
    """What one server's visits were like, once."""

    rate: float
    spent: float
    """Seconds of processor time a visit, of all that serve it."""
    gateway: float
    """The part of nginx."""
    p50: float
    p99: float


class _Nginx:
    """An nginx in front of a port."""

    def __init__(self, room: Path, behind: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        user = "user root;\n" if os.getuid() == 0 else ""
        file = room / "nginx.conf"
        file.write_text(_NGINX.format(user=user, room=room, behind=behind, port=self.port))
        self._process = subprocess.Popen(["nginx", "-p", str(room), "-c", str(file)], stderr=subprocess.DEVNULL)
        self._await(room / "error.log")

    def cpu_seconds(self) -> float:
        """Processor time of all its processes."""
        return cpu_seconds(set(tree(self._process.pid)))

    def end(self) -> None:
        """End it, and wait."""
        self._process.terminate()
        self._process.wait(_START_SECONDS)

    def _await(self, log: Path) -> None:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise RuntimeError(f"nginx does not listen within {_START_SECONDS:g} seconds: {log.read_text()}")


class _Server:
    """One that is visited."""

    def __init__(self, kind: str, room: Path, stack: ExitStack) -> None:
        self.directory = room / kind.replace(" ", "-")
        name, _, gateway = kind.partition(" behind ")
        own = self._running = Running(
            "benchmarks.duress_servers", name, str(self.directory), "1", *([str(room)] * (not gateway))
        )
        stack.callback(own.end)
        self._nginx: _Nginx | None = None
        self.port = own.port
        if gateway:
            front = room / f"nginx-{name}"
            front.mkdir()
            for file in ("cert.pem", "key.pem"):
                shutil.copy(room / file, front)
            self._nginx = _Nginx(front, own.port)
            stack.callback(self._nginx.end)
            self.port = self._nginx.port

    def gateway_seconds(self) -> float:
        """Processor time of nginx."""
        return self._nginx.cpu_seconds() if self._nginx else 0.0

    def cpu_seconds(self) -> float:
        """Processor time of all its processes."""
        return self._running.cpu_seconds() + self.gateway_seconds()


class _Visited:
    """All servers, what was seen of each in every round, and how visits ended."""

    def __init__(self) -> None:
        self.seen: dict[str, list[_Seen]] = {}
        self.acknowledged = 0
        self.stored = 0
        self.others: Counter[str] = Counter()

    def visit(self, kind: str, server: _Server, asked: Visits) -> None:
        """Have a server visited."""
        before, gateway = server.cpu_seconds(), server.gateway_seconds()
        found = asked.make()
        spent, gateway = server.cpu_seconds() - before, server.gateway_seconds() - gateway
        done = max(found.acknowledged, 1)
        self.seen.setdefault(kind, []).append(
            _Seen(done / found.seconds, spent / done, gateway / done, found.p50, found.p99)
        )
        self.others.update(found.others)
        if kind.startswith("own"):
            self.acknowledged += found.acknowledged

    def middle(self, kind: str, of: Callable[[_Seen], float]) -> float:
        """The median over the rounds."""
        return statistics.median(map(of, self.seen[kind]))


def _certificate(room: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-subj", "/CN=localhost", "-days", "2", "-keyout", "key.pem", "-out", "cert.pem"),
        ],
        cwd=room,
        check=True,
        capture_output=True,
    )


def _run(rounds: int, visits: int) -> _Visited:
    bodies = tuple(batch(_REPORTS).SerializeToString().hex() for _ in range(_BODIES))
    kinds = [kind for kind in _PLACES if shutil.which("nginx") or "nginx" not in kind]
    found = _Visited()
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        _certificate(room)
        with ExitStack() as stack:
            servers = {kind: _Server(kind, room, stack) for kind in kinds}
            for kind, server in servers.items():
                found.visit(kind, server, Visits(server.port, _WARM_VISITS, bodies))
            found.seen.clear()
            for number in range(rounds):
                for kind in kinds[:: -1 if number % 2 else 1]:
                    port = servers[kind].port
                    found.visit(kind, servers[kind], Visits(port, visits, bodies))
                    found.visit(kind + _ALONE, servers[kind], Visits(port, visits // 3, bodies, visitors=1))
                    sys.stderr.write(f"round {number + 1} of {rounds}: {kind}\n")
        for kind, server in servers.items():
            if kind.startswith("own"):
                found.stored += asyncio.run(counted(server.directory, COLLECTION.digest))
    return found


def _row(kind: str, own: _Visited) -> str:
    spent = sorted(1e6 * each.spent for each in own.seen[kind])
    cells = (
        kind.replace("own", "the aggregator").replace("floor", "the floor"),
        f"{own.middle(kind, lambda seen: seen.rate):,.0f}",
        f"{statistics.median(spent):,.0f} µs ({spent[0]:,.0f} to {spent[-1]:,.0f})",
        f"{1e6 * own.middle(kind, lambda seen: seen.gateway):,.0f} µs",
        f"{1e3 * own.middle(kind, lambda seen: seen.p50):.1f} ms",
        f"{1e3 * own.middle(kind, lambda seen: seen.p99):.1f} ms",
    )
    return f"| {' | '.join(cells)} |"


def _sizing(kind: str, how: str, own: _Visited) -> str:
    """A line of the table of what a fleet costs."""
    alone, together = (1e6 * own.middle(kind + few, _spent) for few in (_ALONE, ""))
    rate = own.middle(kind, lambda seen: seen.rate)
    evenly = f"{alone * _FLEET / 60e6:.0f} minutes, {100 * alone * _FLEET / 1e6 / _DAY:.1f}% of one core"
    at_once = f"{together * _FLEET / 60e6:.0f} minutes, and {_FLEET / rate / 60:.0f} by the clock"
    return f"| {how} | {evenly} | {at_once} |"


def _spent(seen: _Seen) -> float:
    return seen.spent


def _page(own: _Visited, rounds: int) -> str:
    ratios = sorted(whole.spent / bare.spent for whole, bare in zip(own.seen["own"], own.seen["bare"], strict=True))
    ratio = statistics.median(ratios)
    behind = "; nginx is missing here, so that nothing is said of a gateway"
    if "own behind nginx" in own.seen:
        pairs = zip(own.seen["own behind nginx"], own.seen["bare behind nginx"], strict=True)
        behind = f", and {statistics.median(whole.spent / bare.spent for whole, bare in pairs):.2f} x behind nginx"
    others = "; ".join(f"{how}: {count}" for how, count in own.others.items())
    return _TEXT.format(
        reports=_REPORTS,
        visitors=Visits(0, 0, ()).visitors,
        nginx=_version(),
        rounds=rounds,
        acknowledged=own.acknowledged,
        stored=own.stored,
        others=f"{own.others.total()} visits of all ended otherwise ({others})"
        if others
        else "no visit ended otherwise",
        rows="\n".join(_row(kind, own) for kind in own.seen),
        ratio=f"{ratio:.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        behind=behind,
        alone=own.middle("own" + _ALONE, _spent) / own.middle("bare" + _ALONE, _spent),
        floor=own.middle("floor" + _ALONE, _spent) / own.middle("bare" + _ALONE, _spent),
        verdict="holds" if ratio <= 1 else "is missed",
        sizing="\n".join(_sizing(kind, how, own) for kind, how in _WAYS if kind in own.seen),
    )


def _version() -> str:
    if not shutil.which("nginx"):
        return "not measured: it is not installed"
    return (
        subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True).stderr.strip().rpartition("/")[2]
    )


def measure(rounds: int = _ROUNDS, visits: int = _VISITS) -> str:
    """A page about it."""
    if not shutil.which("openssl"):
        return "# A device's whole visit\n\nNot measured: openssl is missing, which makes the certificate."
    return _page(_run(rounds, visits), rounds)


def main() -> int:
    """Measure, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="how often everything is measured (%(default)s)")
    parser.add_argument("--visits", type=int, default=_VISITS, help="visits of a measurement (%(default)s)")
    options = parser.parse_args()
    print(measure(options.rounds, options.visits))
    return 0


if __name__ == "__main__":
    sys.exit(main())
