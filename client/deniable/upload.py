"""Upload: one batch to an aggregator over gRPC, and what its answer means for the batch.

words:
  outcome   what became of a batch: stored, refused for good, or kept for later
  backoff   how long to wait after a failure: what the server says, else twice as long each time, with jitter

grpc is imported here when the first batch leaves, on the upload thread, and nowhere else.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from deniable.outbox import Batch
from deniable.randomness import WORD, word

if TYPE_CHECKING:
    import grpc

__all__ = ["Backoff", "Outcome", "Uploader"]

METHOD = "/deniable.v1.ReportService/SubmitReports"
LONG_WAIT = 3600.0
"""Before a refusal that only people can mend (credentials, an unknown collection) is tried again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a batch."""

    keep: bool
    """Whether the batch waits for another try."""
    counted_as: str
    """The word in the device's health counts."""
    retry_after: float | None = None
    """For a kept batch: how long the server asks to wait; None: as the backoff says."""
    advice: str = ""
    """For the log, once: what a person can do."""


_REFUSED = {
    "INVALID_ARGUMENT": Outcome(False, "rejected", advice="the aggregator calls a batch malformed"),
    "OUT_OF_RANGE": Outcome(
        False, "out of time", advice="the aggregator no longer, or not yet, takes this epoch: is the clock right?"
    ),
    "FAILED_PRECONDITION": Outcome(
        True, "unknown collection", LONG_WAIT, "the aggregator does not know the collection"
    ),
    "UNAUTHENTICATED": Outcome(True, "not authenticated", LONG_WAIT, "the aggregator asks for credentials"),
    "PERMISSION_DENIED": Outcome(True, "not permitted", LONG_WAIT, "the aggregator does not take these credentials"),
    "UNIMPLEMENTED": Outcome(True, "no such service", LONG_WAIT, "the endpoint is no aggregator"),
}


class Uploader:
    """A channel to one aggregator; made, used and closed on the upload thread."""

    def __init__(self, endpoint: str, deadline: float) -> None:
        self._endpoint = endpoint
        self._deadline = deadline
        self._channel: grpc.Channel | None = None

    def send(self, batch: Batch) -> Outcome:
        """Submit a batch and wait for the answer, at most for the deadline."""
        import grpc

        try:
            # Bytes in, bytes out: the batch is encoded already.
            submit: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self._open().unary_unary(METHOD)
            response = submit(batch.request, timeout=self._deadline)
        except grpc.RpcError as error:
            return _refusal(cast("grpc.Call", error))  # what a call raises is the call itself
        except ValueError:  # the channel was closed under the call
            return Outcome(True, "unreachable")
        return Outcome(False, "stored before" if b"\x08\x01" in response else "stored")

    def _open(self) -> grpc.Channel:
        import grpc

        if self._channel is None:
            if is_loopback(self._endpoint):
                self._channel = grpc.insecure_channel(self._endpoint)
            else:
                self._channel = grpc.secure_channel(self._endpoint, grpc.ssl_channel_credentials())
        return self._channel

    def close(self) -> None:
        """Close the channel; a call under way ends at once."""
        if self._channel is not None:
            self._channel.close()


def is_loopback(endpoint: str) -> bool:
    """Whether an endpoint is on this machine, the only place that is reached without TLS."""
    if endpoint.startswith(("unix:", "unix-abstract:")):
        return True
    host = endpoint.rpartition("//")[2].rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refusal(call: grpc.Call) -> Outcome:
    code = call.code().name
    known = _REFUSED.get(code)
    if known is not None:
        return known
    return Outcome(True, "unreachable" if code == "UNAVAILABLE" else "not taken", _pushback(call))


def _pushback(call: grpc.Call) -> float | None:
    """What the server asks to wait: RetryInfo in the status, or the trailer of gRFC A6."""
    trailer: dict[str, str | bytes] = dict(call.trailing_metadata() or ())
    pushback = str(trailer.get("grpc-retry-pushback-ms", ""))
    if pushback.lstrip("-").isdigit():
        return LONG_WAIT if int(pushback) < 0 else int(pushback) / 1000
    details = trailer.get("grpc-status-details-bin")
    return _retry_info(details) if isinstance(details, bytes) else None


def _retry_info(status: bytes) -> float | None:
    """The delay of a google.rpc.RetryInfo in a google.rpc.Status; None where there is none to be read."""
    from google.protobuf.any_pb2 import Any
    from google.protobuf.duration_pb2 import Duration

    for detail in _fields(status, 3):  # Status.details
        try:
            packed = Any.FromString(detail)
            if packed.type_url.endswith("/google.rpc.RetryInfo"):
                for field in _fields(packed.value, 1):  # RetryInfo.retry_delay
                    delay = Duration.FromString(field)
                    return max(0.0, float(delay.seconds) + delay.nanos / 1e9)
        except Exception:  # noqa: BLE001 - whatever a server sends must not end the upload thread
            return None
    return None


def _fields(message: bytes, number: int) -> list[bytes]:
    """The values of one length-delimited field of a protobuf message; what can not be read ends the list."""
    found, position = [], 0
    try:
        while position < len(message):
            tag, position = _varint(message, position)
            length, position = _varint(message, position)
            if tag & 7 == 2:
                if tag >> 3 == number:
                    found.append(message[position : position + length])
                position += length
    except IndexError:
        pass
    return found


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7


class Backoff:
    """How long to wait after failures in a row: from `first`, twice as long each time up to `longest`, jittered."""

    def __init__(self, first: float = 1.0, longest: float = 900.0) -> None:
        self._first = first
        self._longest = longest
        self._failures = 0

    def reset(self) -> None:
        """A batch got through."""
        self._failures = 0

    def failed(self, asked: float | None) -> float:
        """One more failure: the wait until the next try, at least what the server asked for."""
        wait = min(self._longest, self._first * float(1 << self._failures))
        self._failures = min(self._failures + 1, 30)
        return max(asked or 0.0, wait) * (0.8 + 0.4 * word() / WORD)
