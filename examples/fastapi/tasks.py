"""A FastAPI application that tells its makers how it is used, with its operator's consent.

The client lives as long as the application: it is made when that starts and closed when it ends, which waits two
seconds at most. `record` waits for nothing, so that handlers on the loop call it as it is. Several workers
(`uvicorn --workers 4`) have a client each, on one state file, and answer as one installation.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request, Response

import deniable


def installation() -> deniable.Client:
    """The client of this installation."""
    return deniable.Client(
        deniable.Collection.load(Path(__file__).with_name("metrics.toml")),
        endpoint=os.environ.get("TASKS_ENDPOINT", "127.0.0.1:8470"),
        state=deniable.state_path("tasks"),
        consent="granted",  # who runs this example has read what it asks; an application asks
    )


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Have a client for as long as the application runs."""
    with installation() as client:
        app.state.client = client
        yield


app = FastAPI(lifespan=lifespan)


@app.middleware("http")
async def counted(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    """Record every page, and whether it has failed: one that records only failures tells by recording at all."""
    failed = True
    try:
        response = await answer(request)
        failed = response.status_code >= 500
        return response
    finally:
        request.app.state.client.record("pages", 1)
        request.app.state.client.record("failed", failed)


@app.get("/")
async def page() -> dict[str, list[str]]:
    """Show the tasks."""
    return {"tasks": []}


if __name__ == "__main__":  # do not wait for the end of the day
    with installation() as client:
        print("stored" if client.flush() else client.status())
