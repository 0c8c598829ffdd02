"""Answers as JSON: the messages of EstimateService in protobuf's JSON, and tables as CSV.

What is answered, and what can be asked for, is in `web/openapi.py` and `web/parameters.py`; docs/http.md and
/api/openapi.json tell it. Every answer has an ETag that changes when it does, or the form in which it is told: who
has it asks again with If-None-Match, which costs next to nothing.

A question has a price that is known before anything is read (`analysis/prices.py`). One above the bound is answered
with 422 and with what would fit: fewer epochs, or one metric. Questions wait for their turn (`analysis/turns.py`);
429 says that too many wait already. 400 is for what can not be asked, and 404 for what is not known. All of them come
with a reason, as {"error": {"code", "status", "message"}}.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable

from aiohttp import web
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message

from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.catalog import NotKnownError
from deniable_aggregator.analysis.prices import TooDearError
from deniable_aggregator.analysis.query import Analyst
from deniable_aggregator.analysis.turns import BusyError
from deniable_aggregator.caller import NotPermittedError
from deniable_aggregator.store import StoreError
from deniable_aggregator.telling.change_tables import CHANGE_COLUMNS, Changes
from deniable_aggregator.telling.counters import COUNTER_COLUMNS, CounterTable
from deniable_aggregator.telling.messages import collection_message
from deniable_aggregator.telling.questions import Questions
from deniable_aggregator.telling.tables import COLUMNS, Table
from deniable_aggregator.web import openapi
from deniable_aggregator.web.health import VERSION, Health
from deniable_aggregator.web.openapi import ROOT, ROUTES, Route
from deniable_aggregator.web.parameters import Asked

__all__ = ["Api"]

_DESCRIPTION = "/api/openapi.json"
_REVALIDATED = "no-cache"
_RETRY_SECONDS = "2"
_TABLES = COLUMNS, CHANGE_COLUMNS, COUNTER_COLUMNS
_FORM = hashlib.sha256(repr((VERSION, _TABLES, pb.DESCRIPTOR.serialized_pb)).encode()).hexdigest()
"""What tells the form of answers: after an upgrade nobody is told that what they have of the old one is unchanged."""
_MOST_AT_ONCE = 10_000
"""Bytes of a message that is put into words at once."""
_Handler = Callable[[web.Request, Asked], Awaitable[web.Response]]
_Found = Callable[[web.Request, Asked], Awaitable[Message]]


class Api:
    """The handlers of the API."""

    def __init__(self, analyst: Analyst, health: Health) -> None:
        self._questions = Questions(analyst)
        self._health = health

    def routes(self) -> list[web.RouteDef]:
        """What is answered."""
        plain = {"collections": self._collections, "health": self._health_now}
        found: dict[str, _Found] = {
            "overview": self._overview,
            "estimates": self._estimates,
            "estimate": self._estimate,
            "epochs": self._epochs,
            "segments": self._segments,
            "comparisons": self._comparisons,
            "counters": self._counters,
        }
        routes = [web.get(_DESCRIPTION, _described)]
        for own in ROUTES:
            handle = plain[own.name] if own.name in plain else self._json(own, found[own.name])
            routes.append(web.get(own.pattern, _caught(own, handle)))
            if own.table:
                routes.append(web.get(f"{own.pattern}.csv", _caught(own, self._csv(own, found[own.name]))))
        return [*routes, web.get(ROOT + r"/{rest:[\s\S]*}", _nothing)]

    async def _collections(self, request: web.Request, asked: Asked) -> web.Response:  # noqa: ARG002
        catalog = self._questions.analyst.catalog
        simulated = await self._questions.analyst.simulated()
        known = [collection_message(own, catalog, simulated) for own in catalog.collections()]
        return _kept(request, _text(pb.ListCollectionsResponse(collections=known)))

    async def _health_now(self, request: web.Request, asked: Asked) -> web.Response:  # noqa: ARG002
        return _response(json.dumps(await self._health.now()))

    async def _overview(self, request: web.Request, asked: Asked) -> Message:
        return await self._questions.overview(_asker(request), _named(request), asked.query, asked.trend)

    async def _estimates(self, request: web.Request, asked: Asked) -> Message:
        estimates = await self._questions.estimates(_asker(request), _named(request), asked.query)
        return pb.ListEstimatesResponse(estimates=estimates)

    async def _estimate(self, request: web.Request, asked: Asked) -> Message:
        metric = request.match_info["metric"]
        (one,) = await self._questions.estimates(_asker(request), _named(request), asked.query, metric)
        return pb.GetEstimateResponse(estimate=one)

    async def _epochs(self, request: web.Request, asked: Asked) -> Message:
        metric = request.match_info["metric"]
        estimates = await self._questions.epochs(_asker(request), _named(request), asked.query, metric)
        return pb.ListEpochEstimatesResponse(estimates=estimates)

    async def _segments(self, request: web.Request, asked: Asked) -> Message:
        names = request.match_info["metric"], request.match_info["segment"]
        estimates = await self._questions.segments(_asker(request), _named(request), asked.query, *names)
        return pb.ListSegmentEstimatesResponse(estimates=estimates)

    async def _comparisons(self, request: web.Request, asked: Asked) -> Message:
        return await self._questions.comparisons(_asker(request), _compared(request, asked))

    async def _counters(self, request: web.Request, asked: Asked) -> Message:
        metric = request.match_info.get("metric")
        columns = await self._questions.counters(_asker(request), _named(request), asked.query, metric)
        return pb.ListCountersResponse(columns=columns)

    def _json(self, route: Route, found: _Found) -> _Handler:
        async def handle(request: web.Request, asked: Asked) -> web.Response:
            tag = await self._tag(route, request, asked)
            return _tagged(request, tag) or _response(await _written(await found(request, asked), _text), tag)

        return handle

    def _csv(self, route: Route, found: _Found) -> _Handler:
        async def handle(request: web.Request, asked: Asked) -> web.Response:
            tag = await self._tag(route, request, asked)
            if unchanged := _tagged(request, tag):
                return unchanged
            response = _response(await _written(await found(request, asked), _table), tag, "text/csv")
            name = request.path.rpartition("/")[2]
            response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
            return response

        return handle

    async def _tag(self, route: Route, request: web.Request, asked: Asked) -> str:
        if route.name == "comparisons":
            version = await self._questions.comparisons_version(_compared(request, asked))
        else:
            version = await self._questions.version(_named(request), asked.query, asked.trend)
        return hashlib.sha256(f"{version} {_FORM} {request.path_qs}".encode()).hexdigest()[:16]


def _caught(route: Route, handle: _Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Errors as JSON, in the words that gRPC has for them."""

    async def handler(request: web.Request) -> web.Response:
        try:
            return await handle(request, route.parameters.asked(request.query.items()))
        except NotKnownError as error:
            return _error(404, "NOT_FOUND", str(error))
        except NotPermittedError as error:
            return _error(403, "PERMISSION_DENIED", str(error))
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


async def _described(request: web.Request) -> web.Response:
    return _kept(request, openapi.text())


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


def _kept(request: web.Request, body: str) -> web.Response:
    """What is told to everybody alike; not again to who has it."""
    tag = hashlib.sha256(body.encode()).hexdigest()[:16]
    return _tagged(request, tag) or _response(body, tag)


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
    if isinstance(message, pb.ListCountersResponse):
        return CounterTable.told(message.columns).to_csv()
    if isinstance(message, pb.GetEstimateResponse):
        return Table.of([message.estimate]).to_csv()
    return Table.of(message.estimates).to_csv()  # type: ignore[attr-defined]


def _asker(request: web.Request) -> str:
    return request.remote or ""


def _named(request: web.Request) -> str:
    return request.match_info["collection"]


def _compared(request: web.Request, asked: Asked) -> pb.ListComparisonsRequest:
    """The question of a request about comparisons."""
    asked.comparison.collection, asked.comparison.metric = _named(request), request.match_info.get("metric", "")
    return asked.comparison
