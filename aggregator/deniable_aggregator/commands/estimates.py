"""`deniable estimates`: the answers of a running aggregator."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable import Credentials
from deniable_aggregator.commands._command import ENDPOINT, UsageError, command, positive

if TYPE_CHECKING:
    from deniable_aggregator.telling.tables import Table

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable estimates` to the commands, with its options."""
    parser = command(commands, "estimates", run, "the answers of a running aggregator", "--last 7")
    parser.add_argument("--endpoint", default=ENDPOINT, help="the aggregator (%(default)s)")
    parser.add_argument("--collection", default="", help="name or digest; needed where there are several")
    parser.add_argument("--metric", default="", help="only this metric")
    parser.add_argument("--last", type=positive, default=1, metavar="N", help="add up the last N epochs (1)")
    parser.add_argument("--segment", action="append", default=[], metavar="NAME=VALUE", help="only this segment")
    parser.add_argument("--confidence", type=float, default=0.95, help="of the intervals (0.95)")
    parser.add_argument("--target", choices=("population", "reporting"), default="population")
    parser.add_argument(
        "--quantile",
        action="append",
        default=[],
        type=float,
        metavar="SHARE",
        help="of a distribution, such as 0.375",
    )
    parser.add_argument(
        "--above", action="append", default=[], type=float, metavar="X", help="the share of a distribution from X on"
    )
    parser.add_argument(
        "--below", action="append", default=[], type=float, metavar="X", help="the share of a distribution below X"
    )
    parser.add_argument(
        "--between", action="append", default=[], type=float, nargs=2, metavar=("X", "Y"), help="from X up to Y"
    )
    parser.add_argument("--format", choices=("table", "json", "csv", "parquet"), default="table")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write there (standard output)")
    parser.add_argument("--watch", action="store_true", help="show the table again whenever an answer has changed")
    parser.add_argument("--tls-ca", type=Path, metavar="FILE", help="speak TLS, and trust these certificates (PEM)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="a bearer token that is good for reading")


def run(options: Any) -> None:
    """Run `deniable estimates` with the options that were given."""
    from deniable_aggregator.telling.remote import Reader
    from deniable_aggregator.telling.tables import Table
    from deniable_aggregator.telling.terminal import estimates, redrawn

    segment = {}
    for pair in options.segment:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--segment takes NAME=VALUE, such as platform=linux, not {pair!r}")
        segment[name] = value
    choices = {
        "collection": options.collection,
        "last": options.last,
        "segment": segment,
        "confidence": options.confidence,
        "target": options.target,
        "quantiles": options.quantile,
        "shares": [
            *((above, None) for above in options.above),
            *((None, below) for below in options.below),
            *options.between,
        ],
    }
    with Reader(options.endpoint, credentials=_credentials(options)) as reader:
        if not options.watch:
            _write(reader.estimates(options.metric, **choices), options.format, options.output)
        elif options.format != "table" or options.output:
            raise UsageError("--watch goes with --format table on standard output")
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
        raise UsageError("parquet is not for a terminal: --output FILE")
    else:
        sys.stdout.buffer.write(content)


def _table(found: Table) -> bytes:
    from deniable_aggregator.telling.terminal import estimates

    return f"{estimates(found)}\n".encode()


def _parquet(found: Table) -> bytes:
    try:
        return found.to_parquet()
    except ImportError as error:
        raise UsageError("parquet needs pyarrow: pip install 'deniable-aggregator[parquet]'") from error


_FORMATS: dict[str, Callable[[Table], bytes]] = {
    "table": _table,
    "json": lambda found: f"{found.to_json()}\n".encode(),
    "csv": lambda found: found.to_csv().encode(),
    "parquet": _parquet,
}
