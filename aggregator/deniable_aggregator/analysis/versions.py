"""What a collection's next version changes: which metrics are new, gone, changed, or only worded anew.

words:
  changed   of a metric: its reports mean something else than before, so that its history is cut; told by the keys
            of the file that say so
  worded    of a metric: only the words have changed that it is asked in; its reports are added to those of before
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniable import Collection, Metric
from deniable.collection import meaning

__all__ = ["Update", "reloaded"]

_NAMED = {"count": {"unit": "privacy_unit", "counted": "unit"}}
"""Parameters that a file calls otherwise."""


@dataclass(frozen=True, slots=True)
class Update:
    """From one collection to another one of its name: metrics by name."""

    added: tuple[str, ...]
    gone: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]]
    """Each with the keys of the file that it is changed by."""
    worded: tuple[str, ...]

    @classmethod
    def of(cls, old: Collection, new: Collection) -> Update:
        """What another collection has in place of one."""
        both = [name for name in new.metrics if name in old.metrics]
        same = [name for name in both if old.identities[name] == new.identities[name]]
        return cls(
            tuple(name for name in new.metrics if name not in old.metrics),
            tuple(name for name in old.metrics if name not in new.metrics),
            {name: _keys(old, new, name) for name in both if name not in same},
            tuple(name for name in same if old.metrics[name].description != new.metrics[name].description),
        )

    def told(self) -> str:
        """The same in words; empty where there is nothing to say."""
        changed = [f"{name} ({', '.join(keys)})" for name, keys in self.changed.items()]
        said = (("added", self.added), ("gone", self.gone), ("changed", changed), ("worded anew", self.worded))
        return "; ".join(f"{what} {', '.join(names)}" for what, names in said if names)


def _keys(old: Collection, new: Collection, name: str) -> tuple[str, ...]:
    """The keys by which a metric's reports mean something else."""
    one, other = old.metrics[name], new.metrics[name]
    keys = []
    if old.epoch_seconds != new.epoch_seconds:
        keys.append("epoch")
    if dict(old.segments) != dict(new.segments):
        keys.append("segments")
    if old.sample != new.sample:
        keys.append("sample")
    keys += _differing(_said(one), _said(other))
    if not keys and one.instantaneous != other.instantaneous:
        keys.append("instantaneous_epsilon")
    return tuple(keys) or ("mechanism",)  # drawn otherwise, by what follows from the same keys


def _said(metric: Metric) -> dict[str, Any]:
    """What a metric's own keys say, as far as it gives its reports their meaning."""
    told = meaning(metric, worded=False)
    named = _NAMED.get(metric.kind.name, {})
    return {
        "kind": metric.kind.name,
        "revision": metric.revision,
        **{key: told[key] for key in ("epsilon", "reduce", "memoize", "remembered_answers")},
        **{named.get(key, key): value for key, value in told["parameters"].items()},
        **({"of": told["of"]} if "of" in told else {}),
        "mechanism": metric.mechanism,
    }


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    if "kind" in keys:
        return ["kind"]
    return [key for key in keys if key != "mechanism"] or keys  # which follows from the others


def reloaded(before: Sequence[Collection], after: Sequence[Collection]) -> list[str]:
    """What is served otherwise than before, in sentences: what came and went, and what the newest have changed."""
    had, have = {own.digest for own in before}, {own.digest for own in after}
    said = [f"{_called(own)} is served" for own in after if own.digest not in had]
    said += [f"{_called(own)} is no longer served" for own in before if own.digest not in have]
    days = {own.digest: own.retired for own in before}
    said += [_ended(own) for own in after if own.retired != days.get(own.digest)]
    was, now = _newest(before), _newest(after)
    for name in now:
        if name in was and (told := Update.of(was[name], now[name]).told()):
            said.append(f"{name}: {told}")
    return said


def _ended(collection: Collection) -> str:
    when = f"is retired from {collection.retired} on" if collection.retired else "is not retired any more"
    return f"{_called(collection)} {when}"


def _called(collection: Collection) -> str:
    return f"{collection.name} version {collection.version} ({collection.digest:016x})"


def _newest(collections: Iterable[Collection]) -> dict[str, Collection]:
    """By name; those that come first, as the catalog has them."""
    found: dict[str, Collection] = {}
    for own in collections:
        found.setdefault(own.name, own)
    return found
