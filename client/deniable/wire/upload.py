"""Upload: one batch to an aggregator over gRPC.

words:
  uploader   a connection to one aggregator for one batch: two batches on one connection are of one device

grpc is imported here when the first batch leaves, on the thread that sends it, and nowhere else; what gRPC itself
does around forks is switched off (see gate.py).
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast

from deniable.wire.credentials import Credentials
from deniable.wire.outcome import NOT_TAKEN, UNREACHABLE, Outcome, refusal

if TYPE_CHECKING:
    import grpc

__all__ = ["METHOD", "ONCE", "Uploader"]

METHOD = "/deniable.v1.ReportService/SubmitReports"
ONCE = ("grpc.enable_retries", 0)
"""For channels of batches: a call is tried once, and the caller says when again. gRPC would repeat what never left;
where a connection dies under many calls it does so without a pause, and its memory grows by gigabytes in seconds."""
_OWN = ("grpc.use_local_subchannel_pool", 1)
"""For the channel of one batch: gRPC would give it the connection of another channel that goes to the same place."""


def _load_grpc() -> None:
    """Load gRPC without its own fork handlers, which now and then wait for ever for one of its threads.

    Ours leave them nothing to do. What the application has loaded, or has set, is left as it is.
    """
    switch = "GRPC_ENABLE_FORK_SUPPORT"
    if "grpc" in sys.modules or switch in os.environ:
        return
    os.environ[switch] = "0"
    try:
        import grpc

        grpc.insecure_channel("unix:nowhere").close()  # it looks at the environment when it is first used
    finally:
        del os.environ[switch]


class Uploader:
    """A channel to one aggregator for one batch; made and used on the upload thread, cut short from any."""

    def __init__(self, endpoint: str, credentials: Credentials, deadline: float) -> None:
        self._endpoint = endpoint
        self._credentials = credentials
        self._deadline = deadline
        self._channel: grpc.Channel | None = None
        self._cut = False

    def send(self, request: bytes) -> Outcome | None:
        """Submit a batch and wait for the answer, at most for the deadline; None where it was cut short."""
        if self._cut:
            return None
        _load_grpc()
        import grpc
        from google.protobuf.message import DecodeError

        from deniable.v1.report_service_pb2 import SubmitReportsResponse

        try:
            # Bytes in: the batch is encoded already.
            submit: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self._open().unary_unary(METHOD)
            answer = submit(request, timeout=self._deadline, metadata=self._credentials.metadata)
            response = SubmitReportsResponse.FromString(answer)
        except grpc.RpcError as error:
            return None if self._cut else refusal(cast("grpc.Call", error))  # what a call raises is the call itself
        except DecodeError:
            return NOT_TAKEN
        except ValueError:  # the channel was closed before the call, or its name makes no sense
            return None if self._cut else UNREACHABLE
        return Outcome(False, "stored before" if response.duplicate else "stored")

    def _open(self) -> grpc.Channel:
        if self._channel is None:
            self._channel = self._credentials.channel(self._endpoint, [ONCE, _OWN])
        if self._cut:
            self._channel.close()
        return self._channel

    def cut(self) -> None:
        """End a call under way at once, and let none begin."""
        self._cut = True
        if self._channel is not None:
            self._channel.close()

    def close(self) -> None:
        """Close the channel."""
        if self._channel is not None:
            self._channel.close()
