"""A Flask application that tells its makers how it is used, with its operator's consent.

The client is made once, where the module is loaded, and needs nothing of Flask: threads, a prefork server (gunicorn,
with `--preload` or without) and several processes share its state file, and answer as one installation. Values are in
that file within a second; whichever process is there when the day is over answers for it.
"""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask

import deniable

client = deniable.Client(
    deniable.Collection.load(Path(__file__).with_name("metrics.toml")),
    endpoint=os.environ.get("NOTES_ENDPOINT", "127.0.0.1:8470"),
    state=deniable.state_path("notes"),
    consent="granted",  # who runs this example has read what it asks; an application asks
)
app = Flask(__name__)


@app.get("/")
def page() -> str:
    """Show a page."""
    return "<h1>Notes</h1>"


@app.teardown_request
def ended(error: BaseException | None) -> None:
    """Record every page, and whether it has failed: one that records only failures tells by recording at all."""
    client.record("pages", 1)
    client.record("failed", error is not None)


@app.cli.command("send")
def send() -> None:
    """Do not wait for the end of the day."""
    print("stored" if client.flush() else client.status())
