"""Answers as JSON: the messages of EstimateService in protobuf's JSON, and tables as CSV.

    /api/v1/collections
    /api/v1/collections/{name or digest}/overview
    /api/v1/collections/{name or digest}/estimates[.csv]
    /api/v1/collections/{name or digest}/estimates/{metric}[.csv]
    /api/v1/collections/{name or digest}/estimates/{metric}/epochs[.csv]
    /api/v1/collections/{name or digest}/estimates/{metric}/segments/{name}[.csv]
    /api/v1/collections/{name or digest}/comparisons[.csv]
    /api/v1/collections/{name or digest}/comparisons/{metric}[.csv]
    /api/v1/health

Choices are parameters: last, last_epoch, confidence, target, anytime, rows, trend, segment.NAME=VALUE, and of
estimates weight.NAME.VALUE=SHARE; of comparisons also with, with_last_epoch and with.NAME=VALUE, or
baseline.KEY=NUMBER, and apart, changed and rate. Every answer has an ETag that changes when it does, or the form in
which it is told: who has it asks again with If-None-Match, which costs next to nothing.

A question has a price that is known before anything is read (`analysis/prices.py`). One above the bound is answered
with 422 and with what would fit: fewer epochs, of which last and last_epoch choose the next ones, or one metric.
Questions wait for their turn (`analysis/turns.py`); 429 says that too many wait already. 400 is for what can not be
asked, and 404 for what is not known. All of them come with a reason, as {"error": {"code", "status", "message"}}.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message

from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.catalog import NotKnownError
from deniable_aggregator.analysis.prices import TooDearError
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.question import MOST_EPOCHS
from deniable_aggregator.analysis.turns import BusyError
from deniable_aggregator.answers import CANDIDATES, QUANTILES, SHARES
from deniable_aggregator.store import StoreError
from deniable_aggregator.telling.change_tables import CHANGE_COLUMNS, Changes
from deniable_aggregator.telling.messages import collection_message
from deniable_aggregator.telling.questions import Questions
from deniable_aggregator.telling.tables import COLUMNS, Table
from deniable_aggregator.web.comparing import comparisons_of, count, fraction, is_comparing, is_comparison
from deniable_aggregator.web.health import VERSION, Health

__all__ = ["Api"]

_ROOT = "/api/v1"
_COLLECTION = _ROOT + "/collections/{collection}"
_METRIC = _COLLECTION + "/estimates/{metric:[a-z0-9_]+}"
_COMPARISONS = _COLLECTION + "/comparisons"
_TREND = 30
_REVALIDATED = "no-cache"
_RETRY_SECONDS = "2"
_FORM = hashlib.sha256(repr((VERSION, COLUMNS, CHANGE_COLUMNS, pb.DESCRIPTOR.serialized_pb)).encode()).hexdigest()
"""What tells the form of answers: after an upgrade nobody is told that what they have of the old one is unchanged."""
_MOST_AT_ONCE = 10_000
"""Bytes of a message that is put into words at once."""
_Found = Callable[[web.Request, pb.Query], Awaitable[Message]]


class Api:
    """The handlers of the API."""

    def __init__(self, analyst: Analyst, health: Health) -> None:
        self._questions = Questions(analyst)
        self._health = health

    def routes(self) -> list[web.RouteDef]:
        """What is answered."""
        answered = {
            _COLLECTION + "/overview": self._overview,
            _COLLECTION + "/estimates": self._estimates,
            _METRIC: self._estimate,
            _METRIC + "/epochs": self._epochs,
            _METRIC + "/segments/{segment:[a-z0-9_]+}": self._segments,
            _COMPARISONS: self._comparisons,
            _COMPARISONS + "/{metric:[a-z0-9_]+}": self._comparisons,
        }
        routes = [web.get(_ROOT + "/collections", self._collections), web.get(_ROOT + "/health", self._health_now)]
        for path, found in answered.items():
            routes.append(web.get(path, self._json(found)))
            if found != self._overview:
                routes.append(web.get(path + ".csv", self._csv(found)))
        return [*routes, web.get(_ROOT + "/{rest:.*}", _nothing)]

    async def _collections(self, request: web.Request) -> web.Response:
        catalog = self._questions.analyst.catalog
        known = [collection_message(own, catalog) for own in catalog.collections()]
        body = _text(pb.ListCollectionsResponse(collections=known))
        tag = hashlib.sha256(body.encode()).hexdigest()[:16]
        return _tagged(request, tag) or _response(body, tag)

    async def _health_now(self, request: web.Request) -> web.Response:  # noqa: ARG002
        return _response(json.dumps(await self._health.now()))

    async def _overview(self, request: web.Request, query: pb.Query) -> Message:
        return await self._questions.overview(_asker(request), _named(request), query, _trend(request))

    async def _estimates(self, request: web.Request, query: pb.Query) -> Message:
        estimates = await self._questions.estimates(_asker(request), _named(request), query)
        return pb.ListEstimatesResponse(estimates=estimates)

    async def _estimate(self, request: web.Request, query: pb.Query) -> Message:
        metric = request.match_info["metric"]
        (one,) = await self._questions.estimates(_asker(request), _named(request), query, metric)
        return pb.GetEstimateResponse(estimate=one)

    async def _epochs(self, request: web.Request, query: pb.Query) -> Message:
        metric = request.match_info["metric"]
        estimates = await self._questions.epochs(_asker(request), _named(request), query, metric)
        return pb.ListEpochEstimatesResponse(estimates=estimates)

    async def _segments(self, request: web.Request, query: pb.Query) -> Message:
        names = request.match_info["metric"], request.match_info["segment"]
        estimates = await self._questions.segments(_asker(request), _named(request), query, *names)
        return pb.ListSegmentEstimatesResponse(estimates=estimates)

    async def _comparisons(self, request: web.Request, query: pb.Query) -> Message:
        return await self._questions.comparisons(_asker(request), comparisons_of(request, query))

    def _json(self, found: _Found) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request, query: pb.Query) -> web.Response:
            tag = await self._tag(request, query)
            return _tagged(request, tag) or _response(await _written(await found(request, query), _text), tag)

        return _caught(handle)

    def _csv(self, found: _Found) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request, query: pb.Query) -> web.Response:
            tag = await self._tag(request, query)
            if unchanged := _tagged(request, tag):
                return unchanged
            message = await found(request, query)
            response = _response(await _written(message, _table), tag, "text/csv")
            name = request.path.rpartition("/")[2]
            response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
            return response

        return _caught(handle)

    async def _tag(self, request: web.Request, query: pb.Query) -> str:
        if is_comparison(request):
            version = await self._questions.comparisons_version(comparisons_of(request, query))
        else:
            version = await self._questions.version(_named(request), query, _trend(request))
        return hashlib.sha256(f"{version} {_FORM} {request.path_qs}".encode()).hexdigest()[:16]


def _caught(
    handle: Callable[[web.Request, pb.Query], Awaitable[web.Response]],
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Errors as JSON, in the words that gRPC has for them."""

    async def handler(request: web.Request) -> web.Response:
        try:
            return await handle(request, _query(request))
        except NotKnownError as error:
            return _error(404, "NOT_FOUND", str(error))
        except ValueError as error:
            return _error(400, "INVALID_ARGUMENT", str(error))
        except TooDearError as error:
            return _error(422, "RESOURCE_EXHAUSTED", str(error))
        except BusyError as error:
            response = _error(429, "RESOURCE_EXHAUSTED", str(error))
            response.headers["Retry-After"] = _RETRY_SECONDS
            return response
        except StoreError:
            return _error(503, "UNAVAILABLE", "the store is away; try again")

    return handler


async def _nothing(request: web.Request) -> web.Response:
    return _error(404, "NOT_FOUND", f"no such question: {request.path}")


def _error(status: int, code: str, message: str) -> web.Response:
    body = json.dumps({"error": {"code": status, "status": code, "message": message}})
    response = web.Response(status=status, text=body, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


def _tagged(request: web.Request, tag: str) -> web.Response | None:
    """That nothing has changed, to who has this answer already."""
    if any(known.value in {tag, "*"} for known in request.if_none_match or ()):
        return web.Response(status=304, headers={"ETag": f'W/"{tag}"', "Cache-Control": _REVALIDATED})
    return None


def _response(body: str, tag: str = "", content_type: str = "application/json") -> web.Response:
    response = web.Response(text=body, content_type=content_type, headers={"Cache-Control": _REVALIDATED})
    if tag:
        response.headers["ETag"] = f'W/"{tag}"'
    response.enable_compression()
    return response


def _text(message: Message) -> str:
    return MessageToJson(message, indent=None, always_print_fields_with_no_presence=True)


async def _written(message: Message, write: Callable[[Message], str]) -> str:
    """What a message says; in a thread, where it has many rows."""
    if message.ByteSize() > _MOST_AT_ONCE:
        return await asyncio.to_thread(write, message)
    return write(message)


def _table(message: Message) -> str:
    if isinstance(message, pb.ListComparisonsResponse):
        return Changes.told(message.comparisons).to_csv()
    estimates = [message.estimate] if isinstance(message, pb.GetEstimateResponse) else message.estimates  # type: ignore[attr-defined]
    return Table.of(estimates).to_csv()


def _asker(request: web.Request) -> str:
    return request.remote or ""


def _named(request: web.Request) -> str:
    return request.match_info["collection"]


_WORDS: dict[str, tuple[str, Any, tuple[str, ...]]] = {
    "target": ("target", pb.Target, ("population", "reporting")),
    "anytime": ("looks", pb.Looks, ("growing", "any")),
}
"""Parameters that take one of a few words: the field of a query, its enumeration, the words."""


def _query(request: web.Request) -> pb.Query:
    """The query of a request's parameters."""
    query = pb.Query()
    for name, value in request.query.items():
        if name.startswith("segment."):
            query.segment[name.removeprefix("segment.")] = value
        elif name == "last":
            query.epochs = count(name, value)
        elif name in {"last_epoch", "rows"}:
            setattr(query, name, count(name, value))
        elif name == "confidence":
            query.confidence = fraction(name, value)
        elif name.startswith("weight."):
            query.weight_by, _, own = name.removeprefix("weight.").partition(".")
            query.weights[own] = fraction(name, value)
        elif name in _WORDS:
            setattr(query, *_word(name, value))
        elif name in {QUANTILES, SHARES, CANDIDATES} and not is_comparison(request):
            query.asked.add(series=name, key=value)
        elif name == "series" and not is_comparison(request):
            query.series.append(value)
        elif name != "trend" and not (is_comparison(request) and is_comparing(name)):
            raise ValueError(
                f"no parameter {name!r}; there are last, last_epoch, confidence, target, anytime, rows, trend, "
                f"series, segment.NAME, weight.NAME.VALUE, {QUANTILES}, {SHARES} and {CANDIDATES}"
            )
    return query


def _word(name: str, value: str) -> tuple[str, int]:
    """The field of a query that a parameter's word is for, and its number there."""
    field, enumeration, words = _WORDS[name]
    if value not in words:
        raise ValueError(f"{name} is {' or '.join(words)}, not {value!r}")
    return field, enumeration.Value(f"{field.upper()}_{value.upper()}")


def _trend(request: web.Request) -> int:
    return min(count("trend", request.query.get("trend", str(_TREND))), MOST_EPOCHS)
