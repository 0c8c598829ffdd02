"""The OpenAPI description, held against a server that runs: every route, every parameter, every answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from deniable import Collection
from deniable_aggregator.web.openapi import ROOT, ROUTES, Route, description
from deniable_aggregator.web.parameters import ROWS, Parameter
from support.editor import BROWSER, DARK, HEAD, MINUTES
from support.site import Running, running
from web.test_api import ask

TODAY = 20_776
COLLECTION = Collection.loads(
    f"""\
{HEAD}{BROWSER}{DARK}memoize = true
{MINUTES}mechanism = "laplace"
"""
)
WORDS = Collection.loads(
    f"""\
{HEAD.replace("editor", "words")}
[metrics.load]
kind = "distribution"
description = "Milliseconds"
range = [0, 4000]
buckets = 8
epsilon = 1.0
[metrics.word]
kind = "text"
description = "The last word"
epsilon = 1.0
"""
)
METRICS = {"quantiles": "load", "shares": "load", "candidates": "word"}
"""Which metric a parameter is about; unless it stands here, the boolean."""
OF_ONE = {"baseline.KEY", *(own.name for own in ROWS)}
"""Parameters that are about one metric."""
DESCRIPTION = description()


@pytest.fixture(scope="module")
def aggregator() -> Iterator[Running]:
    """A month of reports from two platforms."""
    with running(COLLECTION, WORDS) as started:
        for epoch in (TODAY, TODAY - 1, TODAY - 7, TODAY - 12):
            for segment in (0, 1):
                counters = {"browser": [400, 300, 200, 120], "dark": [450, 550]}
                counters["minutes"] = [1000, 700_000, 510_000_000, 0]
                started.put(COLLECTION, epoch, counters, segment, batches=10)
        yield started


def validator(name: str) -> Draft202012Validator:
    """Of one of the schemas."""
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": DESCRIPTION["components"]})


def path_of(route: Route, metric: str = "dark") -> str:
    """Where a route answers."""
    collection = "words" if metric in WORDS.metrics else "editor"
    return ROOT + route.path.format(collection=collection, metric=metric, segment="platform")


def about(route: Route, query: str) -> str:
    """A question about a window that has reports."""
    said = dict(parse_qsl(query))
    ends = "" if {"to", "last_epoch"} & said.keys() or not route.parameters.all else "&to=2026-11-19"
    return f"{query}{ends}".strip("&")


def test_it_is_openapi(aggregator: Running) -> None:
    """It is served as it is made, by a description that is valid itself."""
    validate(DESCRIPTION)
    told = ask(f"{aggregator.url}/api/openapi.json")
    assert told.json == DESCRIPTION
    assert ask(f"{aggregator.url}/api/openapi.json", If_None_Match=told.headers["ETag"]).status == 304


def test_every_route_that_is_answered_is_described_and_no_other(aggregator: Running) -> None:
    """Of the server itself: what it has routes for below the root."""
    from deniable_aggregator.web.api import Api
    from deniable_aggregator.web.health import Health

    analyst = aggregator.analyst_of(aggregator.server.store)
    served = {own.path for own in Api(analyst, Health(aggregator.server)).routes()}
    described = {
        path.replace("{metric}", "{metric:[a-z0-9_]+}").replace("{segment}", "{segment:[a-z0-9_]+}")
        for path in DESCRIPTION["paths"]
    }
    assert served == described | {"/api/openapi.json", ROOT + r"/{rest:[\s\S]*}"}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_every_answer_is_as_it_is_described(aggregator: Running, route: Route) -> None:
    """By its schema, which takes nothing that it does not name; of every metric, in JSON and as a table."""
    name = route.message.name if route.message else "Health"
    for metric in COLLECTION.metrics if "{metric}" in route.path else ["dark"]:
        query = about(route, "last=14d" if route.parameters.all else "")
        told = ask(f"{aggregator.url}{path_of(route, metric)}?{query}")
        assert told.status == 200, told.body
        validator(name).validate(told.json)
        if route.table:
            rows = list(csv.reader(io.StringIO(ask(f"{aggregator.url}{path_of(route, metric)}.csv?{query}").body)))
            assert rows[0][:2] == ["collection", "metric"]


@pytest.mark.parametrize(
    ("route", "own"),
    [
        (route, own)
        for route in ROUTES
        for own in route.parameters.all
        if "{metric}" in route.path or own.name not in OF_ONE
    ],
    ids=lambda each: each.path if isinstance(each, Route) else each.name,
)
def test_every_parameter_is_taken(aggregator: Running, route: Route, own: Parameter) -> None:
    """Where it is described, as its example has it; and its value is as its schema says."""
    query = own.example
    if own.name == "weight.NAME.VALUE":
        query += "&weight.platform.windows=0.4"
    if own.name in {"with_from", "with_last_epoch"}:
        query += "&from=2026-11-13" + ("&with_to=2026-11-12" if own.name == "with_from" else "")
    if own.name == "with.NAME":
        query += "&segment.platform=linux"
    told = ask(f"{aggregator.url}{path_of(route, METRICS.get(own.name, 'dark'))}?{about(route, query)}")
    assert told.status == 200, told.body
    name, value = parse_qsl(own.example)[0]
    assert own.pattern.fullmatch(name)
    schema = dict(own.schema)
    written: Any = value
    if schema["type"] in {"integer", "number"}:
        written = float(value) if "." in value else int(value)
    elif schema["type"] == "boolean":
        written = value == "true"
    Draft202012Validator(schema).validate(written)


EDGES = (
    "-0.000001",
    "0",
    "0.0000009",
    "0.000001",
    "0.5",
    "0.999999999",
    "0.9999999991",
    "0.9999999999999999",
    "1",
    "1.1",
)


@pytest.mark.parametrize("name", ["confidence", "fakes", "changed", "rate"])
def test_what_is_described_of_a_part_is_what_is_taken(aggregator: Running, name: str) -> None:
    """At both ends of it, and beside them, wherever the parameter is."""
    routes = [route for route in ROUTES for own in route.parameters.all if own.name == name]
    assert routes
    for route in routes:
        (own,) = (own for own in route.parameters.all if own.name == name)
        schema = Draft202012Validator(own.schema)
        address = f"{aggregator.url}{path_of(route)}?"
        taken = {edge: ask(address + about(route, f"{name}={edge}")).status for edge in EDGES}
        assert taken == {edge: 200 if schema.is_valid(float(edge)) else 400 for edge in EDGES}, route.path


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("collections/editor/estimates?trend=3", 400, "no parameter 'trend'"),
        ("collections/editor/overview?with=3", 400, "no parameter 'with'"),
        ("collections/editor/counters?confidence=0.9", 400, "no parameter 'confidence'"),
        ("collections/editor/estimates?frm=2026-11-13", 400, "did you mean 'from'?"),
        ("collections/editor/estimates?last=7&last=8", 400, "last is said twice"),
        ("collections/editor/estimates?rows=", 400, "rows is empty"),
        ("collections/editor/estimates?weight.platform.linux=1&weight.other.one=1", 400, "weights are of one"),
        ("collections?last=7", 400, "no parameter 'last'"),
        ("health?x=1", 400, "no parameter 'x'"),
        ("collections/editr/estimates", 404, "did you mean 'editor'?"),
    ],
)  # fmt: skip
def test_a_refusal_is_as_it_is_described(aggregator: Running, path: str, status: int, words: str) -> None:
    """With its code, and a sentence."""
    told = ask(f"{aggregator.url}{ROOT}/{path}")
    assert told.status == status, told.body
    validator("Error").validate(told.json)
    assert words in told.json["error"]["message"]


def test_a_schema_refuses_what_is_not_an_answer() -> None:
    """It has power: a field too many, one that is missing, a number for a text."""
    right: dict[str, Any] = {"collections": []}
    assert validator("ListCollectionsResponse").is_valid(right)
    for wrong in ({}, right | {"more": 1}, {"collections": [{"name": "x"}]}, {"collections": 3}):
        assert not validator("ListCollectionsResponse").is_valid(wrong)
