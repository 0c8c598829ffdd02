"""A guestbook on the web, in several processes that are forked from one, as gunicorn and others do it.

The client is made once, before the fork, and used in every process: they share its state file, so that the
installation answers as one. Which of them seals a day and uploads it is of no concern.
"""

from __future__ import annotations

import argparse
import html
import os
import signal
import socket
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import FrameType
from urllib.parse import parse_qs

from guestbook_metrics import Metrics

import deniable

PAGE = "<!doctype html><title>Guestbook</title><form method=post><input name=name><button>Sign</button></form>{}"


class Guestbook(BaseHTTPRequestHandler):
    """Shows who has signed, and lets others sign."""

    metrics: Metrics
    book: Path

    def do_GET(self) -> None:
        """Show the book."""
        self.metrics.visits.record(1)
        names = self.book.read_text(encoding="utf-8").splitlines() if self.book.exists() else []
        page = PAGE.format("".join(f"<p>{html.escape(name)}</p>" for name in names)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def do_POST(self) -> None:
        """Sign it."""
        form = parse_qs(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())
        with self.book.open("a", encoding="utf-8") as book:
            book.write(" ".join(form.get("name", ["somebody"])[0].split()) + "\n")
        self.metrics.signed.record(True)
        self.send_response(303)
        self.send_header("Location", "/")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Nobody's visits are written down."""


def work(listener: socket.socket) -> None:
    """Answer requests until told to end; the interpreter's exit writes what was recorded."""
    server = HTTPServer(listener.getsockname(), Guestbook, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    listener.setblocking(False)  # one call wakes all workers, and one has it: the others must not wait for the next
    signal.signal(signal.SIGTERM, leave)
    server.serve_forever()


def leave(_signal: int, _frame: FrameType | None) -> None:
    """End by way of the interpreter's exit."""
    sys.exit(0)


def main() -> None:
    """Fork the workers, and wait for the end."""
    parser = argparse.ArgumentParser(description="A guestbook.")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path("guestbook-data"), help="where everything is kept")
    parser.add_argument("--telemetry", choices=["on", "off"], default="off", help="tell its makers how it is used")
    parser.add_argument("--endpoint", default="127.0.0.1:8470", help="where its makers' aggregator is")
    options = parser.parse_args()
    client = deniable.Client(
        deniable.Collection.load(Path(__file__).with_name("guestbook.toml")),
        endpoint=options.endpoint,
        state=options.data.absolute() / "telemetry.db",  # as its book: the workers' own, not a person's
        consent=deniable.Consent.GRANTED if options.telemetry == "on" else deniable.Consent.WITHHELD,
    )
    Guestbook.metrics, Guestbook.book = Metrics(client), options.data / "book.txt"
    options.data.mkdir(exist_ok=True)
    with socket.create_server(("127.0.0.1", options.port)) as listener:
        workers = []
        for _ in range(options.workers):
            if pid := os.fork():
                workers.append(pid)
            else:
                work(listener)

        def end(_signal: int, _frame: FrameType | None) -> None:
            for pid in workers:
                os.kill(pid, signal.SIGTERM)

        signal.signal(signal.SIGTERM, end)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        number = len(workers)
        Guestbook.metrics.workers.record("1" if number == 1 else "2 to 4" if number < 5 else "5 or more")
        for pid in workers:
            os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
