"""`deniable synthesize`: a data set that is drawn from an answer."""

from __future__ import annotations

import sys
from typing import Any

from deniable_aggregator.commands._asking import add_asking, add_intervals, credentials, pairs, window
from deniable_aggregator.commands._command import UsageError, command, positive

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable synthesize` to the commands, with its options."""
    what = "rows that are drawn from the answer of a joint, a tree or a distribution"
    parser = command(commands, "synthesize", run, what, "theme_by_platform --within 0.01 --output rows.csv")
    parser.add_argument("metric", help="whose answer they are drawn from")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--rows", type=positive, metavar="N", help="so many")
    size.add_argument("--within", type=float, metavar="SHARE",
                      help="as many as it takes that every share is within this of the answer's")  # fmt: skip
    add_asking(parser)
    add_intervals(parser)
    parser.set_defaults(format="csv")


def run(options: Any) -> None:
    """Run `deniable synthesize` with the options that were given."""
    import numpy as np

    from deniable_aggregator.telling import synthesis as made
    from deniable_aggregator.telling.remote import Reader

    forms = {"csv": made.to_csv, "parquet": made.to_parquet}
    if options.format not in forms:
        raise UsageError("rows are written as csv or parquet")
    if options.format == "parquet" and not options.output and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal: --output FILE")
    with Reader(options.endpoint, credentials=credentials(options)) as reader:
        table = reader.estimates(
            options.metric,
            collection=options.collection,
            **window(options),
            segment=pairs("--segment", options.segment, "NAME=VALUE, such as platform=linux"),
            confidence=options.confidence,
            target=options.target,
            anytime=options.anytime,
        )
    try:
        found = made.synthesis(table)
        rows = options.rows or made.rows_for(found.told, options.within)
    except ValueError as error:
        raise UsageError(str(error)) from error
    try:
        content = forms[options.format](found.columns, found.draw(rows, np.random.default_rng()))
    except ImportError as error:
        raise UsageError("parquet needs pyarrow: pip install 'deniable-aggregator[parquet]'") from error
    if options.output:
        options.output.write_bytes(content)
    else:
        sys.stdout.buffer.write(content)
    print(
        f"{rows:,} rows that are drawn from the answer of {options.metric}, and are no device's: each of its "
        f"{found.told:,} shares is within {100 * made.reach(found.told, rows):.2g} points of the answer's, but for a "
        f"chance of {100 * made.MISSED:g}% that one is not. The answer itself is uncertain by up to "
        f"{100 * found.error:.2g} points, which no number of rows makes better"
        f"{f'; {found.note}' if found.note else ''}.",
        file=sys.stderr,
    )
