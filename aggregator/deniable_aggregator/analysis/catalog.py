"""The catalog: the collections that an aggregator knows, and what goes on from one version of them to the next.

words:
  version   one of several collections of a name: fleets upgrade over weeks, and all of it is counted. The newest is
            the one whose file says the greatest number, whatever the file is called
  joined    metrics of several versions that have one identity: their reports mean the same, and are added up
  home      the newest version that has a metric of an identity: there it is answered, and nowhere else

Where a metric has changed, what devices with older versions report stays apart: it is answered under the title of the
newest version that asked it so.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from deniable import Collection, Metric
from deniable_aggregator.caller import READ, NotPermittedError, may, named

__all__ = ["NOWHERE", "Catalog", "NotKnownError", "Place", "parts", "segments_of"]


class NotKnownError(LookupError):
    """A collection, metric or segment that the aggregator does not have."""


class Place(NamedTuple):
    """Where the answer of a metric stands among those of its name."""

    title: str
    """The collection that it is answered in."""
    since: int
    """The version since which it is asked so, without another in between."""
    earlier: str
    """The title under which it is answered as it was asked before; empty where it was not, in any served version."""
    later: str
    """The title under which it is answered as it was asked afterwards; empty where it was not."""


NOWHERE = Place("", 0, "", "")
"""Of an answer that is made without a catalog."""


class Catalog:
    """Collections by digest and by name; of several versions a name means the newest."""

    def __init__(self, collections: Iterable[Collection]) -> None:
        self.replace(collections)

    def replace(self, collections: Iterable[Collection]) -> None:
        """Know these collections, and no others; of several with one digest the newest, of one version the last."""
        by_version = sorted(collections, key=lambda own: own.version)
        self._served = {own.digest: own for own in by_version}
        self._newest = {own.name: own for own in by_version}
        self._homes = {
            (own.name, identity): own
            for own in sorted(self._served.values(), key=self._rank)
            for identity in own.identities.values()
        }
        answered = {digest: self._cut(own) for digest, own in self._served.items()}
        self._answered = {digest: own for digest, own in answered.items() if own.metrics}

    def _cut(self, collection: Collection) -> Collection:
        """A version with those of its metrics that it is the home of."""
        own = {
            name: metric
            for name, metric in collection.metrics.items()
            if self._homes[collection.name, collection.identities[name]] is collection
        }
        whole = len(own) == len(collection.metrics)
        return collection if whole else replace(collection, metrics=MappingProxyType(own))

    def served(self) -> list[Collection]:
        """All that devices may have, by name, the newest version first."""
        return self._in_order(self._served.values())

    def collections(self) -> list[Collection]:
        """Those that something is answered in and that the caller may read, with those of their metrics, by name, the
        newest version first."""
        return self._in_order(own for own in self._answered.values() if may(READ, own.name))

    def _in_order(self, collections: Iterable[Collection]) -> list[Collection]:
        newest_first = sorted(collections, key=self._rank, reverse=True)
        return sorted(newest_first, key=lambda own: own.name)

    def collection(self, name: str) -> Collection:
        """The collection of a name, a digest in hexadecimal, or both as `title` has them; "" means the only one.

        A version of which all metrics go on in newer ones means the newest. Of what the caller may not
        read nothing is told, nor whether there is such a collection.
        """
        newest = {own: each for own, each in self._newest.items() if may(READ, own)}
        if not name and len(newest) == 1:
            (name,) = newest
        if not name and newest:
            raise NotKnownError(f"there are several collections, name one of them: {', '.join(sorted(newest))}")
        if name in newest:
            return newest[name]
        for digest, collection in self._served.items():
            if collection.name in newest and name in {f"{digest:016x}", f"{collection.name}@{digest:016x}"}:
                return self._answered.get(digest, newest[collection.name])
        if named(READ) is not None:
            raise NotPermittedError("this token is not good for reading that collection")
        raise NotKnownError(_unknown("collection", name, newest))

    def version(self, digest: int) -> Collection:
        """The version of a digest, with all its metrics; a KeyError where it is not served."""
        return self._served[digest]

    def title(self, collection: Collection) -> str:
        """A name that no other has: of several versions, all but the newest tell their digest."""
        newest = self._newest[collection.name].digest == collection.digest
        return collection.name if newest else f"{collection.name}@{collection.digest:016x}"

    def metric(self, collection: Collection, name: str) -> Metric:
        """A metric of a collection."""
        if name in collection.metrics:
            return collection.metrics[name]
        if name in collection.identities:  # of the version, which is not its home
            home = self._homes[collection.name, collection.identities[name]]
            raise NotKnownError(f"{name!r} goes on in a newer version: it is answered in {self.title(home)!r}")
        raise NotKnownError(_unknown("metric", name, collection.metrics))

    def joined(self, collection: Collection) -> tuple[Collection, ...]:
        """The versions whose counters its answers are made of, the newest first: all that share a metric with it."""
        wanted = {collection.identities[name] for name in collection.metrics}
        own = [each for each in self._served.values() if each.name == collection.name]
        shared = [each for each in own if wanted & {*each.identities.values()}]
        return tuple(self._in_order(shared)) or (collection,)

    def place(self, collection: Collection, name: str) -> Place:
        """Where a metric's answer stands among those of its name; a collection that was just replaced has none."""
        if collection.digest not in self._served:
            return NOWHERE
        identity = collection.identities[name]
        own = [each for each in self._served.values() if each.name == collection.name and name in each.identities]
        asking = [each for each in self._in_order(own) if each.identities[name] == identity]
        others = [each for each in self._in_order(own) if each.identities[name] != identity]
        after = [each for each in others if self._rank(each) > self._rank(asking[0])]
        before = [each for each in others if self._rank(each) < self._rank(asking[0])]
        unbroken = [each for each in asking if not before or self._rank(each) > self._rank(before[0])]
        return Place(
            self._told_at(asking[0], name),
            unbroken[-1].version,
            self._told_at(before[0], name) if before else "",
            self._told_at(after[-1], name) if after else "",
        )

    def _told_at(self, collection: Collection, name: str) -> str:
        """The title under which a version's metric is answered."""
        return self.title(self._homes[collection.name, collection.identities[name]])

    def _rank(self, collection: Collection) -> tuple[int, bool]:
        return collection.version, self._newest[collection.name].digest == collection.digest


def parts(versions: Iterable[Collection], collection: Collection, metric: Metric) -> list[tuple[int, Metric]]:
    """The places of the versions that have a metric of the same identity, each with its own columns' numbers."""
    identity = collection.identities[metric.name]
    return [
        (place, own.metrics[metric.name])
        for place, own in enumerate(versions)
        if own.identities.get(metric.name) == identity
    ]


def segments_of(collection: Collection, wanted: Mapping[str, str]) -> list[int]:
    """The indices of all combinations that have the wanted values, in order."""
    for name, value in wanted.items():
        if value not in collection.segments.get(name, ()):
            known = ", ".join(f"{key}={'|'.join(values)}" for key, values in collection.segments.items())
            raise NotKnownError(f"no segment {name}={value}; known: {known or 'none'}")
    choices = [(wanted[name],) if name in wanted else values for name, values in collection.segments.items()]
    return sorted(
        collection.segment_index(dict(zip(collection.segments, combination, strict=True)))
        for combination in itertools.product(*choices)
    )


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"no {what} {name!r}; " + (f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}")
