"""`deniable estimates`: the answers of a running aggregator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deniable_aggregator.commands._asking import add_asking, add_intervals, credentials, numbers, pairs, window, write
from deniable_aggregator.commands._command import UsageError, command, part, positive

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable estimates` to the commands, with its options."""
    parser = command(commands, "estimates", run, "the answers of a running aggregator", "--last 7d")
    add_asking(parser)
    add_intervals(parser)
    parser.add_argument("--metric", default="", help="only this metric")
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
    parser.add_argument(
        "--series", action="append", default=[], metavar="NAME", help="only this series, such as mean"
    )
    parser.add_argument(
        "--rows", type=positive, default=0, metavar="N", help="of each series only the N largest rows"
    )
    parser.add_argument(
        "--candidates",
        type=Path,
        metavar="FILE",
        help="of the metric, a text: those of the file's words, one a line, that some devices have",
    )
    parser.add_argument("--weigh", nargs="+", metavar=("SEGMENT", "VALUE=SHARE"),
                        help="weigh by known shares, such as platform linux=0.6 windows=0.4")  # fmt: skip
    parser.add_argument("--fakes", type=part, default=0.0, metavar="SHARE",
                        help="how far so many made-up reports can have moved each row, such as 1%%")  # fmt: skip
    parser.add_argument("--raw", action="store_true", help="numbers as they came out: not cut to what is possible")
    parser.add_argument("--watch", action="store_true", help="show the table again whenever an answer has changed")


def run(options: Any) -> None:
    """Run `deniable estimates` with the options that were given."""
    from functools import partial

    from deniable_aggregator.telling.remote import Reader
    from deniable_aggregator.telling.tables import Table
    from deniable_aggregator.telling.terminal import estimates, redrawn

    if options.candidates and (options.watch or not options.metric):
        raise UsageError("--candidates goes with --metric, and not with --watch")
    asked: dict[str, Any] = {
        "collection": options.collection,
        **window(options),
        "segment": pairs("--segment", options.segment, "NAME=VALUE, such as platform=linux"),
        "confidence": options.confidence,
        "target": options.target,
        "anytime": options.anytime,
    }
    rows: dict[str, Any] = {
        "quantiles": options.quantile,
        "shares": [
            *((above, None) for above in options.above),
            *((None, below) for below in options.below),
            *options.between,
        ],
        "series": options.series,
        "rows": options.rows,
        "fakes": options.fakes,
    }
    if options.weigh:
        parts = numbers("--weigh", options.weigh[1:], "VALUE=SHARE, such as linux=0.6")
        rows["weights"] = {options.weigh[0]: parts}
    if options.candidates and any(rows.values()):
        raise UsageError("--candidates asks for words alone: leave other rows, series and weights out")
    shown = partial(estimates, raw=options.raw)
    with Reader(options.endpoint, credentials=credentials(options)) as reader:
        if options.candidates:
            words = [line for line in options.candidates.read_text(encoding="utf-8").splitlines() if line.strip()]
            write(reader.candidates(options.metric, words, **asked), options, shown)
        elif not options.watch:
            write(reader.estimates(options.metric, **asked, **rows), options, shown)
        elif options.format != "table" or options.output:
            raise UsageError("--watch goes with --format table on standard output")
        else:
            for found in reader.watch(**asked, **rows):
                own = Table(row for row in found if options.metric in {"", row["metric"]})
                print(redrawn(shown(own)), flush=True)
