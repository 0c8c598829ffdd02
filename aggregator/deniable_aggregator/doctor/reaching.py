"""Looks at an aggregator that runs, from outside: over gRPC as devices do, and at its page."""

from __future__ import annotations

import asyncio
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from deniable import Credentials
from deniable._paths import told, why
from deniable_aggregator.doctor._check import CannotLook, Check, Subject, Wrong
from deniable_aggregator.doctor.collections import given
from deniable_aggregator.ingest import NAME

__all__ = ["CHECKS", "NotLetIn", "health_of", "page_at"]

_APART = 60.0
"""Seconds that clocks may differ: epochs are hours at the least, and a device's clock may be an hour ahead."""
_MOST_BYTES = 4 << 20
_UNANSWERED = (
    "is it started? Do the name and the load balancer lead there? Do both ends speak TLS, or neither, and is the "
    "certificate of one that is trusted here (--tls-ca)?"
)


class Page(NamedTuple):
    """What the page says of its aggregator."""

    time: float
    """By its clock, in seconds since 1970."""
    health: dict[str, Any]


def health_of(endpoint: str, roots: Path | None, patience: float) -> int:
    """What the health service says of reports; a grpc.RpcError where it does not."""
    credentials = Credentials(roots.read_bytes() if roots else None)
    with credentials.channel(endpoint) as channel:
        answer = HealthStub(channel).Check(HealthCheckRequest(service=NAME), timeout=patience, wait_for_ready=False)
    return int(answer.status)


class NotLetIn(CannotLook):
    """The page is there, and asks for a token."""


async def page_at(subject: Subject, address: str, token_file: Path | None = None) -> Page:
    """What the page at an address says; a CannotLook where none is, or whoever looks is not let in."""
    if address in subject.silent:
        raise subject.silent[address]
    try:
        return await asyncio.to_thread(_page_of, subject, address, token_file)
    except NotLetIn:
        raise
    except CannotLook as error:
        subject.silent[address] = error
        raise


def _trusting(subject: Subject) -> ssl.SSLContext | None:
    """Trusts the very certificate that the page is given, whatever its name: the page is looked for where it listens,
    and is shown a token."""
    certificate = subject.settings.access.certificate
    if not subject.page_by_tls or certificate is None:
        return None
    context = ssl.create_default_context(cafile=str(certificate))
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _page_of(subject: Subject, address: str, token_file: Path | None) -> Page:
    try:
        said = {"Authorization": f"Bearer {token_file.read_text().strip()}"} if token_file else {}
    except (OSError, UnicodeDecodeError) as error:
        raise CannotLook(f"{token_file}: can not be read: {why(error)}") from error
    try:
        context = _trusting(subject)
        scheme = "https" if context else "http"
        asked = urllib.request.Request(f"{scheme}://{address}/api/v1/health", headers=said)  # noqa: S310 - http, or https
        with urllib.request.urlopen(asked, timeout=subject.patience, context=context) as answer:  # noqa: S310 - the same
            health = json.loads(answer.read(_MOST_BYTES))
            return Page(parsedate_to_datetime(answer.headers["Date"]).timestamp(), dict(health))
    except urllib.error.HTTPError as error:
        raise NotLetIn(
            f"the page at {address} answers {error.code}: --token-file FILE, with one that reads all collections"
        ) from error
    except (OSError, ValueError, TypeError) as error:
        raise CannotLook(f"the page at {address} does not answer: {error}") from error


async def _answers(subject: Subject) -> AsyncIterator[Wrong]:
    """Devices reach it, and it takes reports."""
    if subject.endpoint is None:
        raise CannotLook
    try:
        status = await asyncio.to_thread(health_of, subject.endpoint, subject.roots, subject.patience)
    except grpc.RpcError as error:
        said = str(error.details()).splitlines()[0][:200]
        yield f"{subject.endpoint} does not answer as an aggregator does: {error.code().name}: {said}", _UNANSWERED
        return
    except OSError as error:
        raise CannotLook(told(error)) from error
    if status != HealthCheckResponse.SERVING:
        yield (
            f"{subject.endpoint} answers, and takes no reports: it can not reach its store, or is ending",
            "look at its log and at its store (docs/runbook.md#deniablestoredown)",
        )


async def _page(subject: Subject) -> Page:
    """What the page says, if one is there."""
    if subject.page is None:
        raise CannotLook
    try:
        return await page_at(subject, subject.page, subject.token_file)
    except CannotLook as error:
        if subject.endpoint is None:
            raise CannotLook from error  # nobody has said that an aggregator runs
        raise


async def _has_our_time(subject: Subject) -> AsyncIterator[Wrong]:
    """Its clock is right."""
    page = await _page(subject)
    apart = page.time - subject.clock()
    if abs(apart) > _APART:
        yield (
            f"the clock of the aggregator is {abs(apart):.0f} seconds {'ahead' if apart > 0 else 'behind'}",
            "set the clocks by NTP: an epoch that is taken twice counts twice",
        )


async def _serves_what_is_given(subject: Subject) -> AsyncIterator[Wrong]:
    """It serves the collections of the files."""
    page = await _page(subject)
    served = {fleet["digest"] for fleet in page.health["fleets"]}
    if page.health["store"] is None:
        raise CannotLook("the aggregator does not reach its store, and says nothing of collections")
    own = {f"{each.digest:016x}": each.name for each in given(subject)}
    for digest in sorted(own.keys() - served):
        yield (
            f"{own[digest]} ({digest}) is in the files, and is not served",
            "kill -HUP the aggregator, and read its log",
        )
    for digest in sorted(served - own.keys()):
        yield f"a collection ({digest}) is served that is not in the files", "give doctor the files that serve has"


CHECKS = (
    Check("endpoint", _answers),
    Check("aggregator's clock", _has_our_time),
    Check("what is served", _serves_what_is_given),
)
