"""What an aggregator's answer, or the want of one, means for a batch.

words:
  outcome    what became of a batch: stored, refused for good, or kept for later
  unstored   it is certain that a kept batch was not stored: no acknowledgement is outstanding
  step       how long a server can ask a device to wait: one of a few, for a delay of its own would be a name for it
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deniable.randomness import WORD, word
from deniable.wire.protobuf import fields, tag_of

if TYPE_CHECKING:
    import grpc

__all__ = ["LONG_WAIT", "NOT_TAKEN", "UNREACHABLE", "Outcome", "backoff", "refusal", "speaks_http1"]

LONG_WAIT = 3600.0
"""Before a refusal that only people can mend (credentials, an unknown collection) is tried again."""
_STEPS = (2.0, 60.0, 3600.0, 43200.0)
"""What a server can ask for: the next one of these, and up to twice as much, a day at most. A delay for each device
would be a name for it."""
_GROWTH = 4.0
"""Every wait for the next try is so many times the one before."""


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
    meanwhile: str = ""
    """For who waits for it: what to look at, where it may pass by itself."""
    unstored: bool = False
    """For a kept batch: whether it is certain that it was not stored."""


_REFUSED = {
    "INVALID_ARGUMENT": Outcome(False, "rejected", advice="the aggregator calls a batch malformed"),
    "OUT_OF_RANGE": Outcome(
        False,
        "out of time",
        advice="the aggregator does not take this epoch: is the clock right, or is the collection retired?",
    ),
    "FAILED_PRECONDITION": Outcome(
        True,
        "unknown collection",
        LONG_WAIT,
        "the aggregator does not know the collection as it is here: it has to serve this version of the file, "
        "too, and to read again (SIGHUP) one that was edited",
    ),
    "UNAUTHENTICATED": Outcome(True, "not authenticated", LONG_WAIT, "the aggregator asks for credentials"),
    "PERMISSION_DENIED": Outcome(True, "not permitted", LONG_WAIT, "the aggregator does not take these credentials"),
    "UNIMPLEMENTED": Outcome(True, "no such service", LONG_WAIT, "the endpoint is no aggregator"),
    "RESOURCE_EXHAUSTED": Outcome(True, "not taken"),
}
"""What an aggregator says before it stores anything: whoever hears it knows that the batch was not stored."""
_MADE_UP = {"PERMISSION_DENIED", "RESOURCE_EXHAUSTED"}
"""What gRPC also says of a stream that was broken off on the way, and maybe stored. An aggregator gives details."""
_DETAILS = "grpc-status-details-bin"
_NOT_CONNECTED = ("failed to connect to all addresses; last error", "errors resolving", "DNS resolution failed")
"""How gRPC says that a call never left; by any other words it may have."""
UNREACHABLE = Outcome(
    True,
    "unreachable",
    meanwhile="is an aggregator there (`deniable serve`)? The answer is kept, and leaves with the next flush or by "
    "itself",
)
NOT_TAKEN = Outcome(True, "not taken")
_OLDER = ("http1.x server", "missing selected ALPN property")
"""How gRPC says that what answers speaks HTTP/1.1 and nothing newer, in the clear and by TLS."""
_OF_A_PAGE = (
    "what answers there speaks HTTP/1.1, as an aggregator's page does: devices send to the port of "
    "`deniable serve --listen` (8470 unless said), and not to that of --http (8471)"
)


def backoff(failures: int, asked: float | None, longest: float) -> float:
    """Seconds until a batch that has failed so often before is sent again: four times as many each time up to the
    longest, half as many or half as many again; at least the step that the server's request comes to."""
    own = min(longest, _GROWTH ** min(failures, 20)) * (0.5 + word() / WORD)
    if not asked:
        return own
    step = next((step for step in _STEPS if step >= asked), _STEPS[-1])
    return max(own, step * (1.0 + word() / WORD))


def refusal(call: grpc.Call) -> Outcome:
    """What it means for a batch that its call has failed."""
    code = call.code().name
    if code in _REFUSED:
        known = _REFUSED[code]
        asked = max(known.retry_after or 0.0, _asked(call) or 0.0)
        unstored = code not in _MADE_UP or _DETAILS in dict(call.trailing_metadata() or ())
        return replace(known, retry_after=asked or None, unstored=unstored) if known.keep else known
    if code == "UNAVAILABLE" and str(call.details()).startswith(_NOT_CONNECTED):
        told = replace(UNREACHABLE, unstored=True)
        return replace(told, advice=_OF_A_PAGE, meanwhile="") if speaks_http1(str(call.details())) else told
    return replace(
        UNREACHABLE if code in {"UNAVAILABLE", "DEADLINE_EXCEEDED"} else NOT_TAKEN, retry_after=_asked(call)
    )


def speaks_http1(details: str) -> bool:
    """Whether a call failed since what answers there is no gRPC server, but maybe a page."""
    return any(words in details for words in _OLDER)


def _asked(call: grpc.Call) -> float | None:
    """What the server asks to wait: RetryInfo in the status, or the trailer of gRFC A6."""
    trailer: dict[str, str | bytes] = dict(call.trailing_metadata() or ())
    pushback = str(trailer.get("grpc-retry-pushback-ms", ""))
    if pushback.removeprefix("-").isdecimal():
        return LONG_WAIT if pushback.startswith("-") else int(pushback[:12]) / 1000
    details = trailer.get(_DETAILS)
    return _retry_info(details) if isinstance(details, bytes) else None


def _retry_info(status: bytes) -> float | None:
    """The delay of a google.rpc.RetryInfo in a google.rpc.Status; None where there is none to be read."""
    from google.protobuf.any_pb2 import Any
    from google.protobuf.duration_pb2 import Duration
    from google.protobuf.message import DecodeError

    try:
        for detail in map(Any.FromString, _values(status, 3)):  # Status.details
            if detail.type_url.endswith("/google.rpc.RetryInfo"):
                for delay in map(Duration.FromString, _values(detail.value, 1)):  # RetryInfo.retry_delay
                    return max(0.0, delay.seconds + delay.nanos / 1e9)
    except (DecodeError, IndexError):
        pass
    return None


def _values(message: bytes, number: int) -> list[bytes]:
    return [value for tag, _, value in fields(message) if tag == tag_of(number)]
