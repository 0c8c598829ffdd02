"""`deniable serve`: the aggregator."""

from __future__ import annotations

import argparse
import asyncio
import ipaddress
import logging
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from deniable._section import hint
from deniable.wire.credentials import is_loopback
from deniable_aggregator.commands._command import Parser, UsageError, add_http, command, listening, positive
from deniable_aggregator.commands._settings import FILE, said_elsewhere
from deniable_aggregator.commands._stores import add_durability, check_durability
from deniable_aggregator.serving.logs import FORMS, LEVELS, begin
from deniable_aggregator.tracing import INSTALL, can

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deniable_aggregator.analysis.catalog import Catalog
    from deniable_aggregator.analysis.query import Analyst
    from deniable_aggregator.serving.access import Access
    from deniable_aggregator.serving.server import Settings
    from deniable_aggregator.serving.sources import Sources
    from deniable_aggregator.store import Store
    from deniable_aggregator.web import Site
    from deniable_aggregator.web.entry import Entry

__all__ = ["add", "add_settings", "by_tls", "settings_of"]

_UNITS = {"M": 20, "G": 30}
"""Powers of two."""


def add(commands: Any) -> None:
    """Add `deniable serve` to the commands, with its options."""
    parser = command(commands, "serve", run, "the aggregator", "metrics.toml --data ./deniable-data")
    add_settings(parser)
    parser.elsewhere = said_elsewhere


def add_settings(parser: Parser) -> None:
    """What an aggregator is told."""
    parser.add_argument(
        "collections",
        nargs="+",
        type=Path,
        metavar="COLLECTION",
        help="collection files, or directories of them, with the files that they name; read again on SIGHUP, "
        "directories also when any of them changes",
    )
    parser.add_argument(
        f"--{FILE}",
        type=Path,
        metavar="FILE",
        help="settings in TOML, for those that are said neither here nor by the environment (docs/serving.md)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="say what would be done, or what keeps it from being done, and end: nothing listens, nothing is written",
    )
    parser.add_argument(
        "--listen", default="127.0.0.1:8470", type=listening, help="where to take reports and questions (%(default)s)"
    )
    add_http(parser)
    parser.add_argument(
        "--insecure",
        action="store_true",
        help="let other machines reach in the clear what is to listen there: where something in front speaks TLS",
    )
    parser.add_argument(
        "--debug-view",
        action="store_true",
        help="show what applications of this account record with DENIABLE_DEBUG=1, and what would be reported of it: "
        "in memory, and never counted",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--redis",
        metavar="URL",
        help="a Redis or Valkey of one's own: redis://HOST:PORT/DB, rediss://, unix:///PATH, "
        "redis+sentinel://HOST:PORT,.../SERVICE, redis+cluster://HOST:PORT,...",
    )
    where.add_argument(
        "--data", type=Path, default=Path("deniable-data"), help="directory of the embedded store (%(default)s)"
    )
    add_durability(parser, "a batch")
    parser.add_argument(
        "--workers", type=positive, default=1, help="processes that take reports (%(default)s); best one a processor"
    )
    parser.add_argument(
        "--worker-memory",
        type=_bytes,
        default="512M",
        metavar="SIZE",
        help="memory beyond which a fresh process takes a worker's place, such as 256M or 1G (%(default)s)",
    )
    parser.add_argument(
        "--shards",
        type=positive,
        default=1,
        help="parts that the counters are spread over, for a Redis Cluster; a store keeps to them (%(default)s)",
    )
    parser.add_argument("--grace", type=float, default=20.0, help="seconds for draining on SIGTERM (%(default)g)")
    parser.add_argument("--simulated", action="store_true", help="the store is for simulated devices, and says so")
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        type=_keep,
        metavar="[COLLECTION=]SPAN",
        help="for how long counters are kept after their epoch, such as 90d, or editor=90d for one collection (400d)",
    )
    parser.add_argument(
        "--log-format",
        choices=FORMS,
        default="text",
        help="what is logged: a line an event, in words or as JSON (%(default)s); no caller is named in it",
    )
    parser.add_argument(
        "--log-level", choices=LEVELS, default="info", help="how grave an event has to be to be logged (%(default)s)"
    )
    parser.add_argument(
        "--otlp",
        type=_collector,
        metavar="URL",
        help="where an OpenTelemetry collector takes spans and the figures of /metrics over gRPC, such as "
        "http://127.0.0.1:4317 (with deniable-aggregator[tracing]); nothing of a device",
    )
    _add_access(parser)


def _add_access(parser: Parser) -> None:
    for name, what in (
        ("--tls-cert", "certificate chain (PEM): only TLS is spoken then; may be renewed while it is served"),
        ("--tls-key", "the certificate's private key (PEM)"),
        ("--tls-client-ca", "certificates (PEM) of which one must have signed a client's"),
        (
            "--tokens",
            "bearer tokens that are let in, as deniable token writes them; may be changed while it is served",
        ),
    ):
        parser.add_argument(name, type=Path, metavar="FILE", help=what)
    parser.add_argument(
        "--proxy-header",
        metavar="NAME",
        help="with --tokens: whoever has this header at the page may read, if it comes from a --proxy",
    )
    parser.add_argument(
        "--proxy",
        action="append",
        default=[],
        type=_address_of,
        metavar="ADDRESS",
        help="where the proxy is that asks people who they are, and sets --proxy-header (127.0.0.1 and ::1)",
    )


def _address_of(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"takes an address such as 10.0.0.7, not {text!r}") from None


def _collector(text: str) -> str:
    parts = urlsplit(text)
    try:
        known = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port
    except ValueError:
        known = None
    if not known or text != f"{parts.scheme}://{parts.netloc}" or "@" in parts.netloc:
        raise argparse.ArgumentTypeError(
            "takes http://HOST:PORT, or https://HOST:PORT; what a collector wants to be shown goes into "
            "OTEL_EXPORTER_OTLP_HEADERS"
        )
    return text


def _bytes(text: str) -> int:
    number, unit = text[:-1], text[-1:].upper()
    if unit not in _UNITS or not number.isdecimal() or int(number) < 1:
        raise argparse.ArgumentTypeError(f"is a whole number of M or G, such as 512M, not {text!r}")
    return int(number) << _UNITS[unit]


def _keep(text: str) -> tuple[str, int]:
    """A collection's name, or none, and for how many seconds its counters are kept."""
    from deniable_aggregator.analysis.dates import seconds_of

    name, equals, span = text.rpartition("=")
    try:
        if equals and not name:
            raise ValueError(f"takes 90d or editor=90d, not {text!r}")
        return name, seconds_of(span)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _kept(kept: list[tuple[str, int]]) -> dict[str, Any]:
    """For how long counters are kept, as a calendar has it."""
    own = dict(kept)
    if len(own) < len(kept):
        raise UsageError("--keep: says twice for how long the same is kept")
    everywhere = own.pop("", None)
    return {"keeps": own} if everywhere is None else {"keep": everywhere, "keeps": own}


def settings_of(options: Any) -> Settings:
    """What an aggregator is told by options; a UsageError where they do not go together."""
    from deniable_aggregator.serving.access import Access
    from deniable_aggregator.serving.server import Settings

    check_durability(options)
    data = None if options.redis else options.data
    try:
        access = Access(options.tls_cert, options.tls_key, options.tls_client_ca, options.tokens)
    except ValueError as error:
        raise UsageError(str(error)) from error
    settings = Settings(
        listen=options.listen,
        data_dir=data,
        redis_url=options.redis,
        board=data / "board" if data else None,
        durability=options.durability,
        shards=options.shards,
        grace=options.grace,
        access=access,
        worker_memory=options.worker_memory,
        simulated=options.simulated,
    )
    return replace(settings, calendar=replace(settings.calendar, **_kept(options.keep)))


def run(options: Any) -> None:
    """Run `deniable serve` with the options that were given."""
    begin(options.log_format, options.log_level)  # gRPC, which what follows loads, hears once how loud it may be
    from deniable_aggregator.serving.answering import answering
    from deniable_aggregator.serving.sources import Sources
    from deniable_aggregator.serving.supervisor import Program, Supervisor, serve

    if not options.insecure:
        _keep_in(options)
    if options.otlp and not can():
        raise UsageError(f"--otlp needs OpenTelemetry: {INSTALL}")
    log = logging.getLogger(__name__)
    say = partial(print, flush=True) if options.log_format == "text" else log.info
    settings = settings_of(options)
    sources = Sources(tuple(options.collections))
    if options.check:
        _check(options, settings, sources)
        return
    program = Program(settings, sources, answering, options.otlp or "")
    supervisor = Supervisor(program, options.workers)
    analysts = _analysts(supervisor.catalog)
    site = _site(options, settings.access, analysts)
    if site:
        supervisor.attach(site.beside)
    if options.otlp:
        from deniable_aggregator.web.otlp import Figures

        supervisor.attach(Figures(options.otlp, analysts).beside)

    def ready() -> None:
        names = ", ".join(sorted({collection.name for collection in supervisor.catalog.collections()}))
        say(f"serving {names or 'nothing yet'} on {options.listen.rpartition(':')[0]}:{supervisor.port}")
        if site:
            say(f"the page is at {site.url}")
            if site.debug_url:
                say(f"the debug view is at {site.debug_url}")
        for remark in _remarks(settings, {collection.name for collection in supervisor.catalog.collections()}):
            log.warning("%s", remark)

    serve(supervisor, ready, alone=options.alone)


def _remarks(settings: Settings, served: set[str]) -> Iterator[str]:
    """What is most likely not meant so."""
    access = settings.access
    said = [(f"--keep {name}=...", name) for name in settings.calendar.keeps]
    said += [(f"{access.tokens} has tokens of {name}", name) for name in sorted(access.names())]
    for where, name in said:
        if name not in served:
            yield f"{where}: no such collection is served; {hint(name, served)}"
    if access.costs_more():
        yield "the certificate is RSA: devices that connect cost 2.4 times as much as with ECDSA"


def _check(options: Any, settings: Settings, sources: Sources) -> None:
    from deniable_aggregator.analysis.catalog import Catalog
    from deniable_aggregator.serving.checking import checked

    site = _site(options, settings.access, _analysts(Catalog([])))
    for sentence in asyncio.run(checked(settings, sources)):
        print(sentence)
    who = "whoever logs in with a token that reads" if options.tokens else "everybody who reaches it"
    print(f"would show the page at {site.scheme}://{options.http}/ to {who}" if site else "would show no page")
    if options.otlp:
        print(f"would send spans and figures to {options.otlp}, and nothing of a device")


def _keep_in(options: Any) -> None:
    """Nothing is said in the clear beyond this machine, unless somebody has said that it may be."""
    unless = "--insecure, if nobody but what speaks TLS in front of it can reach it"
    if options.tls_cert is None and not is_loopback(options.listen):
        where = f"--listen {options.listen} is for other machines, in the clear"
        raise UsageError(f"{where}: --tls-cert FILE --tls-key FILE, or {unless}")
    if options.otlp and options.otlp.startswith("http:") and not is_loopback(urlsplit(options.otlp).netloc):
        raise UsageError(f"--otlp {options.otlp} sends to another machine in the clear: https://, or {unless}")
    if options.http is not None and not is_loopback(options.http) and not (options.tls_cert and options.tokens):
        where = f"--http {options.http} shows the page to other machines"
        raise UsageError(
            f"{where}: --tls-cert FILE --tls-key FILE --tokens FILE, for who logs in, --http 127.0.0.1:8471, "
            f"or {unless} and knows who may look"
        )


def _analysts(catalog: Catalog) -> Callable[[Store], Analyst]:
    """Who answers in this process; what does it is loaded when it is asked for."""

    @lru_cache(maxsize=1)
    def analyst(store: Store) -> Analyst:
        from deniable_aggregator.analysis.query import analyst_of

        return analyst_of(catalog)(store)

    return analyst


def by_tls(options: Any) -> bool:
    """Whether the page speaks TLS: where other machines reach it, unless something in front does."""
    return options.http is not None and not options.insecure and not is_loopback(options.http)


def _site(options: Any, access: Access, analysts: Callable[[Store], Analyst]) -> Site | None:
    if options.http is None:
        if options.debug_view:
            raise UsageError("the debug view is a page: it needs --http HOST:PORT")
        return None
    from deniable_aggregator.web import DebugView, Site

    try:
        return Site(
            options.http,
            analysts,
            debug=DebugView() if options.debug_view else None,
            entry=_entry(options),
            certificates=access.certificates() if by_tls(options) else None,
        )
    except ValueError as error:
        raise UsageError(f"--debug-view with --http {options.http}: {error}") from error


def _entry(options: Any) -> Entry | None:
    """Who is let in at the page: everybody, where there are no tokens."""
    from deniable_aggregator.serving.tokens import Tokens
    from deniable_aggregator.web.entry import Entry, proxy_of

    if not options.tokens:
        if options.proxy_header or options.proxy:
            raise UsageError("--proxy-header and --proxy say who needs no token: with --tokens FILE")
        return None
    if options.proxy and not options.proxy_header:
        raise UsageError("--proxy goes with --proxy-header NAME: what it says by which it has let somebody in")
    return Entry(Tokens(options.tokens), proxy_of(options.proxy_header, options.proxy))
