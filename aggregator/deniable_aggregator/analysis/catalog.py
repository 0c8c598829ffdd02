"""The catalog: the collections that an aggregator knows.

words:
  version   collections of one name with different digests: fleets upgrade over weeks, and all of it is counted
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping

from deniable import Collection, Metric

__all__ = ["Catalog", "NotKnownError", "segments_of"]


class NotKnownError(LookupError):
    """A collection, metric or segment that the aggregator does not have."""


class Catalog:
    """Collections by digest and by name; of several versions a name means the one that was given last."""

    def __init__(self, collections: Iterable[Collection]) -> None:
        self.replace(collections)

    def replace(self, collections: Iterable[Collection]) -> None:
        """Know these collections, and no others."""
        self._by_digest = {collection.digest: collection for collection in collections}
        self._by_name = {collection.name: collection for collection in self._by_digest.values()}

    def collections(self) -> list[Collection]:
        """All of them, by name."""
        return sorted(self._by_digest.values(), key=lambda collection: collection.name)

    def collection(self, name: str) -> Collection:
        """The collection of a name, a digest in hexadecimal, or both as `title` has them; "" means the only one."""
        if not name and len(self._by_digest) == 1:
            return next(iter(self._by_digest.values()))
        if name in self._by_name:
            return self._by_name[name]
        for digest, collection in self._by_digest.items():
            if name in {f"{digest:016x}", f"{collection.name}@{digest:016x}"}:
                return collection
        raise NotKnownError(_unknown("collection", name, self._by_name))

    def title(self, collection: Collection) -> str:
        """A name that no other has: of several versions, all but the one that was given last tell their digest."""
        newest = self._by_name[collection.name] is collection
        return collection.name if newest else f"{collection.name}@{collection.digest:016x}"

    def metric(self, collection: Collection, name: str) -> Metric:
        """A metric of a collection."""
        if name not in collection.metrics:
            raise NotKnownError(_unknown("metric", name, collection.metrics))
        return collection.metrics[name]


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
