"""`deniable doctor`: what is wrong with a deployment, and what to do."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable_aggregator.commands import serve
from deniable_aggregator.commands._command import command
from deniable_aggregator.commands._settings import said_elsewhere

if TYPE_CHECKING:
    from deniable_aggregator.doctor import Diagnosis

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable doctor` to the commands, with its options."""
    what = "what is wrong with a deployment, and what to do: told as deniable serve is, it changes nothing"
    parser = command(commands, "doctor", run, what, "--config serve.toml --endpoint telemetry.example.org:8470")
    serve.add_settings(parser)
    # Its own are no settings of an aggregator: they stand in no file, and in no environment.
    parser.add_argument("--endpoint", default=argparse.SUPPRESS, metavar="HOST:PORT",
                        help="where devices reach the aggregator that runs: asked as they do")  # fmt: skip
    parser.add_argument("--tls-ca", type=Path, default=argparse.SUPPRESS, metavar="FILE",
                        help="certificates (PEM) to trust there, where devices are given some")  # fmt: skip
    parser.add_argument("--token-file", type=Path, default=argparse.SUPPRESS, metavar="FILE",
                        help="a bearer token that reads, for a page that asks for one")  # fmt: skip
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="for programs")
    parser.settings_of = "deniable serve"
    parser.elsewhere = said_elsewhere


def run(options: Any) -> int:
    """Run `deniable doctor` with the options that were given: 0 where all is well, 1 where something was found, 2
    where something could not be looked at."""
    from deniable_aggregator.doctor import Subject, examine

    given = vars(options)
    subject = Subject(
        serve.settings_of(options),
        tuple(options.collections),
        page=options.http,
        page_by_tls=serve.by_tls(options),
        collector=options.otlp,
        endpoint=given.get("endpoint"),
        roots=given.get("tls_ca"),
        token_file=given.get("token_file"),
    )
    logging.disable(logging.WARNING)  # what is wrong is said below, once
    try:
        found = asyncio.run(examine(subject))
    finally:
        logging.disable(logging.NOTSET)
    if given.get("json"):
        print(json.dumps({
            "findings": [each._asdict() for each in found.findings], "well": found.well, "unseen": found.unseen,
        }))  # fmt: skip
    else:
        _tell(found)
    return 1 if found.findings else 2 if found.unseen else 0


def _tell(found: Diagnosis) -> None:
    for each in found.findings:
        print(f"{each.check}: {each.what}\n    {each.do}")
    for name, why in found.unseen.items():
        print(f"{name}: could not be looked at: {why}")
    print(f"{len(found.findings)} findings; {len(found.well)} looks found nothing")
