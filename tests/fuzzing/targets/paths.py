"""Paths and queries of the JSON API, as they stand in a request's first line.

Each is answered as a plain reading of its query allows: nothing that is not known, empty, nought or said twice is
passed over, and what is answered is of what was asked. Otherwise it is refused as JSON, with a reason.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlsplit

from google.protobuf.json_format import ParseDict

from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.web.openapi import ROOT
from fuzzing.asked import asked, refuse_other
from fuzzing.target import Target

__all__ = ["TARGET"]

_NAMES = re.compile(
    r"from|to|last|last_epoch|doubtful|confidence|target|anytime|rows|fakes|series|quantiles|shares|candidates|trend|"
    r"with_from|with_to|with|with_last_epoch|apart|changed|rate|(?:segment|with)\.[^.]+|weight\.[^.]+\..+|baseline\..+",
    re.DOTALL,
)
_AGAIN = {"series", "quantiles", "shares", "candidates"}
_POSITIVE = {"confidence", "rate", "last_epoch", "with_last_epoch"}
"""What is nought where nobody says it."""
_REFUSED = {400: "refused", 404: "not known", 422: "too dear"}
_UNSAFE = re.compile(rb"[\x00-\x20\x7f-\xff]")
_EDITOR = f"{ROOT}/collections/editor"


def judge(data: bytes) -> str:
    """What a path comes to."""
    target = _UNSAFE.sub(lambda sign: b"%%%02X" % sign[0][0], data)
    status, kind, body = asked().got(b"/" + target.removeprefix(b"/"))
    ours = target.removeprefix(b"/").startswith(ROOT.encode()[1:] + b"/")
    if status in _REFUSED and ours and kind.startswith("application/json"):
        told = json.loads(body)["error"]
        assert told["code"] == status
        assert told["message"]
        return _REFUSED[status]
    assert status < 500, (status, body)
    if status != 200 or not ours:
        return "elsewhere"
    _hold(target.decode("ascii"), kind, body)
    return "answered"


def _hold(target: str, kind: str, body: bytes) -> None:
    """What is answered to what was said."""
    where = urlsplit(f"http://localhost/{target.removeprefix('/')}")
    said = parse_qsl(where.query, keep_blank_values=True)
    for place, (name, value) in enumerate(said):
        assert _NAMES.fullmatch(name), f"{name!r} is passed over"
        assert value, f"{name!r} is empty"
        assert name not in _POSITIVE or float(value) > 0, f"{name} is {value}, and taken for not said"
        assert name in _AGAIN or name not in {other for other, _ in said[:place]}, f"{name!r} is said twice"
    if kind.startswith("text/csv"):
        assert body.endswith(b"\n")
        return
    found = json.loads(body)
    told: list[Any] = [found["estimate"]] if "estimate" in found else found.get("estimates", [])
    if not told:
        return
    query = pb.Query(segment={name[8:]: value for name, value in said if name.startswith("segment.")})
    words = dict(said)
    query.confidence, query.fakes = float(words.get("confidence", 0)), float(words.get("fakes", 0))
    query.last_epoch = int(words.get("last_epoch", 0))
    query.rows, query.last = int(words.get("rows", 0)), words.get("last", words.get("from", ""))
    parts = [unquote_plus(part) for part in where.path.split("/")]
    one = parts[6] if len(parts) > 6 and parts[5] in {"estimates", "epochs", "segments"} else ""
    messages = [ParseDict(each, pb.Estimate()) for each in told]
    refuse_other(messages, query, one, segments=parts[5] != "segments")


_SEEDS = (
    f"{ROOT}/collections", f"{ROOT}/health", "/api/openapi.json", f"{ROOT}/nothing", "/metrics", "/",
    f"{_EDITOR}/estimates?last=5d&to=2024-10-04&segment.platform=linux&rows=2&confidence=0.9&fakes=0.01",
    f"{_EDITOR}/estimates?weight.platform.linux=0.4&weight.platform.windows=0.6&doubtful=true",
    f"{_EDITOR}/estimates/latency?quantiles=p37.5&shares=above%20200&shares=20+to+200",
    f"{_EDITOR}/estimates/browser.csv?series=shares&target=reporting&anytime=any",
    f"{_EDITOR}/overview?trend=5",
    f"{_EDITOR}/comparisons?segment.platform=linux&with.platform=windows&apart=true&rate=0.1",
    f"{_EDITOR}/comparisons/dark?baseline.yes=0.3&changed=0.1",
    f"{_EDITOR}/counters/dark?from=2024-10-01&to=2024-10-04",
    f"{_EDITOR}/counters.csv?last_epoch=20000",
    f"{_EDITOR}/estimates?rows=1&rows=2",
    f"{_EDITOR}/estimates/browser/epochs?last=3d", f"{_EDITOR}/estimates/dark/segments/platform.csv",
    f"{_EDITOR}/estimates/nothing",
)  # fmt: skip


TARGET = Target(
    judge,
    lambda: [text.encode() for text in _SEEDS],
    frozenset({"answered", "refused", "not known", "too dear", "elsewhere"}),
    words=(b"&last=", b"&from=2024-10-0", b"&segment.platform=", b"&rows=", b"&fakes=", b"&weight.platform.linux=",
           b"&with", b"&baseline.yes=", b"&quantiles=p", b"&shares=above%20", b"/epochs", b"/segments/platform",
           b".csv", b"%2F", b"%00"),
    text=True,
    longest=400,
)  # fmt: skip
