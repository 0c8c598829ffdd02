"""`deniable plan`: what a fleet will tell of a collection, before there is a device; or what a width takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable import Collection
from deniable_aggregator.commands import _widths
from deniable_aggregator.commands._command import UsageError, command, part

if TYPE_CHECKING:
    from deniable_aggregator.planning.needed import Needed
    from deniable_aggregator.planning.plan import Plan, Question, Turned
    from deniable_aggregator.planning.population import Fleet
    from deniable_aggregator.planning.widths import Width
    from deniable_aggregator.telling.plots import Panel

__all__ = ["add"]

_WANTED = 0.01
_AT = {"devices": "{} devices", "epsilon": "epsilon {}"}


def add(commands: Any) -> None:
    """Add `deniable plan` to the commands, with its options."""
    what = "what a fleet will tell, what that takes, and what changes can be seen, before there is a device"
    parser = command(commands, "plan", run, what, "metrics.toml --devices 10000")
    parser.add_argument("collection", metavar="COLLECTION", help="a collection file")
    parser.add_argument("metric", nargs="?", metavar="METRIC", help="one of its metrics, in full (all, in short)")
    _widths.add_fleet(parser, "how many devices there will be")
    parser.add_argument(
        "--width", type=part, default=_WANTED, metavar="PART",
        help="half of an interval, in parts of what is possible, that devices are wanted for (1%%)",
    )  # fmt: skip
    parser.add_argument(
        "--for", type=part, dest="wanted", metavar="PART",
        help="turned round: which devices, and of --devices which epsilon, such a half takes",
    )  # fmt: skip
    parser.add_argument("--plot", metavar="FILE", help="the curves, as FILE.svg or a page FILE.html")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: Any) -> int:
    """Run `deniable plan` with the options that were given."""
    if not options.devices and not options.wanted:
        raise UsageError("how many devices will there be? --devices N; or what is wanted: --for 1%")
    if options.plot and not options.plot.endswith((".svg", ".html")):
        raise UsageError(f"--plot takes a FILE.svg or a FILE.html, not {options.plot!r}")
    if options.plot and not options.devices:
        raise UsageError("--plot goes with --devices N: where on the curves a collection is")
    collection = Collection.load(options.collection)
    names = [collection.metric(options.metric).name] if options.metric else []
    has = _widths.fleets(collection, options)
    return _turned(collection, names, has, options) if options.wanted else _planned(collection, names, has, options)


def _turned(collection: Collection, names: Sequence[str], has: Mapping[str, Fleet], options: Any) -> int:
    """Tell the question turned round."""
    from deniable_aggregator.planning.plan import turned
    from deniable_aggregator.telling.terminal import table

    found = turned(collection, options.wanted, options.devices, has, names)
    many = f"of {options.devices:,} devices" if options.devices else ""
    header = ("metric", "row", "epsilon", "devices that it takes", *((f"epsilon, {many}",) if many else ()))
    rows = [
        (own.metric.name, own.row.key if own.row else "–", str(own.metric.epsilon), _needed(own.devices),
         *((_needed(own.epsilon),) if many else ()))
        for own in found
    ]  # fmt: skip
    text = (
        f"What it takes to tell the widest row to ±{100 * options.wanted:g}% of what is possible{_of(options)}.\n\n"
        f"{table(header, rows, (False, False, True, True, True)[: len(header)])}\n\n"
        "–: nothing is enough, or the row has no end of which that could be a part."
    )
    if options.json:
        _print_json(collection, {"wanted": options.wanted, "devices": options.devices,
                                 "metrics": [_plain_turned(own) for own in found]})  # fmt: skip
    else:
        print(text)
    if options.plot:
        _plot(collection, list(_panels(collection, names, has, options)), options, text)
    return 0


def _planned(collection: Collection, names: Sequence[str], has: Mapping[str, Fleet], options: Any) -> int:
    """Tell the plan; 1 where it refuses."""
    from deniable_aggregator.planning.plan import plan

    found = plan(collection, options.devices, options.width, has, names)
    text = "\n".join(_lines(collection, found, options))
    in_full = bool(options.metric) and not options.json
    panels = list(_panels(collection, names, has, options)) if in_full or options.plot else []
    if options.json:
        _print_json(collection, _plain(found))
    else:
        print(text)
    if in_full:
        from deniable_aggregator.telling.plots import plotted

        print("".join(f"\n{plotted(panel)}\n" for panel in panels), end="")
    if options.plot:
        _plot(collection, panels, options, text)
    return int(bool(found.refused))


def _of(options: Any) -> str:
    return "" if not options.truth else ", of devices as the truth file says"


def _lines(collection: Collection, found: Plan, options: Any) -> Iterator[str]:
    from deniable_aggregator.telling.terminal import table

    fleet = "as the truth file says" if options.truth else "whose values are spread evenly"
    drawn = f" (about {round(found.devices * collection.sample):,} report)" if collection.sample < 1 else ""
    yield f"{collection.name}, version {collection.version}: {found.devices:,} devices{drawn}, {fleet}."
    yield "Half of a 95% interval; and the least change between two epochs that is seen at 5%, eight times in ten.\n"
    questions = {own.metric.name: own for own in found.questions}

    def change(name: str, own: Width) -> str:
        from deniable_aggregator.telling import digits

        seen = questions[name].changes.get(own.where)
        if not seen:
            return "–"
        return digits.half(seen.change, own.heading).removeprefix("±") if seen.change < own.whole else "none"

    rows = list(_widths.told({name: own.widths for name, own in questions.items()}, change))
    yield table(("answer", "half width", "change seen"), rows, (False, False, False))
    yield ""
    wanted = f"devices for ±{100 * found.wanted:g}%"
    header = ("metric", "asked by", "its widest row", "what others would give", "one fake", "over ten", wanted)
    yield table(header, [_question(own) for own in found.questions], (False, False, False, False, True, True, True))
    yield ""
    yield from _load(collection, found)
    for sentence in found.refused:
        yield f"- {sentence}"


def _question(own: Question) -> tuple[str, ...]:
    from deniable_aggregator.telling import digits

    def told(half: float) -> str:
        assert own.worst is not None
        return digits.half(half, own.worst.heading)

    others = ", ".join(f"{other.mechanism} {told(other.half)}" for other in own.others)
    row = f"{own.worst.where.key} {told(own.worst.half)}" if own.worst else "–"
    asked = own.metric.mechanism
    over_ten = "–" if own.gain_of_ten is None else f"{own.gain_of_ten:,.3g}"
    return own.metric.name, asked, row, others or "–", f"{own.gain:,.3g}", over_ten, _needed(own.devices)


def _load(collection: Collection, found: Plan) -> Iterator[str]:
    """What the whole takes, in sentences."""
    from deniable_aggregator.planning.load import VISIT

    own, (least, most) = found.load, found.load.processors
    yield (
        f"Calls of a device: {own.calls:.3g} a day, of {own.message:,} bytes each, besides the connection. "
        f"The fleet sends {_size(own.fleet_bytes)} a day."
    )
    yield (
        f"The store keeps {own.counters:,} counters an epoch, of {own.epochs:,} epochs {_size(own.store)}, and "
        f"{_size(own.ids)} of ids; what its server needs for their names is not counted."
    )
    yield (
        f"It takes {100 * least:.3g}% to {100 * most:.3g}% of a processor ({VISIT.of}: "
        f"{VISIT.least:g} to {VISIT.most:,.0f} µs, {VISIT.source})."
    )
    if collection.segment_count > 1:
        parts = collection.segment_count
        yield f"A segment that has one in {parts} of the devices is told about {parts**0.5:.3g} times as wide."


def _size(size: float) -> str:
    for unit, power in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= power:
            return f"{size / power:.3g} {unit}"
    return f"{size:.0f} bytes"


def _needed(own: Needed | None) -> str:
    if own is None or own.least is None:
        return "–"
    return (f"{own.least:,.0f}" if own.least >= 1_000 else f"{own.least:g}") + ("" if own.ordered else " (about)")


def _panels(collection: Collection, names: Sequence[str], has: Mapping[str, Fleet], options: Any) -> Iterator[Panel]:
    from deniable_aggregator.planning.plan import curves
    from deniable_aggregator.telling.plots import Panel

    for name in names or collection.metrics:
        found = curves(collection, collection.metrics[name], options.devices, has.get(name))
        for across, curve in zip(("devices", "epsilon"), found or (), strict=False):
            if curve is not None and curve.points:
                yield Panel(f"{name} against {across}", across, curve.points, curve.here, _AT[across])


def _plot(collection: Collection, panels: Sequence[Panel], options: Any, text: str) -> None:
    from pathlib import Path

    from deniable_aggregator.telling.plots import page, svg

    title = f"How wide the answers of {collection.name} will be"
    made = svg(panels, title) if options.plot.endswith(".svg") else page(panels, title, text)
    Path(options.plot).write_text(made, encoding="utf-8")


def _print_json(collection: Collection, more: Mapping[str, Any]) -> None:
    import json

    whose = {"collection": collection.name, "version": collection.version, "digest": f"{collection.digest:016x}"}
    print(json.dumps({**whose, **more}, indent=2, ensure_ascii=False))


def _plain(found: Plan) -> dict[str, Any]:
    return {
        "devices": found.devices,
        "wanted": found.wanted,
        "metrics": [_plain_question(own) for own in found.questions],
        "load": found.load._asdict(),
        "refused": list(found.refused),
    }


def _plain_question(own: Question) -> dict[str, Any]:
    changes = {where: seen._asdict() for where, seen in own.changes.items()}
    return {
        "name": own.metric.name,
        "kind": own.metric.kind.name,
        "mechanism": own.metric.mechanism,
        "epsilon": float(own.metric.epsilon),
        "one_fake": own.gain,
        "one_fake_over_ten": own.gain_of_ten,
        "rows": [{**_widths.plain(row), "seen": changes.get(row.where)} for row in own.widths],
        "widest": own.worst and own.worst.where._asdict(),
        "others": [
            {"mechanism": each.mechanism, "half_width": each.half, "one_fake_over_ten": each.gain_of_ten}
            for each in own.others
        ],
        "devices": _plain_needed(own.devices),
    }


def _plain_turned(own: Turned) -> dict[str, Any]:
    return {
        "name": own.metric.name,
        "row": own.row and own.row._asdict(),
        "epsilon": float(own.metric.epsilon),
        "devices_needed": _plain_needed(own.devices),
        "epsilon_needed": _plain_needed(own.epsilon),
    }


def _plain_needed(own: Needed | None) -> dict[str, Any] | None:
    return None if own is None else own._asdict()
