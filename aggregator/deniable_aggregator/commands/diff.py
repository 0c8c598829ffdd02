"""`deniable diff`: what a new version of a collection asks more, costs more and breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable import Collection
from deniable_aggregator.commands._command import command

if TYPE_CHECKING:
    from deniable_aggregator.planning.update import Review

__all__ = ["add", "sentences"]


def add(commands: Any) -> None:
    """Add `deniable diff` to the commands, with its options."""
    what = "what a new version of a collection asks more, costs more and breaks; 1 where it breaks something"
    parser = command(commands, "diff", run, what, "old.toml new.toml")
    parser.add_argument("old", metavar="OLD", help="a collection file")
    parser.add_argument("new", metavar="NEW", help="the one that is to take its place")
    parser.add_argument("--strict", action="store_true", help="1 also where words changed and the revision did not")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: Any) -> int:
    """Run `deniable diff` with the options that were given."""
    import json

    from deniable_aggregator.planning.update import review

    old, new = Collection.load(options.old), Collection.load(options.new)
    found = review(old, new)
    if options.json:
        told = {
            side: {"name": own.name, "version": own.version, "digest": f"{own.digest:016x}"}
            for side, own in (("old", old), ("new", new))
        }
        print(json.dumps(told | found.plain(), indent=2, ensure_ascii=False))
    else:
        print(f"{old.name} version {old.version} ({old.digest:016x}), version {new.version} ({new.digest:016x})\n")
        print("\n".join(sentences(found)))
    return int(bool(found.breaks or (options.strict and found.doubts)))


def sentences(found: Review) -> list[str]:
    """What there is to say, a line each."""
    before, after = found.costs
    lines = [
        *(f"+ asks {each}" for each in found.more),
        *(f"! {each}" for each in found.breaks),
        *(f"? {each}" for each in found.doubts),
    ]
    costs = (
        f"A device spends at most {before.epoch:.4g} an epoch, now {after.epoch:.4g}; "
        f"on fresh answers {before.year:,.4g} a year, now {after.year:,.4g}"
    )
    if before.once or after.once:
        costs += f"; on remembered ones {before.once:,.4g} ever, now {after.once:,.4g}"
    return [*(lines or ["Nothing that is asked has changed."]), "", f"{costs}.", found.devices]
