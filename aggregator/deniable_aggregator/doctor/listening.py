"""Looks at the addresses that are to be listened on: whether they are free, and who can reach them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator

import grpc

from deniable.wire.credentials import is_loopback
from deniable_aggregator.doctor._check import CannotLook, Check, Subject, Wrong
from deniable_aggregator.doctor.reaching import NotLetIn, health_of, page_at
from deniable_aggregator.serving.port import reserved

__all__ = ["CHECKS"]


async def _is_free(subject: Subject) -> AsyncIterator[Wrong]:
    """The port is free, or an aggregator's."""
    listen = subject.settings.listen
    try:
        reserved(listen).close()
    except OSError as error:
        if not await asyncio.to_thread(_is_ours, subject, _here(listen)):
            yield f"{error}, and it is no such aggregator", "end what has taken the port, or --listen on another one"


async def _page_is_free(subject: Subject) -> AsyncIterator[Wrong]:
    """The page's port is free, or a page's."""
    if subject.page is None:
        raise CannotLook
    try:
        reserved(subject.page).close()
    except OSError as error:
        if not await _is_page(subject, _here(subject.page)):
            yield f"{error}, and no page answers there", "end what has taken the port, or --http on another one"


async def _is_private(subject: Subject) -> AsyncIterator[Wrong]:
    """Nothing is told in the clear beyond this machine."""
    listen, access = subject.settings.listen, subject.settings.access
    if access.certificate is None and not is_loopback(listen):
        yield (
            f"{listen} is for other machines, and in the clear: tokens and segments can be read on the way",
            "--tls-cert and --tls-key, or listen on 127.0.0.1 behind what speaks TLS",
        )
    guarded = access.certificate is not None and access.tokens is not None
    if subject.page is not None and not is_loopback(subject.page) and not guarded:
        yield (
            f"the page at {subject.page} can be reached from other machines, in the clear",
            "--tls-cert, --tls-key and --tokens, or --http 127.0.0.1:8471, behind what speaks TLS",
        )


async def _is_page(subject: Subject, address: str) -> bool:
    """Whether a page answers there: one that asks for a token, too, or by TLS shows our certificate."""
    try:
        await page_at(subject, address)
    except NotLetIn:
        return True
    except CannotLook:
        return subject.settings.access.certificate is not None and await asyncio.to_thread(_is_ours, subject, address)
    return True


def _is_ours(subject: Subject, address: str) -> bool:
    """Whether what answers there shows our certificate; without one, whether it is an aggregator."""
    host, _, port = address.rpartition(":")
    certificate = subject.settings.access.certificate
    try:
        if certificate is None:
            health_of(address, None, subject.patience)
            return True
        shown = ssl.get_server_certificate((host.strip("[]"), int(port)), timeout=subject.patience)
        return "".join(shown.split()) in "".join(certificate.read_text().split())
    except (grpc.RpcError, OSError, ValueError):
        return False


def _here(listen: str) -> str:
    """Where this machine reaches what listens there."""
    host, _, port = listen.rpartition(":")
    everywhere = host.strip("[]") in {"", "::", "0.0.0.0"}  # noqa: S104 - it is looked for, not bound to
    return f"127.0.0.1:{port}" if everywhere else listen


CHECKS = (Check("port", _is_free), Check("page's port", _page_is_free), Check("who can reach it", _is_private))
