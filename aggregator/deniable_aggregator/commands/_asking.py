"""What commands share that ask a running aggregator: where it is, who asks, and in which form they are told."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable import Credentials
from deniable.wire.credentials import check_endpoint
from deniable_aggregator.analysis.dates import span_of
from deniable_aggregator.commands._command import ENDPOINT, Parser, UsageError, positive

if TYPE_CHECKING:
    from deniable_aggregator.telling.tables import Table

__all__ = [
    "add_asking",
    "add_caller",
    "add_intervals",
    "add_window",
    "credentials",
    "numbers",
    "pairs",
    "span",
    "window",
    "write",
]


def add_asking(parser: Parser) -> None:
    """Which aggregator is asked for which collection, and the form of what it says."""
    add_caller(parser)
    parser.add_argument("--collection", default="", help="name or digest; needed where there are several")
    add_window(parser)
    parser.add_argument("--segment", action="append", default=[], metavar="NAME=VALUE", help="only this segment")
    parser.add_argument("--format", choices=("table", "json", "csv", "parquet"), default="table")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write there (standard output)")


def add_caller(parser: Parser) -> None:
    """Which aggregator is asked, and by whom."""
    parser.add_argument("--endpoint", default=ENDPOINT, type=_endpoint, help="the aggregator (%(default)s)")
    parser.add_argument("--tls-ca", type=Path, metavar="FILE", help="speak TLS, and trust these certificates (PEM)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="a bearer token that is good for reading")


def add_window(parser: Parser) -> None:
    """Which epochs are asked for."""
    began = "the window begins with this day, such as 2026-11-13, yesterday; of hours 2026-11-13T14:00, in UTC"
    parser.add_argument("--from", dest="from_", metavar="DAY", help=began)
    parser.add_argument("--to", metavar="DAY", help="and ends with this one (the newest that is well under way)")
    parser.add_argument("--last", type=span, metavar="SPAN", help="instead of --from: so long, 7d or 7 epochs (1)")
    parser.add_argument("--last-epoch", type=positive, metavar="EPOCH", help="instead of --to: an epoch's number")
    parser.add_argument("--doubtful", action="store_true", help="epochs that are doubtful count, too")


def add_intervals(parser: Parser) -> None:
    """How sure what is told is to be, and of whom."""
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (0.95)")
    together = "intervals that hold at a year of looks together, or at all looks at growing windows"
    parser.add_argument("--anytime", nargs="?", const="any", default="", choices=("any", "growing"), help=together)
    parser.add_argument("--target", choices=("population", "reporting"), default="population",
                        help="whom intervals are about: all that devices are a sample of, or just those")  # fmt: skip


def span(text: str) -> str:
    """How long a window is, if it can be that."""
    try:
        span_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def window(options: argparse.Namespace) -> dict[str, Any]:
    """Which window is asked for, as a Reader takes it."""
    return {name: getattr(options, name) for name in ("from_", "to", "last", "last_epoch", "doubtful")}


def _endpoint(text: str) -> str:
    try:
        check_endpoint(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("endpoint: ")) from None
    return text


def pairs(option: str, texts: Iterable[str], example: str) -> dict[str, str]:
    """Names with what stands behind their last equals sign."""
    found = {}
    for text in texts:
        name, equals, value = text.rpartition("=") if option == "--baseline" else text.partition("=")
        if not equals:
            raise UsageError(f"{option} takes {example}, not {text!r}")
        found[name] = value
    return found


def numbers(option: str, texts: Iterable[str], example: str) -> dict[str, float]:
    """Names with the number behind their last equals sign."""
    try:
        return {key: float(value) for key, value in pairs(option, texts, example).items()}
    except ValueError as error:
        raise UsageError(f"{option} takes {example}: {error}") from error


def credentials(options: argparse.Namespace) -> Credentials | None:
    """What is shown to the aggregator."""
    if not options.tls_ca and not options.token_file:
        return None
    roots = options.tls_ca.read_bytes() if options.tls_ca else None
    try:
        return Credentials(roots, token=options.token_file.read_text() if options.token_file else None)
    except ValueError as error:
        raise UsageError(f"--token-file {options.token_file}: {error}") from error


def write(found: Table, options: argparse.Namespace, table: Callable[[Any], str]) -> None:
    """In the form that is asked for: as a table for people, or as a file for programs."""
    forms: dict[str, Callable[[Table], bytes]] = {
        "table": lambda found: f"{table(found)}\n".encode(),
        "json": lambda found: f"{found.to_json()}\n".encode(),
        "csv": lambda found: found.to_csv().encode(),
        "parquet": _parquet,
    }
    content = forms[options.format](found)
    if options.output:
        options.output.write_bytes(content)
    elif options.format == "parquet" and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal: --output FILE")
    else:
        sys.stdout.buffer.write(content)


def _parquet(found: Table) -> bytes:
    try:
        return found.to_parquet()
    except ImportError as error:
        raise UsageError("parquet needs pyarrow: pip install 'deniable-aggregator[parquet]'") from error
