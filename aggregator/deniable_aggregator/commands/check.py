"""`deniable check`: what a collection asks, what it costs, what it will tell, what is unwise about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deniable import Collection, Metric
from deniable_aggregator.commands._command import command
from deniable_aggregator.commands._widths import Expected, add_fleet, expected, fleets, plain, told
from deniable_aggregator.commands.diff import sentences

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable check` to the commands, with its options."""
    what = "what a collection asks, what it costs, what it tells, what is unwise"
    parser = command(commands, "check", run, what, "metrics.toml --devices 10000")
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument("--against", metavar="OLD", help="the version before it: what is new, and what breaks")
    add_fleet(parser, "how certain the answers of so many will be, in short; `deniable plan` says more")
    parser.add_argument(
        "--strict", action="store_true", help="end with 1 where anything is unwise, or not said why and until when"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: Any) -> int:
    """Run `deniable check` with the options that were given."""
    collection = Collection.load(options.collection)
    has = fleets(collection, options)
    every = expected(collection, options.devices, has) if options.devices else {}
    tables = _tables(options.collection)
    found = _findings(collection, _saying(tables, "reduce"), every, options.devices)
    if options.strict:
        found += _undocumented(tables)
    if options.json:
        _print_json(collection, every, found, options.devices)
    else:
        _print(collection, every, found, options)
    return int(bool(options.strict and found))


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


def _findings(collection: Collection, said: set[str], every: Expected, devices: int | None) -> list[str]:
    """All that is unwise, a sentence each."""
    from deniable_aggregator.planning import check, noise

    found = [*check.findings(collection), *noise.losing(collection, said), *noise.faint(collection)]
    return found + list(noise.noisy(collection, every, devices)) if devices else found


def _print(collection: Collection, every: Expected, found: Sequence[str], options: Any) -> None:
    from deniable_aggregator.planning.check import composed, linked, reasons
    from deniable_aggregator.planning.noise import lasting
    from deniable_aggregator.planning.update import review
    from deniable_aggregator.telling.terminal import table

    named = f"{collection.name}, version {collection.version}, digest {collection.digest:016x}"
    print(f"{named}, an epoch is {collection.epoch_seconds // 3600} h\n")
    if collection.retired:
        print(f"Retired: from {collection.retired} on nothing of it is asked, and no new report of it is taken.\n")
    header = ("metric", "kind", "mechanism", "reduce", "epsilon", "one fake", "bits", "what is asked")
    rows = [_row(metric) for metric in collection.metrics.values()]
    print(table(header, rows, (False, False, False, False, True, True, False, False)))
    print("\nOne fake device among n moves a share, or a mean in ranges, by at most so many times 1 / n.")
    if collection.sample < 1:
        print(_part(collection))
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
        drawn = f" (about {round(options.devices * collection.sample):,} report)" if collection.sample < 1 else ""
        print(f"\nWhat {options.devices:,} devices tell{drawn}, {fleet}: half of a 95% interval.")
        print(table(("answer", "half width"), list(told(every)), (False, False)))
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


def _part(collection: Collection) -> str:
    return (
        f"A device takes part in {float(collection.sample):.4g} of all epochs, by a coin of its own; a fake one in "
        "all.\nReports are fewer, and none of them tells less: whoever sees reports sees who is silent."
    )


def _spent(collection: Collection) -> Iterator[str]:
    budget = collection.budget
    spent = sum(float(metric.epsilon) for metric in collection.metrics.values())
    yield f"\nA device spends at most {spent:.4g} an epoch, of a budget of {float(budget.epoch):.4g}."
    if delta := sum(float(metric.kind.delta) for metric in collection.metrics.values()):
        epoch, ever = float(budget.epoch_delta), float(budget.lifetime_delta)
        yield f"Its deltas add up to {delta:g} an epoch, of a budget of {epoch:g}, and {ever:g} ever."


def _print_json(collection: Collection, every: Expected, found: Sequence[str], devices: int | None) -> None:
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
            "widths": [plain(own) for own in every.get(metric.name, ())],
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
                "sample": float(collection.sample),
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
