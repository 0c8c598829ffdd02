"""What a new version of a collection asks more, costs more and breaks, for who is about to ship it.

words:
  break   something that ends with the new version: a metric's history, or that both are served, this one as the newer
  doubt   something that only its author can know: whether new words still mean the same
  year    `DAYS` days
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from deniable import Collection, Metric
from deniable.epsilon import Epsilon
from deniable_aggregator.analysis.versions import Update

__all__ = ["DAYS", "Cost", "Review", "lasts", "review"]

DAYS = 365


class Cost(NamedTuple):
    """The most epsilon that a device spends on a collection's metrics, but for its budgets."""

    epoch: float
    """In one epoch."""
    year: float
    """On answers that are drawn afresh, in a year of epochs."""
    once: float
    """On answers that are remembered, however long it answers."""

    @classmethod
    def of(cls, collection: Collection) -> Cost:
        """What a collection costs."""
        metrics = list(collection.metrics.values())
        fresh = sum(float(metric.epsilon) for metric in metrics if not metric.memoize)
        once = sum(float(metric.epsilon) * metric.recalled for metric in metrics if metric.memoize)
        every = sum(float(metric.epsilon) for metric in metrics)
        return cls(every, fresh * DAYS * 86400 / collection.epoch_seconds, once)


@dataclass(frozen=True, slots=True)
class Review:
    """What is to be said of a new version, beside the old one."""

    update: Update
    more: tuple[str, ...]
    """What is asked more."""
    costs: tuple[Cost, Cost]
    """Before and after."""
    breaks: tuple[str, ...]
    doubts: tuple[str, ...]
    devices: str
    """What becomes of devices that have the old version."""

    def plain(self) -> dict[str, Any]:
        """The same in plain JSON."""
        before, after = self.costs
        return {
            "added": list(self.update.added),
            "gone": list(self.update.gone),
            "changed": {name: list(keys) for name, keys in self.update.changed.items()},
            "worded": list(self.update.worded),
            "cost": {"before": before._asdict(), "after": after._asdict()},
            "breaks": list(self.breaks),
            "doubts": list(self.doubts),
            "devices": self.devices,
        }


def review(old: Collection, new: Collection) -> Review:
    """Look at a new version beside the old one."""
    update = Update.of(old, new)
    more = tuple(_asked(new.metrics[name]) for name in update.added)
    ends = tuple(_ended(old, new))
    breaks = (*_unserved(old, new), *_cut(old, new, update), *ends, *_silent(old, new))
    return Review(
        update,
        more,
        (Cost.of(old), Cost.of(new)),
        breaks,
        tuple(_doubts(old, new, update)),
        _devices(old, new, update, until=" until then" if ends else ""),
    )


def _asked(metric: Metric) -> str:
    return f"{metric.name} ({metric.kind.name}, epsilon {metric.epsilon}): {metric.description}"


def _unserved(old: Collection, new: Collection) -> Iterator[str]:
    """Why, where both are served, the new one is not known as the newer."""
    if old.name != new.name:
        yield f"it is called {new.name}, not {old.name}: another collection, with which nothing goes on"
    elif old.digest != new.digest and old.version >= new.version:
        so = (
            "both can not be served" if old.version == new.version else "where both are served it counts as the older"
        )
        yield (
            f"its version is {new.version}, which is not newer than {old.version}: {so}; "
            f"say version = {old.version + 1} in [collection]"
        )


def _cut(old: Collection, new: Collection, update: Update) -> Iterator[str]:
    """What ends, metric by metric."""
    for name in update.gone:
        yield f"{name}: is no longer asked; what older devices report of it is in {_title(old)}"
    for name, keys in update.changed.items():
        again = ""
        if new.metrics[name].memoize and {*keys} - {"epoch", "segments", "sample", "instantaneous_epsilon"}:
            answers, epsilon = new.metrics[name].recalled, float(new.metrics[name].epsilon)
            again = f"; devices remember it anew, and spend up to {answers * epsilon:.4g} on it again"
        elif keys == ("instantaneous_epsilon",) and old.metrics[name].instantaneous:
            again = f"; with instantaneous_epsilon = {_written(old.metrics[name].instantaneous)} it goes on"
        yield (
            f"{name}: means something else ({', '.join(keys)}): its answers begin anew, those of older devices are "
            f"in {_title(old)}{again}"
        )


def _ended(old: Collection, new: Collection) -> Iterator[str]:
    """What is asked for less long than before."""
    if new.retired and (old.retired is None or new.retired < old.retired):
        yield f"it is retired from {new.retired} on: nothing of a later epoch is asked, or taken where it is served"
        return
    for name, metric in new.metrics.items():
        before = old.metrics[name].expires if name in old.metrics else metric.expires
        if metric.expires and (before is None or metric.expires < before):
            yield (
                f"{name}: ends on {metric.expires} (before: {before or 'never'}): devices with this file do not "
                "answer it from then on"
            )


def lasts(collection: Collection) -> Fraction | None:
    """For how many epochs of answers a lifetime's budget lasts; None: for ever."""
    budget, metrics = collection.budget.lifetime, collection.metrics.values()
    fresh = sum((metric.epsilon.value for metric in metrics if not metric.memoize), Fraction(0))
    if budget is None or not fresh:
        return None
    once = sum((metric.recalled * metric.epsilon.value for metric in metrics), Fraction(0))
    return Fraction(max(budget - once, Fraction(0)) // fresh)


def _silent(old: Collection, new: Collection) -> Iterator[str]:
    """Whether devices will have nothing left to spend sooner than before."""
    before, after = (_days(own) for own in (old, new))
    if after is not None and (before is None or after < before):
        known = "for ever" if before is None else f"{before:,.4g}"
        yield (
            f"a lifetime's budget lasts for {after:,.4g} days of answers (before: {known}), then devices are silent: "
            "ask less, or raise [budget] lifetime"
        )


def _days(collection: Collection) -> float | None:
    epochs = lasts(collection)
    return None if epochs is None else float(epochs * collection.epoch_seconds / collection.sample) / 86400


def _written(epsilon: Epsilon | None) -> str:
    """As a file says it."""
    return f'"{epsilon}"' if str(epsilon).startswith("ln") else str(epsilon)


def _doubts(old: Collection, new: Collection, update: Update) -> Iterator[str]:
    """What nobody else can know."""
    for name in update.worded:
        before, after = (own.metrics[name] for own in (old, new))
        yield (
            f"{name}: is worded anew, {before.description!r} is now {after.description!r}, and goes on; "
            f"if that means something else, say revision = {after.revision + 1}"
        )


def _devices(old: Collection, new: Collection, update: Update, until: str) -> str:
    """What becomes of devices that have the old version."""
    if old.digest == new.digest:
        return f"Devices with the old version and with the new one report the same{until}."
    if old.name != new.name:
        return "Devices with the old one go on reporting where it is served, too."
    same = len(old.metrics) - len(update.gone) - len(update.changed)
    apart = len(update.gone) + len(update.changed)
    return (
        "Devices with the old version go on reporting for as long as its file is served, too: "
        f"{same} of their metrics are added to the same answers"
        + (f", {apart} are answered apart." if apart else ".")
    )


def _title(old: Collection) -> str:
    return f"{old.name}@{old.digest:016x}"
