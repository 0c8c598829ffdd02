"""Upload: one batch to an aggregator over gRPC, and what its answer means for the batch.

words:
  outcome    what became of a batch: stored, refused for good, or kept for later
  unstored   it is certain that a kept batch was not stored: no acknowledgement is outstanding
  uploader   a connection to one aggregator for one batch: two batches on one connection are of one device
  gate       closed while the process forks: gRPC must not be at work then
  apart      in a process of its own: where gRPC has been loaded before a fork, it would hang in the child

grpc is imported here when the first batch leaves, on the upload thread, and nowhere else. gRPC's threads do not
survive a fork, and a fork in the middle of a call breaks parent and child: so every call is cut short before a fork
(its batch keeps its id, and is sent again), a child never touches the gRPC that it has inherited, and what gRPC
itself does around forks is switched off.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import IO, TYPE_CHECKING, cast

from deniable.randomness import WORD, word
from deniable.wire import fields, tag_of

if TYPE_CHECKING:
    import subprocess

    import grpc

__all__ = [
    "METHOD",
    "ONCE",
    "Credentials",
    "Outcome",
    "Uploader",
    "after_fork_in_child",
    "after_fork_in_parent",
    "backoff",
    "before_fork",
    "is_loopback",
    "uploading",
]

METHOD = "/deniable.v1.ReportService/SubmitReports"
ONCE = ("grpc.enable_retries", 0)
"""For channels of batches: a call is tried once, and the caller says when again. gRPC would repeat what never left;
where a connection dies under many calls it does so without a pause, and its memory grows by gigabytes in seconds."""
_OWN = ("grpc.use_local_subchannel_pool", 1)
"""For the channel of one batch: gRPC would give it the connection of another channel that goes to the same place."""
_LONG_WAIT = 3600.0
"""Before a refusal that only people can mend (credentials, an unknown collection) is tried again."""
_STEPS = (2.0, 60.0, 3600.0, 43200.0)
"""What a server can ask for: the next one of these, and up to twice as much, a day at most. A delay for each device
would be a name for it."""
_GROWTH = 4.0
"""Every wait for the next try is so many times the one before."""
_FORK_WAIT = 1.0
"""A fork waits at most so long for gRPC to be left."""
_START_SECONDS = 20.0
"""A process of its own may take so long in addition to the deadline."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """How a device and an aggregator know each other. Endpoints that are not on this machine are reached by TLS."""

    roots: bytes | None = None
    """Certificates (PEM) to trust; None: those that gRPC comes with."""
    certificate: bytes | None = field(default=None, repr=False)
    """The device's own certificate chain (PEM), where the aggregator asks for one: one that all devices of an
    application share, for one of its own would identify it."""
    key: bytes | None = field(default=None, repr=False)
    """The certificate's private key (PEM)."""
    token: str | None = field(default=None, repr=False)
    """A bearer token, shared by all devices of an application."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("a certificate goes with its key")

    def channel(self, endpoint: str, options: Sequence[tuple[str, int]] = ()) -> grpc.Channel:
        """A channel there: by TLS, but for this machine where no roots are given."""
        import grpc

        if is_loopback(endpoint) and self.roots is None:
            return grpc.insecure_channel(endpoint, [("grpc.enable_http_proxy", 0), *options])
        secrets = grpc.ssl_channel_credentials(self.roots, self.key, self.certificate)
        return grpc.secure_channel(endpoint, secrets, options)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The token, as every call carries it."""
        return () if self.token is None else (("authorization", f"Bearer {self.token}"),)


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
    unstored: bool = False
    """For a kept batch: whether it is certain that it was not stored."""


_REFUSED = {
    "INVALID_ARGUMENT": Outcome(False, "rejected", advice="the aggregator calls a batch malformed"),
    "OUT_OF_RANGE": Outcome(
        False, "out of time", advice="the aggregator no longer, or not yet, takes this epoch: is the clock right?"
    ),
    "FAILED_PRECONDITION": Outcome(
        True, "unknown collection", _LONG_WAIT, "the aggregator does not know the collection"
    ),
    "UNAUTHENTICATED": Outcome(True, "not authenticated", _LONG_WAIT, "the aggregator asks for credentials"),
    "PERMISSION_DENIED": Outcome(True, "not permitted", _LONG_WAIT, "the aggregator does not take these credentials"),
    "UNIMPLEMENTED": Outcome(True, "no such service", _LONG_WAIT, "the endpoint is no aggregator"),
    "RESOURCE_EXHAUSTED": Outcome(True, "not taken"),
}
"""What an aggregator says before it stores anything: whoever hears it knows that the batch was not stored."""
_MADE_UP = {"PERMISSION_DENIED", "RESOURCE_EXHAUSTED"}
"""What gRPC also says of a stream that was broken off on the way, and maybe stored. An aggregator gives details."""
_DETAILS = "grpc-status-details-bin"
_NOT_CONNECTED = ("failed to connect to all addresses; last error", "errors resolving", "DNS resolution failed")
"""How gRPC says that a call never left; by any other words it may have."""
_UNREACHABLE = Outcome(True, "unreachable")
_NOT_TAKEN = Outcome(True, "not taken")


def backoff(failures: int, asked: float | None, longest: float) -> float:
    """Seconds until a batch that has failed so often before is sent again: four times as many each time up to the
    longest, half as many or half as many again; at least the step that the server's request comes to."""
    own = min(longest, _GROWTH ** min(failures, 20)) * (0.5 + word() / WORD)
    if not asked:
        return own
    step = next((step for step in _STEPS if step >= asked), _STEPS[-1])
    return max(own, step * (1.0 + word() / WORD))


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
            return None if self._cut else _refusal(cast("grpc.Call", error))  # what a call raises is the call itself
        except DecodeError:
            return _NOT_TAKEN
        except ValueError:  # the channel was closed before the call, or its name makes no sense
            return None if self._cut else _UNREACHABLE
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


class _Apart(Uploader):
    """An uploader in a process of its own."""

    def __init__(self, endpoint: str, credentials: Credentials, deadline: float) -> None:
        super().__init__(endpoint, credentials, deadline)
        given = {
            name: value.decode() if isinstance(value, bytes) else value for name, value in asdict(credentials).items()
        }
        self._task = {"endpoint": endpoint, "credentials": given, "deadline": deadline}
        self._patience = deadline + _START_SECONDS
        self._process: subprocess.Popen[str] | None = None

    def send(self, request: bytes) -> Outcome | None:
        """Submit the batch in that process; of one that ends without a word nobody knows what it has reached."""
        import subprocess

        if getattr(sys, "frozen", False) or not sys.executable:
            return Outcome(
                True, "unreachable", _LONG_WAIT, "a forked process leaves uploading to the next start", unstored=True
            )
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-I", "-c", _ALONE, *_importable()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with self._process as process:
            if self._cut:
                process.kill()
            try:
                said, _ = process.communicate(json.dumps(self._task | {"request": request.hex()}), self._patience)
                return Outcome(**json.loads(said))
            except (OSError, ValueError, TypeError, subprocess.TimeoutExpired):
                process.kill()
                return None if self._cut else _UNREACHABLE

    def cut(self) -> None:
        """End the process at once."""
        self._cut = True
        if self._process is not None:
            self._process.kill()


_ALONE = "import sys; sys.path[:] = sys.argv[1:]; from deniable.upload import main; main()"
"""What a process of its own runs. It is isolated (-I): it imports nothing from the directory that it works in."""


def _importable() -> list[str]:
    """Where this process imports from, in its order; not where that is another place in another directory."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [*(place for place in sys.path if os.path.isabs(place)), own]


def main(instruction: IO[str] = sys.stdin, answer: IO[str] = sys.stdout) -> None:
    """Send the one batch that a parent process hands over, and tell it the outcome."""
    task = json.load(instruction)
    given = {
        name: value.encode() if value and name != "token" else value for name, value in task["credentials"].items()
    }
    uploader = Uploader(task["endpoint"], Credentials(**given), task["deadline"])
    outcome = uploader.send(bytes.fromhex(task["request"]))
    uploader.close()
    json.dump(outcome and asdict(outcome), answer)


class _Gate:
    """Lets uploaders through to gRPC, one a thread, unless the process is about to fork."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._closed = False
        self._inside: set[Uploader] = set()

    @contextlib.contextmanager
    def passing(self, uploader: Uploader) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._inside.add(uploader)
        try:
            yield
        finally:
            uploader.close()
            with self._changed:
                self._inside.discard(uploader)
                self._changed.notify_all()

    def shut(self) -> None:
        with self._changed:
            self._closed = True
            end = time.monotonic() + _FORK_WAIT
            while self._inside and time.monotonic() < end:
                for uploader in self._inside:
                    uploader.cut()
                self._changed.wait(0.01)

    def open(self) -> None:
        with self._changed:
            self._closed = False
            self._changed.notify_all()


_gate = _Gate()
_inherited = False
"""Whether gRPC was loaded in the process that this one was forked from."""


@contextlib.contextmanager
def uploading(endpoint: str, credentials: Credentials, deadline: float) -> Iterator[Uploader]:
    """An uploader for one batch."""
    uploader = (_Apart if _inherited else Uploader)(endpoint, credentials, deadline)
    with _gate.passing(uploader):
        yield uploader


def before_fork() -> None:
    """Cut all calls short before a fork, and wait until gRPC is left."""
    _gate.shut()


def after_fork_in_parent() -> None:
    """Let calls begin again after a fork."""
    _gate.open()


def after_fork_in_child() -> None:
    """Let calls begin in a child, without the gRPC of the parent."""
    global _gate, _inherited  # noqa: PLW0603
    _gate = _Gate()
    _inherited = _inherited or "grpc" in sys.modules


def is_loopback(endpoint: str) -> bool:
    """Whether an endpoint is on this machine, the only place that is reached without TLS."""
    import ipaddress

    if endpoint.startswith(("unix:", "unix-abstract:")):
        return True
    host = endpoint.rpartition("/")[2].rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refusal(call: grpc.Call) -> Outcome:
    code = call.code().name
    if code in _REFUSED:
        known = _REFUSED[code]
        asked = max(known.retry_after or 0.0, _asked(call) or 0.0)
        unstored = code not in _MADE_UP or _DETAILS in dict(call.trailing_metadata() or ())
        return replace(known, retry_after=asked or None, unstored=unstored) if known.keep else known
    if code == "UNAVAILABLE" and str(call.details()).startswith(_NOT_CONNECTED):
        return replace(_UNREACHABLE, unstored=True)
    return replace(
        _UNREACHABLE if code in {"UNAVAILABLE", "DEADLINE_EXCEEDED"} else _NOT_TAKEN, retry_after=_asked(call)
    )


def _asked(call: grpc.Call) -> float | None:
    """What the server asks to wait: RetryInfo in the status, or the trailer of gRFC A6."""
    trailer: dict[str, str | bytes] = dict(call.trailing_metadata() or ())
    pushback = str(trailer.get("grpc-retry-pushback-ms", ""))
    if pushback.removeprefix("-").isdecimal():
        return _LONG_WAIT if pushback.startswith("-") else int(pushback[:12]) / 1000
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
