"""Spans for an OpenTelemetry collector, where an operator asks for them; without one nothing of it is loaded.

words:
  collector  what takes spans and figures of many programs, at an address that an operator names (`--otlp`)
  span       that a process has done something for who reads or runs it, from when to when: a question, a page, a
             reload, a process that was started again

No span is about a device. None is made of a call that reports, of a flush, or of folding, which follows a flush
within a second: of a device that is alone any of them would tell when it called. None has an address, a token, a text
that somebody has typed, or the words of an error; and nobody who calls says which trace a span is part of. Times are
told in hundredths of a second: finer ones would show whether something had to be folded before a question was
answered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

__all__ = ["INSTALL", "PATIENCE_SECONDS", "Span", "begin", "can", "end", "note", "resource", "span"]

INSTALL = "pip install 'deniable-aggregator[tracing]' ('./aggregator[tracing]' in a clone)"
"""What it takes."""
PATIENCE_SECONDS = 2.0
"""For a collector to take something. What it does not take is dropped: whoever serves does not wait for it."""
_STEP = 10_000_000
"""Nanoseconds, to which times are told."""
_NAME = "deniable"
_Said = Mapping[str, str | int]


class Span:
    """Something that is being done; nothing where nobody wants to know."""

    def __init__(self, own: trace.Span | None = None) -> None:
        self.own = own
        """As OpenTelemetry has it."""

    def note(self, said: _Said) -> None:
        """Say more of it: words of this house, and numbers."""
        if self.own:
            self.own.set_attributes(said)

    def failed(self) -> None:
        """Say that it has failed."""
        if self.own:
            from opentelemetry.trace import StatusCode

            self.own.set_status(StatusCode.ERROR)


class _Sending:
    """How this process sends spans."""

    provider: TracerProvider | None = None


_CURRENT: ContextVar[Span] = ContextVar("span", default=Span())  # noqa: B039 - it is never changed


def can() -> bool:
    """Whether what it takes is installed."""
    return all(find_spec(name) for name in ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter"))


@cache
def resource(process: str) -> Resource:
    """Who sends; more of it may be said by OTEL_RESOURCE_ATTRIBUTES."""
    from opentelemetry.sdk.resources import Resource

    said = {"service.version": version("deniable-aggregator"), "deniable.process": process}
    own = Resource.create(said)
    named = str(own.attributes.get("service.name", "unknown_service"))
    return own.merge(Resource({"service.name": _NAME})) if named.startswith("unknown_service") else own


def begin(collector: str, process: str) -> None:
    """Have this process send its spans from now on, in a thread of its own."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    _Sending.provider = TracerProvider(resource=resource(process), shutdown_on_exit=False)
    exporter = OTLPSpanExporter(endpoint=collector, timeout=PATIENCE_SECONDS)
    _Sending.provider.add_span_processor(BatchSpanProcessor(exporter))


async def end() -> None:
    """Send what is left, if the collector takes it."""
    provider, _Sending.provider = _Sending.provider, None
    if provider:
        await asyncio.to_thread(provider.shutdown)


@contextmanager
def span(name: str, said: _Said | None = None) -> Iterator[Span]:
    """Tell of what is done within, as part of what is being done already."""
    if _Sending.provider is None:
        yield Span()
        return
    from opentelemetry.context import Context
    from opentelemetry.trace import set_span_in_context

    outer = _CURRENT.get().own
    inside = set_span_in_context(outer, Context()) if outer else Context()
    began = time.time_ns() // _STEP * _STEP
    own = _Sending.provider.get_tracer(_NAME).start_span(name, inside, attributes=said, start_time=began)
    here = Span(own)
    token = _CURRENT.set(here)
    try:
        yield here
    except Exception:
        here.failed()
        raise
    finally:
        _CURRENT.reset(token)
        own.end(-(-time.time_ns() // _STEP) * _STEP)


def note(said: _Said) -> None:
    """Say more of what is being done."""
    _CURRENT.get().note(said)
