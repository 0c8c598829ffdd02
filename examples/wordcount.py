"""Counts lines, words or characters, and with the person's consent tells its makers how it is used.

A tool like this lives for a moment. Values wait in the state file until their day is over; the next run answers for
that day and sends what is due, in the background, while it does its work.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import deniable

COUNTERS: dict[str, Callable[[str], int]] = {
    "lines": lambda text: text.count("\n"),
    "words": lambda text: len(text.split()),
    "characters": len,
}
ENDPOINT = os.environ.get("WORDCOUNT_ENDPOINT", "127.0.0.1:8470")
STATE = deniable.state_path("wordcount")


def main() -> int:
    """Count, or show and change what is told."""
    options = parsed()
    collection = deniable.Collection.load(Path(__file__).with_name("wordcount.toml"))
    with deniable.Client(collection, endpoint=ENDPOINT, state=STATE) as client:
        if options.telemetry:
            return CHOICES[options.telemetry](client)
        if client.consent is deniable.Consent.WITHHELD and sys.stderr.isatty():
            print("wordcount can tell its makers how it is used: wordcount --telemetry on", file=sys.stderr)
        return count(options, client)


def parsed() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description="Counts lines, words or characters.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    for name in COUNTERS:
        parser.add_argument(f"--{name}", action="append_const", dest="counters", const=name, help=f"count {name}")
    parser.add_argument("--telemetry", choices=list(CHOICES), help="what wordcount tells its makers")
    return parser.parse_args()


def count(options: argparse.Namespace, client: deniable.Client) -> int:
    """Count files, and note how that went."""
    counters: list[str] = options.counters or list(COUNTERS)
    failed = False
    for path in options.files:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            print(f"wordcount: {path}: {error}", file=sys.stderr)
            failed = True
            continue
        print(*(COUNTERS[name](text) for name in counters), path, sep="\t")
    client.record("counted", counters)
    client.record("files", len(options.files))
    client.record("failed", failed)
    return int(failed)


def consenting(consent: deniable.Consent, words: str) -> Callable[[deniable.Client], int]:
    """What changes the person's mind."""

    def change(client: deniable.Client) -> int:
        client.set_consent(consent)
        print(words)
        return 0

    return change


def show(client: deniable.Client) -> int:
    """Everything that has left this device, what it cost, and what is asked."""
    for metric in client.collection.metrics.values():
        print(f"asked: {metric.description} (epsilon {metric.epsilon})")
    for entry in client.transcript():
        print(entry)
    spent = sum(charge.epsilon for charge in client.ledger())
    print(f"consent: {client.consent.value}; spent so far: epsilon {spent:g}")
    return 0


def send(client: deniable.Client) -> int:
    """Do not wait for the end of the day."""
    stored = client.flush(timeout=10.0)
    print("sent" if stored else "it could not be sent; it is tried again later")
    return int(not stored)


CHOICES = {
    "on": consenting(deniable.Consent.GRANTED, "thank you: `wordcount --telemetry show` says what was told"),
    "pause": consenting(deniable.Consent.PAUSED, "nothing is sent until you say so"),
    "off": consenting(deniable.Consent.WITHHELD, "nothing is collected, and what was not sent is erased"),
    "show": show,
    "send": send,
}


if __name__ == "__main__":
    sys.exit(main())
