"""`deniable check`: what a collection asks, what it costs, what is unwise about it."""

from __future__ import annotations

from typing import Any

from deniable import Collection
from deniable_aggregator.commands._command import command
from deniable_aggregator.commands.diff import sentences

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable check` to the commands, with its options."""
    parser = command(commands, "check", run, "what a collection asks, what it costs, what is unwise", "metrics.toml")
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument("--against", metavar="OLD", help="the version before it: what is new, and what breaks")


def run(options: Any) -> None:
    """Run `deniable check` with the options that were given."""
    from deniable import linkage
    from deniable_aggregator.planning.check import composed, findings, linked, reasons
    from deniable_aggregator.planning.leverage import gain
    from deniable_aggregator.planning.update import review
    from deniable_aggregator.telling.terminal import table

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
    named = f"{collection.name}, version {collection.version}, digest {collection.digest:016x}"
    print(f"{named}, an epoch is {collection.epoch_seconds // 3600} h\n")
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
    if options.against:
        old = Collection.load(options.against)
        print(f"\nBeside version {old.version} ({old.digest:016x}):")
        print("\n".join(sentences(review(old, collection))))
