"""Ending a call with an error, so that nothing of the call outlives it.

grpc.aio's call keeps the error that it is aborted with; the error keeps its traceback, the traceback its frames, and
these the message, its parse and the call: a cycle, that waits for Python's collector. So the error is made to forget
how it came about, in the next turn of the loop: by then it has gone through all frames between here and gRPC's, each
of which adds itself to the traceback.
"""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import grpc

from deniable_aggregator.ingest.refusal import Refusal

__all__ = ["forget_soon", "refuse"]

_DETAILS = "grpc-status-details-bin"


async def refuse(context: grpc.aio.ServicerContext[Any, Any], refusal: Refusal) -> NoReturn:
    """End a call with a refusal and its details."""
    # Returning after set_code would be cheaper, but sends an empty message along, as an acknowledgement does.
    try:
        await context.abort(refusal.code, refusal.message, trailing_metadata=((_DETAILS, refusal.details()),))
    except grpc.aio.AbortError as error:
        forget_soon(error)
        raise
    except grpc.aio.BaseError:
        pass  # whoever called has left before the answer, which gRPC would log at length
    raise asyncio.CancelledError


def forget_soon(error: grpc.aio.AbortError) -> None:
    """Have an error that a call is ended with forget how it came about."""
    asyncio.get_running_loop().call_soon(_forget, error)


def _forget(error: grpc.aio.AbortError) -> None:
    error.__traceback__ = error.__context__ = error.__cause__ = None
