"""`deniable audit`: epsilon, measured from what is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable import Collection
from deniable_aggregator.commands._command import UsageError, command, positive

if TYPE_CHECKING:
    from deniable_aggregator.planning.audit import Finding

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable audit` to the commands, with its options."""
    parser = command(
        commands, "audit", run, "epsilon, measured from what is sent, beside what is claimed", "metrics.toml"
    )
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument("--reports", type=positive, default=200_000, help="of each of two answers (%(default)s)")
    parser.add_argument("--metric", default="", help="only this metric")


def run(options: Any) -> None:
    """Run `deniable audit` with the options that were given."""
    from deniable_aggregator.planning.audit import audit
    from deniable_aggregator.telling.terminal import Progress, table

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
        raise UsageError(f"{len(broken)} of {len(found)} claims are disproved: {', '.join(broken)}")
