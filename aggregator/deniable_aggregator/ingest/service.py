"""The ReportService: batches in, acknowledgements out once they are stored.

Requests arrive as bytes and are parsed here, so that one that is no message gets an answer of the table like
any other. Neither peers nor ids nor payloads are logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta

import grpc
from google.protobuf.message import DecodeError

from deniable.v1 import report_service_pb2
from deniable.v1.report_service_pb2 import (
    OtherBatch,
    StreamReportsRequest,
    StreamReportsResponse,
    SubmitReportsRequest,
    SubmitReportsResponse,
)
from deniable_aggregator.caller import wait
from deniable_aggregator.ingest.admission import Admission
from deniable_aggregator.ingest.batcher import Batcher, Ticket
from deniable_aggregator.ingest.bounds import Bound
from deniable_aggregator.ingest.ending import refuse
from deniable_aggregator.ingest.flush import Outcome, Stored
from deniable_aggregator.ingest.refusal import DRAINING, NOT_A_REQUEST, TOO_MANY_CALLS, Refusal, malformed, over_rate
from deniable_aggregator.ingest.stats import IngestStats

__all__ = ["NAME", "ReportService"]

NAME = report_service_pb2.DESCRIPTOR.services_by_name["ReportService"].full_name
"""The service's full name."""

_STORED = SubmitReportsResponse().SerializeToString()
_STORED_BEFORE = SubmitReportsResponse(duplicate=True).SerializeToString()
_MOST_IN_FLIGHT = 4000
"""So many batches of one stream may be unanswered; then its messages stay with the sender. Four full flushes:
one is being stored while the next gathers, and messages are not cut to fit."""
_MOST_OF_A_MESSAGE = 1000
_A_MESSAGE, _A_TURN = 5, 64
"""To read and answer a message takes as long as so many batches, about; and so many of the streams' are looked at
before others have a turn: about a millisecond, where a call alone takes a seventh of one."""
_MOST_STREAMS = 128
"""So many gateways a process; one more ends the stream that has been quiet for longest."""
_LAST_ANSWERS_SECONDS = 1.0
"""For taking its answers: a stream that is ended since another needs its place."""
_TOO_MANY = malformed([("batches", f"a message has 1 to {_MOST_OF_A_MESSAGE}")])


class ReportService:
    """Takes batches over gRPC."""

    def __init__(self, door: Admission, batcher: Batcher, stats: IngestStats) -> None:
        self._door = door
        self._batcher = batcher
        self._stats = stats
        self._draining = asyncio.Event()
        self._turns = _Turns()
        self._streams: dict[_Stream, None] = {}

    @property
    def bound(self) -> Bound:
        """What no batch exceeds."""
        return self._door.bound

    def add_to(self, server: grpc.aio.Server) -> None:
        """Have a server that has not started offer this service."""
        handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "SubmitReports": grpc.unary_unary_rpc_method_handler(self._submit_reports),
            "StreamReports": grpc.stream_stream_rpc_method_handler(self._stream_reports),
        }
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(NAME, handlers)])

    async def drain(self) -> None:
        """Take no more batches; return when all that were taken are stored."""
        self._draining.set()
        await self._batcher.drain()

    def take(self, request: SubmitReportsRequest) -> Ticket | Refusal:
        """Let a batch in, or not."""
        over = self._over_rate()
        return self._refused(over) if over else self.admit(request)

    @staticmethod
    def _over_rate() -> Refusal | None:
        """Why a batch has to wait: it is counted as one of its token's, whatever it turns out to be."""
        later = wait()
        return None if later is None else over_rate(later)

    def admit(self, request: SubmitReportsRequest) -> Ticket | Refusal:
        """Let a batch in that its token may bring, or not."""
        batch = self._door.admit(request)
        ticket = batch if isinstance(batch, Refusal) else self._batcher.submit(batch)
        return self._refused(ticket) if isinstance(ticket, Refusal) else ticket

    def _taken(self, message: bytes) -> Ticket | Refusal:
        """Let a batch in of which there are bytes alone, or not. What is no batch is told so above a rate as well: a
        connection that brings such is closed for it."""
        over = self._over_rate()
        if not self._door.bound.holds(message):
            return self._refused(self._door.too_large(message))
        try:
            request = SubmitReportsRequest.FromString(message)
        except DecodeError:
            return self._refused(NOT_A_REQUEST)
        return self._refused(over) if over else self.admit(request)

    def _refused(self, refusal: Refusal) -> Refusal:
        """It is counted."""
        self._stats.refuse(refusal)
        return refusal

    async def _submit_reports(self, message: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        ticket = self._taken(message)
        outcome = ticket if isinstance(ticket, Refusal) else (await ticket.outcomes)[ticket.place]
        if outcome is Stored.NOW:
            return _STORED
        if isinstance(outcome, Refusal):
            await refuse(context, outcome)
        return _STORED_BEFORE

    async def _stream_reports(
        self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> None:
        stream = _Stream(self.take, context, self._heard, self._turns)
        self._heard(stream)
        if len(self._streams) > _MOST_STREAMS:
            self._crowd_out()
        reading = asyncio.create_task(stream.read(messages))
        writing = asyncio.create_task(stream.write())
        draining = asyncio.create_task(self._draining.wait())
        crowded = asyncio.create_task(stream.crowded_out.wait())
        tasks = (reading, writing, draining, crowded)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            refusal = reading.result() if reading.done() else DRAINING if draining.done() else TOO_MANY_CALLS
            reading.cancel()
            stream.end()
            if crowded.done() and not (await asyncio.wait({writing}, timeout=_LAST_ANSWERS_SECONDS))[0]:
                raise asyncio.CancelledError  # who takes no answers takes no refusal either
            await writing
        finally:
            self._streams.pop(stream, None)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # What a task was cancelled with knows this frame: a cycle, that would keep what the stream has not taken.
            del tasks, reading, writing, draining, crowded, task
        if refusal:
            await refuse(context, refusal)

    def _crowd_out(self) -> None:
        """End the stream that has been quiet for longest; the next one to come ends another."""
        quietest = next(iter(self._streams))
        del self._streams[quietest]
        quietest.crowded_out.set()

    def _heard(self, stream: _Stream) -> None:
        """A stream is new, or has sent something: it is the last that is ended for having been quiet."""
        self._streams.pop(stream, None)
        self._streams[stream] = None


class _Turns:
    """Of all streams together: a message in each turn of the loop, or several that are small. Calls of devices have
    theirs in between, however many streams there are, and however they divide what they send into messages."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        """Held for as long as a message is looked at."""
        self._taken = 0

    async def end(self, batches: int) -> None:
        """A message of so many batches has been looked at."""
        self._taken += _A_MESSAGE + batches
        if self._taken > _A_TURN:
            self._taken = 0
            await asyncio.sleep(0)


class _Message:
    """The batches of one message, until all are done."""

    __slots__ = ("sequence", "tickets", "under_way")

    def __init__(self, sequence: int, tickets: Sequence[Ticket | Refusal]) -> None:
        self.sequence = sequence
        self.tickets = tickets
        self.under_way = {ticket.outcomes for ticket in tickets if isinstance(ticket, Ticket)}

    def answer(self) -> StreamReportsResponse:
        """What became of each batch."""
        answer = StreamReportsResponse(sequence=self.sequence)
        for place, ticket in enumerate(self.tickets):
            outcome = ticket if isinstance(ticket, Refusal) else ticket.outcomes.result()[ticket.place]
            if outcome is Stored.NOW:
                answer.stored += 1
            elif isinstance(outcome, Refusal):
                answer.others.append(_refused(place, outcome))
            else:
                answer.others.add(place=place, duplicate=True)
        return answer


class _Stream:
    """One call of StreamReports: messages in, and an answer for each when its batches are done."""

    def __init__(
        self,
        take: Callable[[SubmitReportsRequest], Ticket | Refusal],
        context: grpc.aio.ServicerContext[bytes, bytes],
        heard: Callable[[_Stream], None],
        turns: _Turns,
    ) -> None:
        self._take = take
        self._context = context
        self._heard = heard
        self._turns = turns
        self.crowded_out = asyncio.Event()
        """Another stream needs the place of this one."""
        self._in_flight = 0
        self._ended = False
        self._room = asyncio.Event()
        self._waiting: dict[asyncio.Future[list[Outcome]], list[_Message]] = {}
        self._finished: asyncio.Queue[_Message | None] = asyncio.Queue()

    async def read(self, messages: AsyncIterator[bytes]) -> Refusal | None:
        """Take batches until the sender has no more; a refusal ends the stream."""
        async for message in messages:
            try:
                request = StreamReportsRequest.FromString(message)
            except DecodeError:
                return NOT_A_REQUEST
            self._heard(self)
            if not 1 <= len(request.batches) <= _MOST_OF_A_MESSAGE:
                return _TOO_MANY
            async with self._turns.lock:
                self._in_flight += len(request.batches)
                self._await(_Message(request.sequence, [self._take(batch) for batch in request.batches]))
                await self._turns.end(len(request.batches))
            while self._in_flight >= _MOST_IN_FLIGHT:
                self._room.clear()
                await self._room.wait()
        return None

    async def write(self) -> None:
        """Answer messages until the stream has ended and none is left."""
        while self._in_flight or not self._ended:
            message = await self._finished.get()
            if message:
                await self._context.write(message.answer().SerializeToString())
                self._in_flight -= len(message.tickets)
                self._room.set()

    def end(self) -> None:
        """No more batches are taken."""
        self._ended = True
        self._finished.put_nowait(None)

    def _await(self, message: _Message) -> None:
        if not message.under_way:
            self._finished.put_nowait(message)
        for flush in message.under_way:
            waiting = self._waiting.get(flush)
            if waiting is None:
                waiting = self._waiting[flush] = []
                flush.add_done_callback(self._done)
            waiting.append(message)

    def _done(self, flush: asyncio.Future[list[Outcome]]) -> None:
        for message in self._waiting.pop(flush):
            message.under_way.discard(flush)
            if not message.under_way:
                self._finished.put_nowait(message)


def _refused(place: int, refusal: Refusal) -> OtherBatch:
    return OtherBatch(
        place=place,
        code=refusal.number,
        reason=refusal.reason,
        message=refusal.message,
        retry_after_ms=refusal.retry_after // timedelta(milliseconds=1) if refusal.retry_after else 0,
    )
