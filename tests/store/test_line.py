"""Lines: replies are the same however they are cut on their way, and a line that has gone wrong is not used again."""

from __future__ import annotations

import asyncio
import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis._parsers.base import BaseParser
from redis.exceptions import AuthenticationError, ConnectionError, InvalidResponse, ResponseError  # noqa: A004
from redis.exceptions import TimeoutError as StoreTimeout

from deniable_aggregator.store.line import Line, written

PLAIN = st.one_of(st.none(), st.integers(-(1 << 63), (1 << 63) - 1), st.binary(max_size=40))
REPLIES = st.lists(
    st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=4), max_leaves=8), min_size=1, max_size=4
)


class Transport(asyncio.Transport):
    """Keeps what is written, and says when it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = False
        self.protocol: asyncio.BaseProtocol = asyncio.Protocol()

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Whose it is."""
        return self.protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Whose it is from now on."""
        self.protocol = protocol

    def write(self, data: Any) -> None:
        """Keep it."""
        self.sent += data

    def close(self) -> None:
        """Be closed."""
        self.closed = True


def line(transport: Transport, timeout: float = 60.0) -> Line:
    """A line over a transport."""
    parser = SimpleNamespace(parse_error=BaseParser.parse_error)
    return Line(SimpleNamespace(_writer=SimpleNamespace(transport=transport), _parser=parser), timeout)


def told(reply: Any) -> bytes:
    """A reply as a server writes it."""
    match reply:
        case None:
            return b"$-1\r\n"
        case int():
            return b":%d\r\n" % reply
        case bytes():
            return b"$%d\r\n%b\r\n" % (len(reply), reply)
        case _:
            return b"*%d\r\n" % len(reply) + b"".join(map(told, reply))


async def exchanged(text: bytes, cuts: list[int], commands: int) -> tuple[Any, Line]:
    """What an exchange comes to whose replies come cut there, or the error that it raises; and its line."""
    transport = Transport()
    over = line(transport)
    asked = asyncio.ensure_future(over.exchange([("PING",)] * commands))
    await asyncio.sleep(0)
    assert transport.sent == b"*1\r\n$4\r\nPING\r\n" * commands
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for first, last in itertools.pairwise(places):
        over.data_received(text[first:last])
    outcomes: list[Any] = await asyncio.gather(asked, return_exceptions=True)
    return outcomes[0], over


@given(REPLIES, st.lists(st.integers(0, 400), max_size=6))
def test_replies_are_the_same_however_they_are_cut(replies: list[Any], cuts: list[int]) -> None:
    """Numbers, bytes, nothing and lists of them arrive whole, wherever a packet ends; then the line is free again."""
    outcome, over = asyncio.run(exchanged(b"".join(map(told, replies)), cuts, len(replies)))
    assert outcome == replies
    assert over.open


def test_errors_are_replies_unless_the_connection_is_no_use() -> None:
    """A refused command is one reply among others; a connection that may say nothing is closed."""
    (refused, fine), over = asyncio.run(exchanged(b"-ERR no\r\n+OK\r\n", [], 2))
    assert isinstance(refused, ResponseError)
    assert fine == b"OK"
    assert over.open
    outcome, over = asyncio.run(exchanged(b"-NOAUTH Authentication required.\r\n", [], 1))
    assert isinstance(outcome, AuthenticationError)
    assert not over.open


@pytest.mark.parametrize("text", [b"?\r\n", b":1\r\n:2\r\n", b":one\r\n"])
def test_what_is_no_reply_closes_the_line(text: bytes) -> None:
    """Replies that nobody asked for, or that make no sense, belong to something that has gone wrong."""
    outcome, over = asyncio.run(exchanged(text, [], 1))
    assert isinstance(outcome, InvalidResponse)
    assert not over.open


def test_a_lost_connection_and_a_silent_store_are_errors() -> None:
    """Whoever waits is told, and the line is closed; so it is for one who no longer waits."""

    async def check() -> None:
        lost, silent, left = (line(Transport(), timeout) for timeout in (60.0, 0.01, 60.0))
        asked = asyncio.ensure_future(lost.exchange([("PING",)]))
        await asyncio.sleep(0)
        lost.connection_lost(None)
        with pytest.raises(ConnectionError):
            await asked
        with pytest.raises(StoreTimeout):
            await silent.exchange([("PING",)])
        leaving = asyncio.ensure_future(left.exchange([("PING",)]))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        assert not lost.open
        assert not silent.open
        assert not left.open

    asyncio.run(check())


def test_commands_are_written_with_their_lengths() -> None:
    """Text, bytes and numbers, whatever bytes there are in them."""
    assert written([("SET", b"a\r\n", 12)]) == b"*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$2\r\n12\r\n"
