"""Why a batch was not stored, and what a device is told about it.

| what                          | code                | reason             | detail                           |
|-------------------------------|---------------------|--------------------|----------------------------------|
| malformed                     | INVALID_ARGUMENT    | MALFORMED_BATCH    | BadRequest: the fields           |
| a digest that is not known    | FAILED_PRECONDITION | UNKNOWN_COLLECTION | RetryInfo                        |
| not of the token's collections | PERMISSION_DENIED  | OTHER_COLLECTION   | RetryInfo                        |
| an epoch that is not accepted | OUT_OF_RANGE        | EPOCH_TOO_OLD,     | BadRequest: epoch; the metadata  |
|                               |                     | EPOCH_TOO_NEW      | of ErrorInfo has the accepted    |
| the collection has ended      | OUT_OF_RANGE        | COLLECTION_RETIRED | BadRequest: epoch; the metadata  |
|                               |                     |                    | of ErrorInfo has its first one   |
| too much is waiting           | RESOURCE_EXHAUSTED  | BUSY               | RetryInfo                        |
| too many calls are open       | RESOURCE_EXHAUSTED  | TOO_MANY_CALLS     | RetryInfo                        |
| more than the token may bring | RESOURCE_EXHAUSTED  | OVER_RATE          | RetryInfo                        |
| the message does not come     | DEADLINE_EXCEEDED   | TOO_SLOW           | RetryInfo                        |
| the store is away or full     | UNAVAILABLE         | STORE_UNAVAILABLE  | RetryInfo                        |
| the aggregator is ending      | UNAVAILABLE         | DRAINING           | RetryInfo                        |

Every status also has an ErrorInfo with the reason and the domain `deniable`. No text has anything in it that
a batch brought along, but for numbers of fields and names of metrics.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]
from grpc import StatusCode

__all__ = [
    "BUSY",
    "DOMAIN",
    "DRAINING",
    "NOT_A_REQUEST",
    "NO_MESSAGE",
    "OTHER_COLLECTION",
    "STORE_UNAVAILABLE",
    "TOO_LARGE",
    "TOO_MANY_CALLS",
    "TOO_SLOW",
    "UNKNOWN_COLLECTION",
    "Fault",
    "Refusal",
    "collection_retired",
    "epoch_too_new",
    "epoch_too_old",
    "malformed",
    "over_rate",
]

DOMAIN = "deniable"
"""Whose reasons these are."""

Fault = tuple[str, str]
"""A field of a batch, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a batch was not stored."""

    code: StatusCode
    """The row of the design's table that it belongs to."""
    reason: str
    """The same in a word, for programs."""
    message: str
    """The same in a sentence, for people."""
    faults: tuple[Fault, ...] = ()
    """What is wrong with the batch."""
    retry_after: timedelta | None = None
    """How long to wait before trying again; None where that does not help."""
    metadata: tuple[tuple[str, str], ...] = ()
    """More about it, for programs."""

    @property
    def number(self) -> int:
        """The code's number, as google.rpc.Code has it."""
        number: int = self.code.value[0]
        return number

    def details(self) -> bytes:
        """The status as it travels; the same refusal is put into bytes once."""
        return _details(self)

    def status(self) -> Status:
        """What travels to the device, beside the code and the message."""
        status = Status(code=self.number, message=self.message)
        status.details.append(_any(ErrorInfo(reason=self.reason, domain=DOMAIN, metadata=dict(self.metadata))))
        if self.faults:
            violations = [BadRequest.FieldViolation(field=field, description=text) for field, text in self.faults]
            status.details.append(_any(BadRequest(field_violations=violations)))
        if self.retry_after is not None:
            delay = Duration()
            delay.FromTimedelta(self.retry_after)
            status.details.append(_any(RetryInfo(retry_delay=delay)))
        return status


@lru_cache(maxsize=1024)
def _details(refusal: Refusal) -> bytes:
    text: bytes = refusal.status().SerializeToString()
    return text


def _any(message: Message) -> Any:
    packed = Any()
    packed.Pack(message)
    return packed


def malformed(faults: Iterable[Fault]) -> Refusal:
    """The batch has faults."""
    faults = tuple(faults)
    field, text = faults[0]
    return Refusal(StatusCode.INVALID_ARGUMENT, "MALFORMED_BATCH", f"{field}: {text}", faults)


def epoch_too_old(accepted: range) -> Refusal:
    """The batch's epoch is no longer accepted."""
    return _epoch("EPOCH_TOO_OLD", "this epoch is no longer accepted", accepted)


def epoch_too_new(accepted: range) -> Refusal:
    """The batch's epoch has not begun."""
    return _epoch("EPOCH_TOO_NEW", "this epoch has not begun: the device's clock may be off", accepted)


def collection_retired(ends: int) -> Refusal:
    """The batch's epoch is not before the one with which its collection has ended: for good."""
    fault = ("epoch", f"not before {ends}")
    message = "this collection is retired: nothing of this epoch is taken, and nothing of a later one"
    metadata = (("first_epoch_not_taken", str(ends)),)
    return Refusal(StatusCode.OUT_OF_RANGE, "COLLECTION_RETIRED", message, (fault,), metadata=metadata)


def over_rate(wait: timedelta) -> Refusal:
    """The batch's token has brought as many as it may for now."""
    message = "more batches come with this token than it may bring: this one is taken later"
    return Refusal(StatusCode.RESOURCE_EXHAUSTED, "OVER_RATE", message, retry_after=wait)


def _epoch(reason: str, message: str, accepted: range) -> Refusal:
    metadata = (("first_epoch", str(accepted[0])), ("last_epoch", str(accepted[-1])))
    fault = ("epoch", f"not within {accepted[0]} to {accepted[-1]}")
    return Refusal(StatusCode.OUT_OF_RANGE, reason, message, (fault,), metadata=metadata)


NOT_A_REQUEST = malformed([("request", "not a message of this method")])
NO_MESSAGE = malformed([("request", "the call ended without a message")])
TOO_LARGE = malformed([("request", "longer than any batch of the collections that are served, or of more fields")])
UNKNOWN_COLLECTION = Refusal(
    StatusCode.FAILED_PRECONDITION,
    "UNKNOWN_COLLECTION",
    "this aggregator does not know a collection of this digest",
    retry_after=timedelta(hours=1),
)
OTHER_COLLECTION = Refusal(
    StatusCode.PERMISSION_DENIED,
    "OTHER_COLLECTION",
    "this token is not good for this collection",
    retry_after=timedelta(hours=1),
)
BUSY = Refusal(
    StatusCode.RESOURCE_EXHAUSTED,
    "BUSY",
    "too many batches are waiting to be stored",
    retry_after=timedelta(seconds=2),
)
TOO_MANY_CALLS = Refusal(
    StatusCode.RESOURCE_EXHAUSTED,
    "TOO_MANY_CALLS",
    "too many calls of this kind are open",
    retry_after=timedelta(seconds=10),
)
TOO_SLOW = Refusal(
    StatusCode.DEADLINE_EXCEEDED,
    "TOO_SLOW",
    "the message of this call has not come in time",
    retry_after=timedelta(seconds=10),
)
STORE_UNAVAILABLE = Refusal(
    StatusCode.UNAVAILABLE,
    "STORE_UNAVAILABLE",
    "the store can not take the batch now",
    retry_after=timedelta(seconds=2),
)
DRAINING = Refusal(
    StatusCode.UNAVAILABLE,
    "DRAINING",
    "this aggregator is ending",
    retry_after=timedelta(seconds=1),
)
