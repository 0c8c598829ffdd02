"""The `deniable` command: one function a subcommand; exit code 0, or a one-line error and 2.

A subcommand loads what it needs when it is run: `check` no server, `ledger` no statistics.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable import Collection, CollectionError, Credentials, StateError, UnknownMetricError

if TYPE_CHECKING:
    from deniable_aggregator.catalog import Catalog
    from deniable_aggregator.planning.audit import Finding
    from deniable_aggregator.store import Durability
    from deniable_aggregator.tables import Table
    from deniable_aggregator.web import Site

__all__ = ["main"]

_ENDPOINT = "127.0.0.1:8470"
_PAGE = "127.0.0.1:8471"
_Parser = argparse.ArgumentParser


class _UsageError(Exception):
    """What was asked for can not be done; the message says what can."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand."""
    options = _parser().parse_args(arguments)
    options.alone = arguments is None
    try:
        options.run(options)
    except _told() as error:
        print(f"deniable: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 0


def _told() -> tuple[type[Exception], ...]:
    """The errors that are told in a line; of rooms that have not been loaded none can have been raised."""
    found: list[type[Exception]] = [CollectionError, UnknownMetricError, StateError, _UsageError, OSError]
    for room, name in (
        ("planning.fleet", "FleetError"),
        ("planning.truth", "TruthError"),
        ("remote", "RemoteError"),
        ("store", "StoreError"),
    ):
        if loaded := sys.modules.get(f"{__package__}.{room}"):
            found.append(getattr(loaded, name))
    return tuple(found)


def _parser() -> _Parser:
    parser = _Parser(prog="deniable", description="Telemetry that the people it counts can deny.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in (
        _add_demo,
        _add_serve,
        _add_estimates,
        _add_check,
        _add_bundle,
        _add_audit,
        _add_simulate,
        _add_ledger,
        _add_codegen,
    ):
        add(commands)
    return parser


def _command(commands: Any, name: str, run: Callable[[Any], None], what: str, example: str) -> _Parser:
    parser: _Parser = commands.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=f"example:\n    deniable {name} {example}".rstrip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {value}")
    return value


# demo


def _add_demo(commands: Any) -> None:
    parser = _command(commands, "demo", _demo, "a simulated fleet against a real aggregator", "--devices 10000")
    parser.add_argument("--devices", type=_positive, default=10_000, help="how many devices report (10,000)")
    parser.add_argument("--once", action="store_true", help="exit after the table")
    parser.add_argument("--listen", default=_ENDPOINT, help=f"where to serve ({_ENDPOINT})")
    _add_http(parser)


def _demo(options: Any) -> None:
    import asyncio

    from deniable_aggregator import demo

    asyncio.run(demo.run(options.devices, options.once, options.listen, options.http))


# serve


def _add_serve(commands: Any) -> None:
    parser = _command(commands, "serve", _serve, "the aggregator", "metrics.toml --data ./deniable-data")
    parser.add_argument(
        "collections",
        nargs="+",
        type=Path,
        metavar="COLLECTION",
        help="collection files, or directories of them, with the files that they name; read again on SIGHUP, "
        "directories also when any of them changes",
    )
    parser.add_argument(
        "--listen", default="127.0.0.1:8470", help="where to take reports and questions (%(default)s)"
    )
    _add_http(parser)
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
    parser.add_argument(
        "--durability",
        type=_durability,
        default="fsync",
        metavar="memory|fsync|replicated[:N]",
        help="what a batch has to have survived before it is acknowledged, with --redis (%(default)s)",
    )
    parser.add_argument(
        "--workers", type=_positive, default=1, help="processes that take reports (%(default)s); best one a processor"
    )
    parser.add_argument(
        "--shards",
        type=_positive,
        default=1,
        help="parts that the counters are spread over, for a Redis Cluster; a store keeps to them (%(default)s)",
    )
    parser.add_argument("--grace", type=float, default=20.0, help="seconds for draining on SIGTERM (%(default)g)")
    _add_access(parser)


def _add_access(parser: _Parser) -> None:
    for name, what in (
        ("--tls-cert", "certificate chain (PEM): only TLS is spoken then"),
        ("--tls-key", "the certificate's private key (PEM)"),
        ("--tls-client-ca", "certificates (PEM) of which one must have signed a client's"),
        ("--tokens", "bearer tokens that are let in: lines of report or read, and a token's SHA-256"),
    ):
        parser.add_argument(name, type=Path, metavar="FILE", help=what)


def _add_http(parser: _Parser) -> None:
    parser.add_argument(
        "--http",
        default=_PAGE,
        type=_address,
        metavar="HOST:PORT",
        help="where the page, its API and /metrics are, for anybody who can reach it; or off (%(default)s)",
    )


def _address(text: str) -> str | None:
    if text == "off":
        return None
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit()):
        raise argparse.ArgumentTypeError(f"takes HOST:PORT, such as {_PAGE}, or off, not {text!r}")
    return text


def _durability(text: str) -> Durability:
    from deniable_aggregator.store import Durability, Level

    level, colon, replicas = text.partition(":")
    try:
        if colon and level != Level.REPLICATED.value:
            raise ValueError(text)
        return Durability(Level(level), int(replicas) if colon else 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"is memory, fsync, replicated or replicated:N, not {text!r}") from None


def _serve(options: Any) -> None:
    from deniable_aggregator.access import Access
    from deniable_aggregator.answering import answering
    from deniable_aggregator.server import Settings
    from deniable_aggregator.sources import Sources
    from deniable_aggregator.store import Level
    from deniable_aggregator.workers import Program, Supervisor, serve

    if options.durability.level is not Level.FSYNC and not options.redis:
        raise _UsageError("the embedded store syncs everything: --durability is for --redis URL")
    data = None if options.redis else options.data
    try:
        access = Access(options.tls_cert, options.tls_key, options.tls_client_ca, options.tokens)
    except ValueError as error:
        raise _UsageError(str(error)) from error
    settings = Settings(
        listen=options.listen,
        data_dir=data,
        redis_url=options.redis,
        board=data / "board" if data else None,
        durability=options.durability,
        shards=options.shards,
        grace=options.grace,
        access=access,
    )
    program = Program(settings, Sources(tuple(options.collections)), answering)
    supervisor = Supervisor(program, options.workers)
    site = _site(options.http, supervisor.catalog) if options.http else None
    if site:
        supervisor.attach(site.beside)

    def ready() -> None:
        names = ", ".join(sorted({collection.name for collection in supervisor.catalog.collections()}))
        print(
            f"serving {names or 'nothing yet'} on {options.listen.rpartition(':')[0]}:{supervisor.port}", flush=True
        )
        if site:
            print(f"the page is at {site.url}", flush=True)
        if access.costs_more():
            print(
                "the certificate is RSA: devices that connect cost 2.4 times as much as with ECDSA", file=sys.stderr
            )

    serve(supervisor, ready, alone=options.alone)


def _site(listen: str, catalog: Catalog) -> Site:
    from deniable_aggregator.query import analyst_of
    from deniable_aggregator.web import Site

    return Site(listen, analyst_of(catalog))


# estimates


def _add_estimates(commands: Any) -> None:
    parser = _command(commands, "estimates", _estimates, "the answers of a running aggregator", "--last 7")
    parser.add_argument("--endpoint", default=_ENDPOINT, help="the aggregator (%(default)s)")
    parser.add_argument("--collection", default="", help="name or digest; needed where there are several")
    parser.add_argument("--metric", default="", help="only this metric")
    parser.add_argument("--last", type=_positive, default=1, metavar="N", help="add up the last N epochs (1)")
    parser.add_argument("--segment", action="append", default=[], metavar="NAME=VALUE", help="only this segment")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (0.95)")
    parser.add_argument("--target", choices=("population", "reporting"), default="population")
    parser.add_argument("--format", choices=("table", "json", "csv", "parquet"), default="table")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write there (standard output)")
    parser.add_argument("--watch", action="store_true", help="show the table again whenever an answer has changed")
    parser.add_argument("--tls-ca", type=Path, metavar="FILE", help="speak TLS, and trust these certificates (PEM)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="a bearer token that is good for reading")


def _estimates(options: Any) -> None:
    from deniable_aggregator.remote import Reader
    from deniable_aggregator.tables import Table
    from deniable_aggregator.terminal import estimates, redrawn

    segment = {}
    for pair in options.segment:
        name, equals, value = pair.partition("=")
        if not equals:
            raise _UsageError(f"--segment takes NAME=VALUE, such as platform=linux, not {pair!r}")
        segment[name] = value
    choices = {
        "collection": options.collection,
        "last": options.last,
        "segment": segment,
        "confidence": options.confidence,
        "target": options.target,
    }
    with Reader(options.endpoint, credentials=_credentials(options)) as reader:
        if not options.watch:
            _write(reader.estimates(options.metric, **choices), options.format, options.output)
        elif options.format != "table" or options.output:
            raise _UsageError("--watch goes with --format table on standard output")
        else:
            for found in reader.watch(**choices):
                own = Table(row for row in found if options.metric in {"", row["metric"]})
                print(redrawn(estimates(own)), flush=True)


def _credentials(options: Any) -> Credentials | None:
    if not options.tls_ca and not options.token_file:
        return None
    roots = options.tls_ca.read_bytes() if options.tls_ca else None
    return Credentials(roots, token=options.token_file.read_text().strip() if options.token_file else None)


def _write(found: Table, form: str, output: Path | None) -> None:
    content = _FORMATS[form](found)
    if output:
        output.write_bytes(content)
    elif form == "parquet" and sys.stdout.isatty():
        raise _UsageError("parquet is not for a terminal: --output FILE")
    else:
        sys.stdout.buffer.write(content)


def _table(found: Table) -> bytes:
    from deniable_aggregator.terminal import estimates

    return f"{estimates(found)}\n".encode()


def _parquet(found: Table) -> bytes:
    try:
        return found.to_parquet()
    except ImportError as error:
        raise _UsageError("parquet needs pyarrow: pip install 'deniable-aggregator[parquet]'") from error


_FORMATS: dict[str, Callable[[Table], bytes]] = {
    "table": _table,
    "json": lambda found: f"{found.to_json()}\n".encode(),
    "csv": lambda found: found.to_csv().encode(),
    "parquet": _parquet,
}


# check


def _add_check(commands: Any) -> None:
    parser = _command(
        commands, "check", _check, "what a collection asks, what it costs, what is unwise", "metrics.toml"
    )
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")


def _check(options: Any) -> None:
    from deniable import linkage
    from deniable_aggregator.planning.check import composed, findings, linked, reasons
    from deniable_aggregator.planning.leverage import gain
    from deniable_aggregator.terminal import table

    collection = Collection.load(options.collection)
    rows = [
        (
            metric.name,
            metric.kind.name,
            metric.mechanism,
            str(metric.epsilon),
            f"{gain(metric).row:,.3g}",
            f"{linkage.bits(metric):.2f}" + (" remembered" if metric.memoize else ""),
            metric.description,
        )
        for metric in collection.metrics.values()
    ]
    spent = sum(float(metric.epsilon) for metric in collection.metrics.values())
    print(f"{collection.name}, digest {collection.digest:016x}, an epoch is {collection.epoch_seconds // 3600} h\n")
    header = ("metric", "kind", "mechanism", "epsilon", "one fake", "bits", "what is asked")
    print(table(header, rows, (False, False, False, True, True, False, False)))
    print("\nOne fake device among n moves a share, or a mean in ranges, by at most so many times 1 / n.")
    print(f"\nA device spends at most {spent:.4g} an epoch, of a budget of {float(collection.budget.epoch):.4g}.")
    if delta := sum(float(metric.kind.delta) for metric in collection.metrics.values()):
        budget = collection.budget
        epoch, ever = float(budget.epoch_delta), float(budget.lifetime_delta)
        print(f"Its deltas add up to {delta:g} an epoch, of a budget of {epoch:g}, and {ever:g} ever.")
    print(linked(collection))
    for sentence in composed(collection):
        print(sentence)
    for finding in findings(collection):
        print(f"- {finding}")
    why = list(reasons(collection))
    if why:
        print("\nVariances of one report's estimate, beside that of the mechanism above:")
        print("\n".join(f"- {reason}" for reason in why))


# bundle


def _add_bundle(commands: Any) -> None:
    example = "metrics.toml --output bundle.toml"
    parser = _command(
        commands, "bundle", _bundle, "a collection and all files that it names, as the one text that ships", example
    )
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there (standard output)")


def _bundle(options: Any) -> None:
    from deniable.collection import bundle

    text = bundle(options.collection).encode()
    if options.output:
        options.output.write_bytes(text)
    else:
        sys.stdout.buffer.write(text)


# audit


def _add_audit(commands: Any) -> None:
    parser = _command(
        commands, "audit", _audit, "epsilon, measured from what is sent, beside what is claimed", "metrics.toml"
    )
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument("--reports", type=_positive, default=200_000, help="of each of two answers (%(default)s)")
    parser.add_argument("--metric", default="", help="only this metric")


def _audit(options: Any) -> None:
    from deniable_aggregator.planning.audit import audit
    from deniable_aggregator.terminal import Progress, table

    collection = Collection.load(options.collection)
    metrics = [collection.metric(options.metric)] if options.metric else list(collection.metrics.values())
    progress = Progress("metrics audited", len(metrics))
    found: list[Finding] = []
    for done, metric in enumerate(metrics, 1):
        found += audit(metric, options.reports)
        progress(done)
    rows = [
        (each.metric, each.claim, f"{each.claimed:.4g}", f"{each.measured:.4g}", "holds" if each.holds else "broken")
        for each in found
    ]
    header = ("metric", "claim", "claimed", "measured, at least", "")
    print(table(header, rows, (False, False, True, True, False)))
    print(f"\nMeasured with {found[0].confidence:.4%} confidence each. What is measured can only disprove a claim.")
    broken = [f"{each.metric} ({each.claim})" for each in found if not each.holds]
    if broken:
        raise _UsageError(f"{len(broken)} of {len(found)} claims are disproved: {', '.join(broken)}")


# simulate


def _add_simulate(commands: Any) -> None:
    example = "metrics.toml --devices 100000 --truth truth.toml --endpoint 127.0.0.1:8470"
    parser = _command(commands, "simulate", _simulate, "a fleet of simulated devices that report", example)
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file that the aggregator serves")
    parser.add_argument("--devices", type=_positive, required=True, help="how many devices report")
    parser.add_argument("--truth", required=True, metavar="FILE", help="what they would answer (TOML)")
    parser.add_argument("--endpoint", default=_ENDPOINT, help="the aggregator (%(default)s)")
    parser.add_argument(
        "--fast",
        action=argparse.BooleanOptionalAction,
        help="draw many devices at once and send all batches through one stream (what large fleets do)",
    )


def _simulate(options: Any) -> None:
    import asyncio
    import time

    import numpy as np

    from deniable_aggregator.planning import fleet
    from deniable_aggregator.planning.truth import Truth
    from deniable_aggregator.terminal import Progress

    collection = Collection.load(options.collection)
    generator = np.random.default_rng()
    values = Truth.load(options.truth, collection).draw(options.devices, generator)
    progress = Progress("devices that have reported", options.devices)
    epoch = collection.epoch_at(time.time())
    fast = options.devices > fleet.LARGE if options.fast is None else options.fast
    send = fleet.forward if fast else fleet.report
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(send(collection, values, options.endpoint, epoch, generator, progress))


# ledger


def _add_ledger(commands: Any) -> None:
    parser = _command(
        commands,
        "ledger",
        _ledger,
        "what a device has spent and sent, as `python -m deniable` shows it",
        "app-state.db",
    )
    parser.add_argument("state", type=Path, metavar="STATE", help="the file that the application's client keeps")
    parser.add_argument("--sent", action="store_true", help="every report that has left the device, in words")


def _ledger(options: Any) -> None:
    from deniable.person import ledger, transcript
    from deniable.person.device import look

    print("\n".join((transcript if options.sent else ledger).lines(look(options.state))))


# codegen


def _add_codegen(commands: Any) -> None:
    example = "metrics.toml --output metrics.py"
    parser = _command(commands, "codegen", _codegen, "typed accessors of a collection, for type checkers", example)
    parser.add_argument("collection", type=Path, metavar="COLLECTION", help="a collection file")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write there (standard output)")


def _codegen(options: Any) -> None:
    from deniable.codegen import generate

    module = generate(Collection.load(options.collection), options.collection.name)
    if options.output:
        options.output.write_text(module, encoding="utf-8")
    else:
        print(module, end="")


if __name__ == "__main__":
    sys.exit(main())
