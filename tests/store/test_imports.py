"""Claims: all of a file's or none, and nobody else's."""

from __future__ import annotations

import time

from deniable_aggregator.store import Claim, EpochKey
from support.aggregator_store import Fresh, Place, additions, admission, batch_ids, fresh_key, window_of

ONE, OTHER = b"1" * 16, b"2" * 16
LATER = int(time.time()) + 5000


def claims(digest: int, *epochs: int, origins: tuple[bytes, ...] = (ONE,)) -> dict[EpochKey, Claim]:
    """What a file brings."""
    return {EpochKey(digest, epoch): Claim(origins, LATER) for epoch in epochs}


def test_a_file_claims_all_or_nothing(here: Place) -> None:
    """Again and again; where another one has some of it, it is told of these, and has nothing."""
    imports, digest = here.store.imports, fresh_key().digest
    assert here.run(imports.claim(b"first", claims(digest, 1, 2))) == {}
    assert here.run(imports.claim(b"first", claims(digest, 1, 2))) == {}
    held = here.run(imports.claim(b"second", claims(digest, 2, 3)))
    assert held == {EpochKey(digest, 2): b"first"}
    assert here.run(imports.origins(EpochKey(digest, 3))) == []
    assert here.run(imports.claim(b"second", claims(digest, 2, 3, origins=(OTHER,)))) == {}
    assert here.run(imports.origins(EpochKey(digest, 2))) == [ONE, OTHER]
    with here.raw() as server:
        (name,) = server.keys(f"deniable:*:origins:{digest:016x}.3")
        assert server.expiretime(name) == LATER


def test_a_parcel_is_added_once_for_as_long_as_its_counters_are_kept(here: Place) -> None:
    """Also where ids of batches have been forgotten."""
    key = fresh_key()
    parcel = admission(batch_ids(), remember=1, keep=5000)
    added = additions({key: {3: 2}})
    assert here.run(here.store.merge(window_of(key), parcel, added))
    with here.raw() as server:
        server.delete(*server.keys(f"deniable:*:seen:{key.digest:016x}.*"))
        (name,) = server.keys(f"deniable:*:imported:{key.digest:016x}.*")
        assert server.ttl(name) > 5000
    assert not here.run(here.store.merge(window_of(key), parcel, added))
    (counters,) = here.run(here.store.read([key]))
    assert counters is not None
    assert counters.sum() == 2


def test_a_store_has_an_identity_of_its_own(fresh: Fresh, here: Place) -> None:
    """The same whoever asks, and another one than any other store's."""
    with fresh() as place:
        own = place.run(place.store.imports.identity())
        place.run(place.store.open())
        assert place.run(place.store.imports.identity()) == own
    assert len(own) == 16
    assert here.run(here.store.imports.identity()) != own
