"""Calls, and what they may keep of a process: every method that a listener offers passes through here.

words:
  unread   a call whose message has not come, or not wholly. What has come of it is gRPC's to keep, up to the length
           of the longest message; so their number is bounded. One more ends the one that has waited longest: a
           device's message comes along with its call, so that this is never the device's while another holds back.
           A connection that has a crowd of them goes with it
  lasting  a method whose calls go on until somebody ends them: so many at a time, and no more

grpc.aio itself hands a call over when its message is there, and can not end it before: a client that withheld the
last byte, or ended its call without a message, kept it for as long as its connection. Here every call is handed over
at once, and its message is asked for.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from typing import Any, NamedTuple, TypeAlias

import grpc
from google.protobuf.message import DecodeError

from deniable_aggregator.ingest import NAME
from deniable_aggregator.ingest.ending import forget_soon, refuse
from deniable_aggregator.ingest.refusal import NO_MESSAGE, NOT_A_REQUEST, TOO_MANY_CALLS, TOO_SLOW, Refusal
from deniable_aggregator.serving.conduct import Conduct

__all__ = ["Calls"]

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
_Add: TypeAlias = Callable[[Iterable[Any]], None]
_LOOK_SECONDS = 1.0
_CROWD = 8
_LEAST_CROWD = 4
"""A crowd of one connection is more than such a part of the calls that may wait, and more than so many."""
_UNREAD_SECONDS = 30.0
"""A message that has not come by then does not come."""
_LASTING: Mapping[str, int] = {
    "/deniable.v1.EstimateService/WatchEstimates": 100,
    "/grpc.health.v1.Health/Watch": 100,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": 10,
}
"""So many calls of a method at a time, in a process."""


_REPORTS = f"/{NAME}/"


class _Unread(NamedTuple):
    """A call that waits for its message."""

    since: float
    peer: str
    """Its connection: to ask gRPC for it takes longer than all else that is done when a call comes to wait."""


class Calls:
    """The calls of one process, over all of its listeners."""

    def __init__(self, most_unread: int, conduct: Conduct, seconds: float = _UNREAD_SECONDS) -> None:
        self._most_unread = most_unread
        self._conduct = conduct
        self._seconds = seconds
        self._unread: dict[_Context, _Unread] = {}
        self._crowds: Counter[str] = Counter()
        """How many of them each connection has."""
        self._streaming: Counter[str] = Counter()
        """How many calls that bring one message after the other each connection has."""
        self._stored: set[_Context] = set()
        self._lasting: Counter[str] = Counter()
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def unread(self) -> int:
        """How many calls wait for their message."""
        return len(self._unread)

    def asked_of(self, peer: str) -> int:
        """How many messages a connection is asked for now."""
        return self._crowds[peer] + self._streaming[peer]

    def storing(self) -> set[str]:
        """The connections that wait for a batch to be stored."""
        return {context.peer() for context in self._stored}

    def through(self, add: _Add) -> _Add:
        """What adds a listener's methods, with all of them bounded."""

        def add_bounded(handlers: Iterable[Any]) -> None:
            add([_Bounded(each, self._bounded) for each in handlers])

        return add_bounded

    async def keep(self) -> None:
        """End calls that have waited too long for their message, for ever."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.look(clock() - self._seconds)

    def look(self, before: float) -> None:
        """End the calls that have waited since then."""
        for context, each in list(self._unread.items()):
            if each.since > before:
                break
            self._end(context, TOO_SLOW)

    async def read(self, context: _Context) -> Any:
        """The message of a call."""
        peer = context.peer()
        if self._conduct.closed(peer):
            raise asyncio.CancelledError
        if len(self._unread) >= self._most_unread:
            self._crowd_out()
        self._unread[context] = _Unread(asyncio.get_running_loop().time(), peer)
        self._crowds[peer] += 1
        message, refusal = grpc.aio.EOF, NO_MESSAGE
        try:
            message = await context.read()
        except grpc.aio.AbortError as error:
            forget_soon(error)
            raise
        except DecodeError:  # gRPC would log it at length, as often as somebody likes
            refusal = NOT_A_REQUEST
        finally:
            waited = context in self._unread
            if waited:
                self._forget(context)
            if message is grpc.aio.EOF or not waited:
                self._conduct.mark(peer, offence=waited)
        if (
            not waited
        ):  # it is being refused: what has come after all is not taken, since its device may send it again
            raise asyncio.CancelledError
        if message is grpc.aio.EOF:
            await refuse(context, refusal)
        self._conduct.handed(peer, message)
        return message

    def _crowd_out(self) -> None:
        """End the call that has waited longest; and with it its connection, if many others wait there: now and then
        a message does not come, but not one after the other."""
        oldest, (_, peer) = next(iter(self._unread.items()))
        fellows = self._crowds[peer]
        self._end(oldest, TOO_MANY_CALLS)
        if fellows > max(self._most_unread // _CROWD, _LEAST_CROWD):
            self._conduct.close(peer)

    def _end(self, context: _Context, refusal: Refusal) -> None:
        """Refuse a call whose handler waits for its message: that ends, too, with the same error."""
        self._forget(context)
        task = asyncio.create_task(_refused(context, refusal))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _forget(self, context: _Context) -> None:
        """A call waits for its message no longer."""
        peer = self._unread.pop(context).peer
        self._crowds[peer] -= 1
        if not self._crowds[peer]:
            del self._crowds[peer]

    def _bounded(self, method: str, handler: _Handler) -> _Handler:
        """A method that is handed over at once, and of which nothing remains."""
        if handler.request_streaming and handler.response_streaming:
            return _replaced(handler, stream_stream=self._lasts(method, handler.stream_stream, False))
        if handler.response_streaming:
            return _replaced(handler, stream_stream=self._lasts(method, handler.unary_stream, True))
        assert not handler.request_streaming, "no service has such a method"
        return _replaced(handler, stream_unary=self._asked(handler.unary_unary, method.startswith(_REPORTS)))

    def _asked(self, behaviour: Any, reports: bool) -> Any:
        async def asked(_messages: object, context: _Context) -> Any:
            message = await self.read(context)
            if reports:
                self._stored.add(context)
            else:
                self._conduct.mark(context.peer())
            try:
                answer = await behaviour(message, context)
            except grpc.aio.AbortError as error:
                self._aborted(error, context, reports)
                raise
            finally:
                self._stored.discard(context)
            if reports:
                self._conduct.merit(context.peer())
            return answer

        return asked

    def _aborted(self, error: grpc.aio.AbortError, context: _Context, reports: bool) -> None:
        """Let go of a call that was refused; reports that are malformed are a mark of their connection."""
        forget_soon(error)
        if reports and context.code() is grpc.StatusCode.INVALID_ARGUMENT:
            self._conduct.mark(context.peer(), offence=True)

    def _lasts(self, method: str, behaviour: Any, asked: bool) -> Any:
        """A method with many answers, which it yields or writes itself; asked for by one message, or by a stream."""
        most, reports = _LASTING.get(method), method.startswith(_REPORTS)

        async def lasts(_messages: object, context: _Context) -> None:
            if not reports:
                self._conduct.mark(context.peer())
            elif self._conduct.closed(context.peer()):
                raise asyncio.CancelledError
            if most is not None and self._lasting[method] >= most:
                await refuse(context, TOO_MANY_CALLS)
            self._lasting[method] += 1
            try:
                answers = behaviour(await self.read(context) if asked else self._messages_of(context), context)
                if isinstance(answers, AsyncGenerator):
                    async with aclosing(answers):
                        async for answer in answers:
                            await context.write(answer)
                else:
                    await answers
            except grpc.aio.AbortError as error:
                self._aborted(error, context, reports)
                raise
            finally:
                self._lasting[method] -= 1

        return lasts

    async def _messages_of(self, context: _Context) -> AsyncGenerator[Any, None]:
        """The messages of a call. gRPC's own iterator of them holds itself: a cycle for every call."""
        malformed, peer = False, context.peer()
        self._streaming[peer] += 1
        try:
            while not malformed:
                try:
                    message = await context.read()
                except DecodeError:
                    malformed = True
                else:
                    if message is grpc.aio.EOF:
                        return
                    self._conduct.handed(peer, message)
                    yield message
        finally:
            self._streaming[peer] -= 1
            if not self._streaming[peer]:
                del self._streaming[peer]
        await refuse(context, NOT_A_REQUEST)


async def _refused(context: _Context, refusal: Refusal) -> None:
    with suppress(grpc.aio.AbortError, asyncio.CancelledError):
        await refuse(context, refusal)


def _replaced(handler: Any, **behaviour: Any) -> _Handler:
    """The handler with another behaviour, whose messages are read by itself."""
    streams = "stream_stream" in behaviour
    none = {"unary_unary": None, "unary_stream": None, "stream_unary": None, "stream_stream": None}
    replaced: _Handler = handler._replace(request_streaming=True, response_streaming=streams, **none | behaviour)
    return replaced


class _Bounded:
    """A service whose methods are bounded; each is made when it is first asked for."""

    def __init__(self, service: Any, bounded: Callable[[str, _Handler], _Handler]) -> None:
        self._service = service
        self._bounded = bounded
        self._methods: dict[str, _Handler] = {}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> _Handler | None:
        """The method that a call asks for; None where there is no such."""
        method = handler_call_details.method
        known = self._methods.get(method)
        if known is None and (found := self._service.service(handler_call_details)) is not None:
            known = self._methods[method] = self._bounded(method, found)
        return known
