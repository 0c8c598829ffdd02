"""`deniable check`: what a collection asks, what it costs, what it will tell, what is unwise about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from deniable import Collection, Metric
from deniable_aggregator.commands._command import UsageError, command, positive
from deniable_aggregator.commands.diff import sentences

if TYPE_CHECKING:
    from deniable_aggregator.planning.widths import Width

__all__ = ["add"]

_LISTED = 12
"""So many rows of a series are told one by one."""
_ALIKE = 1.03
"""Rows of a series whose widths differ by no more are told in one line."""
_Expected = dict[str, "list[Width]"]


def add(commands: Any) -> None:
    """Add `deniable check` to the commands, with its options."""
    what = "what a collection asks, what it costs, what it tells, what is unwise"
    parser = command(commands, "check", run, what, "metrics.toml --devices 10000")
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument("--against", metavar="OLD", help="the version before it: what is new, and what breaks")
    parser.add_argument("--devices", type=positive, metavar="N", help="how certain the answers of so many will be")
    parser.add_argument("--truth", metavar="FILE", help="what these have, as for simulate (values spread evenly)")
    parser.add_argument(
        "--strict", action="store_true", help="end with 1 where anything is unwise, or not said why and until when"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: Any) -> int:
    """Run `deniable check` with the options that were given."""
    if options.truth and not options.devices:
        raise UsageError("--truth goes with --devices N: how many devices have it")
    collection = Collection.load(options.collection)
    expected = _expected(collection, options) if options.devices else {}
    tables = _tables(options.collection)
    found = _findings(collection, _saying(tables, "reduce"), expected, options.devices)
    if options.strict:
        found += _undocumented(tables)
    if options.json:
        _print_json(collection, expected, found, options.devices)
    else:
        _print(collection, expected, found, options)
    return int(bool(options.strict and found))


def _expected(collection: Collection, options: Any) -> _Expected:
    """The widths of every metric's rows."""
    from deniable_aggregator.planning.truth import Truth
    from deniable_aggregator.planning.widths import widths

    if not options.truth:
        return {name: widths(metric, options.devices) for name, metric in collection.metrics.items()}
    truth = Truth.load(options.truth, collection)
    return {name: widths(metric, options.devices, truth.fleet(name)) for name, metric in collection.metrics.items()}


def _tables(path: str) -> dict[str, Any]:
    """The tables of the metrics, as they stand in the file."""
    import tomllib

    from deniable.collection import text_of

    tables: dict[str, Any] = tomllib.loads(text_of(path))["metrics"]
    return tables


def _saying(tables: Mapping[str, Any], key: str) -> set[str]:
    """The metrics of which the file says a key."""
    return {name for name, table in tables.items() if key in table}


def _undocumented(tables: Mapping[str, Any]) -> list[str]:
    """What people who are asked, and who review the file, are not told."""
    asks = {
        "reason": 'reason = "..." says what the answer is for',
        "expires": 'expires = 2027-12-31 says when it is asked no more, or "never" that this is meant',
    }
    missing = {key: sorted(tables.keys() - _saying(tables, key)) for key in asks}
    return [f"{', '.join(names)}: {asks[key]}" for key, names in missing.items() if names]


def _findings(collection: Collection, said: set[str], expected: _Expected, devices: int | None) -> list[str]:
    """All that is unwise, a sentence each."""
    from deniable_aggregator.planning import check, noise

    found = [*check.findings(collection), *noise.losing(collection, said), *noise.faint(collection)]
    return found + list(noise.noisy(collection, expected, devices)) if devices else found


def _print(collection: Collection, expected: _Expected, found: Sequence[str], options: Any) -> None:
    from deniable_aggregator.planning.check import composed, linked, reasons
    from deniable_aggregator.planning.noise import lasting
    from deniable_aggregator.planning.update import review
    from deniable_aggregator.telling.terminal import table

    named = f"{collection.name}, version {collection.version}, digest {collection.digest:016x}"
    print(f"{named}, an epoch is {collection.epoch_seconds // 3600} h\n")
    header = ("metric", "kind", "mechanism", "reduce", "epsilon", "one fake", "bits", "what is asked")
    rows = [_row(metric) for metric in collection.metrics.values()]
    print(table(header, rows, (False, False, False, False, True, True, False, False)))
    print("\nOne fake device among n moves a share, or a mean in ranges, by at most so many times 1 / n.")
    for line in _spent(collection):
        print(line)
    for sentence in (*lasting(collection), linked(collection), *composed(collection)):
        print(sentence)
    for finding in found:
        print(f"- {finding}")
    if why := list(reasons(collection)):
        print("\nVariances of one report's estimate, beside that of the mechanism above:")
        print("\n".join(f"- {reason}" for reason in why))
    if options.devices:
        fleet = "as the truth file says" if options.truth else "whose values are spread evenly"
        print(f"\nWhat {options.devices:,} devices tell, {fleet}: half of a 95% interval.")
        print(table(("answer", "half width"), list(_told(expected)), (False, False)))
    if options.against:
        old = Collection.load(options.against)
        print(f"\nBeside version {old.version} ({old.digest:016x}):")
        print("\n".join(sentences(review(old, collection))))


def _row(metric: Metric) -> tuple[str, ...]:
    from deniable import linkage
    from deniable_aggregator.planning.leverage import gain

    return (
        metric.name,
        metric.kind.name,
        metric.mechanism,
        metric.reducer.name,
        str(metric.epsilon),
        f"{gain(metric).row:,.3g}",
        f"{linkage.bits(metric):.2f}" + (" remembered" if metric.memoize else ""),
        metric.description,
    )


def _spent(collection: Collection) -> Iterator[str]:
    budget = collection.budget
    spent = sum(float(metric.epsilon) for metric in collection.metrics.values())
    yield f"\nA device spends at most {spent:.4g} an epoch, of a budget of {float(budget.epoch):.4g}."
    if delta := sum(float(metric.kind.delta) for metric in collection.metrics.values()):
        epoch, ever = float(budget.epoch_delta), float(budget.lifetime_delta)
        yield f"Its deltas add up to {delta:g} an epoch, of a budget of {epoch:g}, and {ever:g} ever."


def _told(expected: Mapping[str, Sequence[Width]]) -> Iterator[tuple[str, str]]:
    """A line a row; one for all rows of a series that are alike, or many."""
    for name, every in expected.items():
        for series, grouped in groupby(every, lambda own: own.heading.name):
            rows = sorted(grouped, key=lambda own: own.half)
            least, most = rows[0], rows[-1]
            if len(rows) == 1 and most.where.key != series:
                yield f"{name}: {most.where.key}", _half(most)
            elif most.half <= _ALIKE * least.half:
                yield f"{name}: {series}" + (f", each of {len(rows):,}" if len(rows) > 1 else ""), _half(most)
            elif len(rows) <= _LISTED:
                yield from ((f"{name}: {own.where.key}", _half(own)) for own in every if own in rows)
            else:
                yield f"{name}: {series}, {len(rows):,} of them", f"{_half(least)} to {_half(most)}"


def _half(own: Width) -> str:
    from deniable_aggregator.telling.digits import half

    return half(own.half, own.heading, is_open=own.open)


def _print_json(collection: Collection, expected: _Expected, found: Sequence[str], devices: int | None) -> None:
    import json

    from deniable import linkage
    from deniable_aggregator.planning.check import composed, linked, reasons
    from deniable_aggregator.planning.leverage import gain
    from deniable_aggregator.planning.noise import lasting

    metrics = [
        {
            "name": metric.name,
            "kind": metric.kind.name,
            "description": metric.description,
            "mechanism": metric.mechanism,
            "reduce": metric.reducer.name,
            "epsilon": float(metric.epsilon),
            "one_fake": gain(metric).row,
            "bits": linkage.bits(metric),
            "memoize": metric.memoize,
            "widths": [_plain(own) for own in expected.get(metric.name, ())],
        }
        for metric in collection.metrics.values()
    ]
    print(
        json.dumps(
            {
                "name": collection.name,
                "version": collection.version,
                "digest": f"{collection.digest:016x}",
                "epoch_seconds": collection.epoch_seconds,
                "devices": devices,
                "metrics": metrics,
                "costs": [*lasting(collection), linked(collection), *composed(collection)],
                "reasons": list(reasons(collection)),
                "findings": list(found),
            },
            indent=2,
            ensure_ascii=False,
        )
    )


def _plain(own: Width) -> dict[str, Any]:
    return {
        "series": own.where.series,
        "key": own.where.key,
        "measure": own.heading.measure.value,
        "unit": own.heading.unit,
        "half_width": own.half,
        "open": own.open,
    }
