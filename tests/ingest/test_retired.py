"""A collection that is retired: which epochs are taken still, and that it is refused for good from then on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deniable import Collection
from deniable.v1.report_service_pb2 import SubmitReportsRequest
from deniable_aggregator.ingest import Admission, Calendar
from deniable_aggregator.ingest.refusal import Refusal
from deniable_aggregator.serving.server import layout_of
from support.aggregator_server import request
from support.collection_files import SMALL, changed

DAY = 86400
NOW = 20_000
"""The epoch that it is."""


def reason(found: object) -> str:
    """Why a batch is refused; nothing where it is let in."""
    return found.reason if isinstance(found, Refusal) else ""


def batch(own: Collection, epoch: int) -> SubmitReportsRequest:
    """A batch of an epoch."""
    return request((0, 1), epoch=epoch, collection_digest=own.digest, segment=0)


@pytest.mark.parametrize(
    ("day", "epoch", "ends"),
    [("2024-10-04", "1d", 20_000), ("2024-10-04", "1h", 480_000), ("2024-10-04", "7d", 2858)],
)
def test_it_ends_with_the_first_epoch_that_begins_on_its_day_or_later(day: str, epoch: str, ends: int) -> None:
    """In UTC; an epoch of a week that has begun is answered."""
    own = Collection.loads(SMALL.replace('epoch = "1d"', f'epoch = "{epoch}"\nretired = {day}'))
    assert own.ends == ends
    assert own.digest == Collection.loads(SMALL.replace('"1d"', f'"{epoch}"')).digest
    assert Collection.loads(SMALL).ends is None


def test_a_metric_ends_with_its_collection_unless_it_ends_before() -> None:
    """So devices that have it in their file stop by themselves."""
    text = SMALL.replace('epoch = "1d"', 'epoch = "1d"\nretired = 2030-06-01')
    own = {"": "2030-06-01", "2029-01-01": "2029-01-01", "2031-01-01": "2030-06-01", '"never"': "2030-06-01"}
    for day, ends in own.items():
        said = f"expires = {day}" if day else ""
        assert str(Collection.loads(f"{text}\n{said}").metrics["answer"].expires) == ends


def test_earlier_epochs_are_taken_and_later_ones_refused_for_good() -> None:
    """With the first epoch that is not taken; an epoch that nobody takes is refused for its age, as ever."""
    own = Collection.loads(SMALL.replace('epoch = "1d"', 'epoch = "1d"\nretired = 2024-10-02'))
    door = Admission([layout_of(own)], Calendar(clock=lambda: (NOW + 0.5) * DAY))
    said = {epoch: reason(door.admit(batch(own, epoch))) for epoch in range(NOW - 8, NOW + 2)}
    assert said == {
        NOW - 8: "EPOCH_TOO_OLD", **dict.fromkeys(range(NOW - 7, NOW - 2), ""),
        **dict.fromkeys(range(NOW - 2, NOW + 1), "COLLECTION_RETIRED"), NOW + 1: "EPOCH_TOO_NEW",
    }  # fmt: skip
    refused = door.admit(batch(own, NOW))
    assert isinstance(refused, Refusal)
    assert (refused.code.name, refused.retry_after) == ("OUT_OF_RANGE", None), "which devices take for final"
    assert dict(refused.metadata) == {"first_epoch_not_taken": str(NOW - 2)}


def test_it_is_retired_and_taken_back_while_it_is_served() -> None:
    """The digest is the same: what is known of it is looked at again."""
    own = layout_of(Collection.loads(SMALL))
    door = Admission([own], Calendar(clock=lambda: (NOW + 0.5) * DAY))
    mine = batch(Collection.loads(SMALL), NOW)
    for ends, why in (
        (None, ""),
        (NOW, "COLLECTION_RETIRED"),
        (NOW + 1, ""),
        (NOW, "COLLECTION_RETIRED"),
        (None, ""),
    ):
        door.replace([replace(own, ends=ends)])
        assert reason(door.admit(mine)) == why


def test_a_day_that_is_none_is_refused_in_the_file() -> None:
    """With the place, and what would be one."""
    text = changed('epoch = "7d"', 'epoch = "7d"\nretired = "soon"')
    with pytest.raises(ValueError, match=r"collection\.retired: must be a date such as 2027-12-31"):
        Collection.loads(text)
