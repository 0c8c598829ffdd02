"""Questions over gRPC: a method, by the first byte, and the bytes of its message.

Each is answered, by what was asked and nothing else, or refused with a reason; nothing else is raised.
"""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any, NoReturn

import grpc
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import DecodeError, Message

from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.serving.estimate_service import EstimateService
from fuzzing.asked import TODAY, asked, refuse_other
from fuzzing.messages import said_otherwise
from fuzzing.target import Target

__all__ = ["TARGET"]

_METHODS = pb.DESCRIPTOR.services_by_name["EstimateService"].methods
_SAID = {
    grpc.StatusCode.INVALID_ARGUMENT: "refused",
    grpc.StatusCode.NOT_FOUND: "not known",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "too dear",
}
"""What a question may be told; the store is there, and everybody may read."""


class _RefusedError(Exception):
    """A call ends with an error."""


class _Call:
    """What a method knows of its call."""

    def __init__(self) -> None:
        self.told: tuple[grpc.StatusCode, str] | None = None

    async def abort(self, code: grpc.StatusCode, message: str) -> NoReturn:
        """End it with an error."""
        self.told = code, message
        raise _RefusedError

    def peer(self) -> str:
        """Where it comes from."""
        return "ipv4:127.0.0.1:1"

    def invocation_metadata(self) -> None:
        """What was said along with it."""


async def _answer(method: Any, request: Message, call: Any) -> Any:
    """The answer; of a watch the first."""
    service = EstimateService(asked().analyst())
    if not method.server_streaming:
        return await getattr(service, method.name)(request, call)
    watch: Any = service.WatchEstimates(request, call)  # type: ignore[arg-type]
    async with contextlib.aclosing(watch) as answers:
        return await anext(answers)


def judge(data: bytes) -> str:
    """What a question comes to."""
    if not data:
        return "nothing"
    method = _METHODS[data[0] % len(_METHODS)]
    try:
        request = getattr(pb, method.input_type.name).FromString(data[1:])
    except DecodeError:
        return "no message"
    call = _Call()
    try:
        answer = asked().wait_for(_answer(method, request, call))
    except _RefusedError:
        assert call.told
        code, message = call.told
        assert message
        return _SAID[code]
    assert MessageToJson(answer)
    told = [answer.estimate] if method.name == "GetEstimate" else getattr(answer, "estimates", ())
    if told:
        refuse_other(
            told, request.query, getattr(request, "metric", ""), segments=method.name != "ListSegmentEstimates"
        )
    return "answered"


def _otherwise(chance: Random, data: bytes) -> bytes:
    """Another question; where there is none, of any method."""
    number = data[0] % len(_METHODS) if data and chance.random() < 0.9 else chance.randrange(len(_METHODS))
    request = getattr(pb, _METHODS[number].input_type.name)()
    with contextlib.suppress(DecodeError):
        request.MergeFromString(data[1:])
    said_otherwise(chance, request, [word.decode() for word in TARGET.words])
    return bytes([number]) + bytes(request.SerializeToString(deterministic=True))


def _seeds() -> list[bytes]:
    """A question of each method that is answered, and others that ask for all that there is to say."""
    queries = [
        pb.Query(),
        pb.Query(epochs=3, last_epoch=TODAY, segment={"platform": "linux"}, confidence=0.9, rows=2, fakes=0.01),
        pb.Query(last="5d", to="2024-10-04", target=pb.TARGET_REPORTING, looks=pb.LOOKS_ANY, series=["shares"]),
        pb.Query(weight_by="platform", weights={"linux": 0.4, "windows": 0.6}, doubtful=True),
    ]
    found = []
    for number, method in enumerate(_METHODS):
        fields = {field.name for field in method.input_type.fields}
        for query in queries:
            said: dict[str, Any] = {
                "collection": "editor",
                "metric": "browser",
                "segment": "platform",
                "query": query,
            }
            kind = getattr(pb, method.input_type.name)
            request = kind(**{name: value for name, value in said.items() if name in fields})
            found.append(bytes([number]) + request.SerializeToString(deterministic=True))
    more = pb.ListComparisonsRequest(collection="editor", metric="dark", false_discovery_rate=0.1, apart=True)
    more.query.segment["platform"], more.before.segment["platform"] = "linux", "windows"
    known = pb.ListComparisonsRequest(collection="editor", metric="dark", changed=0.1)
    known.baseline.add(key="yes", value=0.3)
    ranges = pb.GetEstimateRequest(collection="editor", metric="latency")
    for series, key in (("quantiles", "p37.5"), ("shares", "above 200"), ("shares", "20 to 200")):
        ranges.query.asked.add(series=series, key=key)
    numbers = {method.name: number for number, method in enumerate(_METHODS)}
    found += [
        bytes([numbers["ListComparisons"]]) + each.SerializeToString(deterministic=True) for each in (more, known)
    ]
    found.append(bytes([numbers["GetEstimate"]]) + ranges.SerializeToString(deterministic=True))
    return found


TARGET = Target(
    judge,
    _seeds,
    frozenset({"answered", "refused", "not known", "too dear", "no message", "nothing"}),
    words=(b"editor", b"browser", b"latency", b"platform", b"linux", b"quantiles", b"shares", b"p50", b"above 1",
           b"7d", b"2024-10-04"),
    longest=1000,
    otherwise=_otherwise,
)  # fmt: skip
