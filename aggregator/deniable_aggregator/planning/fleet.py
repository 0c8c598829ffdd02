"""A simulated fleet: devices that randomise with the SDK's own code and report over real gRPC.

words:
  device   one set of values, answered once: randomised, shuffled, batched and submitted as an application's would be
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import grpc
import numpy as np

from deniable import Collection
from deniable.outbox import Batch
from deniable.randomness import shuffle
from deniable.upload import METHOD

__all__ = ["report", "reported"]

_IN_FLIGHT = 64
_SUBMIT_SECONDS = 30.0


async def report(
    collection: Collection,
    values: Mapping[str, Sequence[Any]],
    endpoint: str,
    epoch: int,
    generator: np.random.Generator,
    progress: Callable[[int], None],
) -> None:
    """Every device answers every metric, in a segment drawn at random; returns when all batches are stored."""
    devices = len(next(iter(values.values())))
    segments = generator.integers(collection.segment_count, size=devices).tolist()
    waiting = iter(range(devices))
    done = 0
    async with grpc.aio.insecure_channel(endpoint) as channel:
        submit: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(METHOD)

        async def work() -> None:
            nonlocal done
            for device in waiting:
                answers = {name: own[device] for name, own in values.items()}
                batch = reported(collection, answers, epoch, segments[device])
                await submit(batch.request, timeout=_SUBMIT_SECONDS, wait_for_ready=True)
                done += 1
                progress(done)

        async with asyncio.TaskGroup() as group:
            for _ in range(_IN_FLIGHT):
                group.create_task(work())


def reported(collection: Collection, answers: Mapping[str, Any], epoch: int, segment: int) -> Batch:
    """One device's batch."""
    reports = [collection.metrics[name].randomize(value) for name, value in answers.items()]
    shuffle(reports)
    return Batch.of(os.urandom(16), collection, epoch, segment, reports)
