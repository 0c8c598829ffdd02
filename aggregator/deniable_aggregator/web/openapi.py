"""What the API answers, as OpenAPI describes it: made from the routes, their parameters and the messages themselves.

words:
  route   a question: its path, its parameters and the message that answers it. One that is not here is not answered
  schema  what an answer looks like, as JSON Schema says it: of a message as protobuf writes it in JSON

There is no second description to be kept up to date. tests/web/test_openapi.py asks a running server all of it, and
holds every answer against its schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.web.health import SCHEMA as HEALTH
from deniable_aggregator.web.health import VERSION
from deniable_aggregator.web.parameters import COMPARING, INTERVALS, ROWS, TREND, WEIGHTS, WINDOW, Parameters

__all__ = ["REFUSALS", "ROOT", "ROUTES", "Route", "description", "text"]

ROOT = "/api/v1"
_NAME = "[a-z0-9_]+"
_PLACES = {
    "collection": "The name of a collection, its digest, or both as its title has them.",
    "metric": "The name of a metric.",
    "segment": "The name of a segment.",
}


_NONE = Parameters()


@dataclass(frozen=True, slots=True)
class Route:
    """A question over HTTP."""

    name: str
    """Which of the API's handlers answers it."""
    path: str
    """Below the root."""
    what: str
    """What is answered."""
    message: Descriptor | None
    """The answer; None where it is no message."""
    parameters: Parameters = _NONE
    table: bool = False
    """Whether it is also answered as CSV."""

    @property
    def pattern(self) -> str:
        """The path as a server takes it."""
        return ROOT + re.sub(r"\{(metric|segment)\}", rf"{{\1:{_NAME}}}", self.path)


_COLLECTION = "/collections/{collection}"
_ESTIMATES, _COMPARISONS = f"{_COLLECTION}/estimates", f"{_COLLECTION}/comparisons"
_COUNTERS, _COUNTED = f"{_COLLECTION}/counters", Parameters(WINDOW)
_ESTIMATED = Parameters(WINDOW, INTERVALS, ROWS, WEIGHTS)
_EACH = Parameters(WINDOW, INTERVALS, ROWS)
_COMPARED = Parameters(WINDOW, INTERVALS, COMPARING)
_DESCRIPTORS = pb.DESCRIPTOR.message_types_by_name

ROUTES = (
    Route("collections", "/collections", "The collections that are served, with their metrics.",
          _DESCRIPTORS["ListCollectionsResponse"]),
    Route("overview", f"{_COLLECTION}/overview", "The answers of all metrics, and how they have come about.",
          _DESCRIPTORS["GetOverviewResponse"], Parameters(WINDOW, INTERVALS, ROWS, TREND)),
    Route("estimates", _ESTIMATES, "The answers of all metrics.",
          _DESCRIPTORS["ListEstimatesResponse"], _ESTIMATED, True),
    Route("estimate", _ESTIMATES + "/{metric}", "The answer of one metric.", _DESCRIPTORS["GetEstimateResponse"],
          _ESTIMATED, True),
    Route("epochs", _ESTIMATES + "/{metric}/epochs", "The answers of one metric in each epoch of the window that has "
          "reports.", _DESCRIPTORS["ListEpochEstimatesResponse"], _EACH, True),
    Route("segments", _ESTIMATES + "/{metric}/segments/{segment}", "The answers of one metric in each value of a "
          "segment.", _DESCRIPTORS["ListSegmentEstimatesResponse"], _EACH, True),
    Route("comparisons", _COMPARISONS, "By how much the answers of all metrics differ.",
          _DESCRIPTORS["ListComparisonsResponse"], _COMPARED, True),
    Route("comparisons", _COMPARISONS + "/{metric}", "By how much the answers of one metric differ.",
          _DESCRIPTORS["ListComparisonsResponse"], _COMPARED, True),
    Route("counters", _COUNTERS, "The raw counters of all metrics.",
          _DESCRIPTORS["ListCountersResponse"], _COUNTED, True),
    Route("counters", _COUNTERS + "/{metric}", "The raw counters of one metric, each with what it counts.",
          _DESCRIPTORS["ListCountersResponse"], _COUNTED, True),
    Route("health", "/health", "How the aggregator itself is doing.", None),
)  # fmt: skip
"""All that is answered below the root."""

REFUSALS = {
    "400": "It can not be asked so; the message says what can.",
    "401": "A token that reads is asked for: `Authorization: Bearer TOKEN`, or a session of the page.",
    "403": "The token does not read, or not this collection; what is about all collections takes a token for all.",
    "404": "Something of that name is not known; the message says what is.",
    "422": "It would cost too much; the message says what would fit.",
    "429": "Too many questions wait; Retry-After says when to ask again.",
    "503": "The store is away; try again.",
}
"""By the code of an answer."""
_ALWAYS = {"401", "403"}
_SECURITY: Mapping[str, Any] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token that reads, where the aggregator has tokens; without them nothing is asked for.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-deniable",
        "description": "What a browser has after its person has logged in at /login.",
    },
}
_ERROR: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "integer"},
                "status": {"type": "string"},
                "message": {"type": "string"},
            },
            "required": ["code", "status", "message"],
            "additionalProperties": False,
        }
    },
    "required": ["error"],
    "additionalProperties": False,
}
_NUMBER: Mapping[str, Any] = {
    "anyOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity", "NaN"]}],
}
_LONG: Mapping[str, Any] = {"type": "string", "pattern": "^-?[0-9]+$"}
_WHOLE: Mapping[str, Any] = {"type": "integer"}
_SCALARS: Mapping[int, Mapping[str, Any]] = {
    FieldDescriptor.TYPE_DOUBLE: _NUMBER,
    FieldDescriptor.TYPE_UINT32: _WHOLE,
    FieldDescriptor.TYPE_INT32: _WHOLE,
    FieldDescriptor.TYPE_UINT64: _LONG,
    FieldDescriptor.TYPE_INT64: _LONG,
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.TYPE_STRING: {"type": "string"},
}


@cache
def text() -> str:
    """The description as it is served."""
    return json.dumps(description())


def description() -> dict[str, Any]:
    """The API, as OpenAPI describes it."""
    schemas: dict[str, Any] = {"Error": _ERROR, "Health": HEALTH}
    paths: dict[str, Any] = {}
    for route in ROUTES:
        if route.message:
            _describe(route.message, schemas)
        paths[ROOT + route.path] = {"get": _question(route, "")}
        if route.table:
            paths[f"{ROOT}{route.path}.csv"] = {"get": _question(route, "_csv")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Deniable",
            "version": VERSION,
            "summary": "Answers of an aggregator: estimates with intervals, made of sums of randomised reports.",
            "license": {"name": "Apache License, Version 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "security": [{}, {"token": []}, {"session": []}],
        "components": {"schemas": dict(sorted(schemas.items())), "securitySchemes": _SECURITY},
    }


def _question(route: Route, form: str) -> dict[str, Any]:
    places = re.findall(r"\{(\w+)\}", route.path)
    one = "_of_one" if places[-1:] == ["metric"] and route.name in {"comparisons", "counters"} else ""
    name = route.message.name if route.message else "Health"
    told = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    if form:
        told = {"text/csv": {"schema": {"type": "string"}}}
    own = {*REFUSALS} if places else {"400"} if route.message else set()
    refusals = [code for code in REFUSALS if code in own | _ALWAYS]
    return {
        "operationId": f"{route.name}{one}{form}",
        "summary": route.what + (" As a table." if form else ""),
        "parameters": [_place(each) for each in places] + [_parameter(each) for each in route.parameters.all],
        "responses": {
            "200": {"description": "The answer.", "content": told},
            **(
                {"304": {"description": "It has not changed since the ETag of If-None-Match."}}
                if route.message
                else {}
            ),
            **{code: _refusal(REFUSALS[code]) for code in refusals},
        },
    }


def _place(name: str) -> dict[str, Any]:
    schema = {"type": "string"} if name == "collection" else {"type": "string", "pattern": f"^{_NAME}$"}
    return {"name": name, "in": "path", "required": True, "description": _PLACES[name], "schema": schema}


def _parameter(own: Any) -> dict[str, Any]:
    """One as OpenAPI has it; which has no word for names of a pattern, and takes those in capitals as they are."""
    schema = {"type": "array", "items": dict(own.schema)} if own.again else dict(own.schema)
    found = {"name": own.name, "in": "query", "required": False, "description": own.what, "schema": schema}
    return found | ({"x-pattern": f"^{own.pattern.pattern}$"} if own.end != own.name else {})


def _refusal(why: str) -> dict[str, Any]:
    return {
        "description": why,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


def _describe(message: Descriptor, schemas: dict[str, Any]) -> None:
    """Put a message and all that it is made of among the schemas."""
    if message.name in schemas:
        return
    schemas[message.name] = {}  # so that what is made of itself ends
    fields = list(message.fields)
    schemas[message.name] = {
        "type": "object",
        "properties": {field.json_name: _field(field, schemas) for field in fields},
        "required": [field.json_name for field in fields if not field.has_presence],
        "additionalProperties": False,
    }


def _field(field: FieldDescriptor, schemas: dict[str, Any]) -> dict[str, Any]:
    own = field.message_type
    if own and own.GetOptions().map_entry:
        return {"type": "object", "additionalProperties": _field(own.fields_by_name["value"], schemas)}
    one = _one(field, schemas)
    return {"type": "array", "items": one} if field.is_repeated else one


def _one(field: FieldDescriptor, schemas: dict[str, Any]) -> dict[str, Any]:
    if field.message_type and field.message_type.full_name == "google.protobuf.Timestamp":
        return {"type": "string", "format": "date-time"}
    if field.message_type:
        _describe(field.message_type, schemas)
        return {"$ref": f"#/components/schemas/{field.message_type.name}"}
    if field.enum_type:
        return {"type": "string", "enum": [value.name for value in field.enum_type.values]}
    return dict(_SCALARS[field.type])
