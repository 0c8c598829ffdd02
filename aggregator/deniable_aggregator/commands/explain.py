"""`deniable explain`: what somebody learns of a device by its answers, in words, as a picture, and as formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable import Collection
from deniable_aggregator.commands._command import command, part, positive

if TYPE_CHECKING:
    from deniable_aggregator.telling.explaining import Explanation

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add `deniable explain` to the commands, with its options."""
    what = "what somebody learns of a device by its answers, in one epoch, in a year, whoever looks"
    parser = command(commands, "explain", run, what, "metrics.toml dark_mode --prior 2%")
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument("metric", nargs="?", metavar="METRIC", help="one of its metrics, in full (all, in short)")
    parser.add_argument(
        "--prior",
        type=part,
        default=0.02,
        help="what was held the chance of an answer before, such as 2%% or 0.02",
    )
    parser.add_argument("--devices", type=positive, help="how many there are, of which a shuffler would mix reports")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: Any) -> None:
    """Run `deniable explain` with the options that were given."""
    import json

    from deniable_aggregator.planning.update import DAYS
    from deniable_aggregator.telling.explaining import FORMULAS, explained, together
    from deniable_aggregator.telling.terminal import explanation

    collection = Collection.load(options.collection)
    year = DAYS * 86400 // collection.epoch_seconds
    if options.metric:
        found = explained(collection, collection.metric(options.metric), year, options.prior, options.devices)
    else:
        found = together(collection, year, options.prior)
    if options.json:
        whose = {"collection": collection.name, "version": collection.version, "digest": f"{collection.digest:016x}"}
        print(json.dumps(whose | plain(found) | {"formulas": FORMULAS}, indent=2, ensure_ascii=False))
    else:
        print(explanation(found, FORMULAS))


def plain(found: Explanation) -> dict[str, Any]:
    """An explanation, for programs."""
    parts = [part._asdict() | {"steps": [step._asdict() for step in part.steps]} for part in found.parts]
    return found._asdict() | {"parts": parts}
