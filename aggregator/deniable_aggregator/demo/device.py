"""A device of the demo's fleet that debugs: what it records, and what it would report of that, is on the page."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from deniable import Client, Collection, StateError
from deniable_aggregator.web import DebugView

__all__ = ["keep_recording", "why_not"]

_EVERY_SECONDS = 3.0


async def why_not(view: DebugView) -> str:
    """Why an account can not have this debug view now; empty where it can."""
    try:
        async with view.listening():
            return ""
    except (OSError, StateError) as error:
        return str(error)


async def keep_recording(collection: Collection, answers: Callable[[], Mapping[str, Any]]) -> None:
    """As an application does that debugs: one answer after the other, for ever."""
    logging.getLogger("deniable").setLevel(logging.ERROR)  # that it debugs, the demo has said
    segment = {name: values[0] for name, values in collection.segments.items()}
    client = Client(collection, endpoint=None, consent="granted", segment=segment, debug=True)
    try:
        for name, value in itertools.chain.from_iterable(answers().items() for _ in itertools.repeat(None)):
            client.record(name, value)
            await asyncio.sleep(_EVERY_SECONDS)
    finally:
        client.close(timeout=0)
