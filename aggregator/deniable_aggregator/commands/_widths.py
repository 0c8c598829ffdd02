"""What `check --devices` and `plan` share: what a fleet has, how wide intervals will be, and how that is told.

words:
  alike   rows of a series whose widths differ by so little that one line tells them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from deniable import Collection
from deniable_aggregator.commands._command import Parser, UsageError, positive

if TYPE_CHECKING:
    from deniable_aggregator.planning.population import Fleet
    from deniable_aggregator.planning.widths import Width

__all__ = ["Expected", "add_fleet", "expected", "fleets", "half", "plain", "told"]

_LISTED = 12
"""So many rows of a series are told one by one."""
_ALIKE = 1.03
Expected = Mapping[str, "Sequence[Width]"]
"""The widths of every metric's rows."""


def add_fleet(parser: Parser, why: str) -> None:
    """Add the options that say how many devices there are, and what they have."""
    parser.add_argument("--devices", type=positive, metavar="N", help=why)
    parser.add_argument("--truth", metavar="FILE", help="what these have, as for simulate (values spread evenly)")


def fleets(collection: Collection, options: Any) -> dict[str, Fleet]:
    """What devices have, of every metric, where a file says so."""
    if not options.truth:
        return {}
    if not options.devices:
        raise UsageError("--truth goes with --devices N: how many devices have it")
    from deniable_aggregator.planning.truth import Truth

    truth = Truth.load(options.truth, collection)
    return {name: truth.fleet(name) for name in collection.metrics}


def expected(collection: Collection, devices: int, has: Mapping[str, Fleet]) -> dict[str, list[Width]]:
    """The widths of every metric's rows."""
    from deniable_aggregator.planning.widths import widths

    return {name: widths(metric, devices, has.get(name)) for name, metric in collection.metrics.items()}


def told(every: Expected, more: Callable[[str, Width], str] | None = None) -> Iterator[tuple[str, ...]]:
    """A line a row; one for all rows of a series that are alike, or many. `more` has what else is told of a row; of
    rows that are told together that of the widest."""

    def line(name: str, label: str, own: Width, text: str) -> tuple[str, ...]:
        return (f"{name}: {label}", text, *((more(name, own),) if more else ()))

    for name, rows in every.items():
        for series, grouped in groupby(rows, lambda own: own.heading.name):
            given = list(grouped)
            ordered = sorted(given, key=lambda own: own.half)
            least, most = ordered[0], ordered[-1]
            if len(given) == 1 and most.where.key != series:
                yield line(name, most.where.key, most, half(most))
            elif most.half <= _ALIKE * least.half:
                yield line(name, series + (f", each of {len(given):,}" if len(given) > 1 else ""), most, half(most))
            elif len(given) <= _LISTED:
                yield from (line(name, own.where.key, own, half(own)) for own in given)
            else:
                yield line(name, f"{series}, {len(given):,} of them", most, f"{half(least)} to {half(most)}")


def half(own: Width) -> str:
    """Half of a row's interval, with its unit."""
    from deniable_aggregator.telling import digits

    return digits.half(own.half, own.heading, is_open=own.open)


def plain(own: Width) -> dict[str, Any]:
    """A row's width, for programs."""
    return {
        "series": own.where.series,
        "key": own.where.key,
        "measure": own.heading.measure.value,
        "unit": own.heading.unit,
        "half_width": own.half,
        "open": own.open,
    }
