"""Comparisons as they travel: over gRPC, and as JSON to the page; and what is asked of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.analysis.changes import Before, Changed, Found, Marked
from deniable_aggregator.analysis.comparison import Devices
from deniable_aggregator.answers import Heading, RowId, Target
from deniable_aggregator.telling.digits import decimals, difference
from deniable_aggregator.telling.few import TOO_FEW, Reading, readings
from deniable_aggregator.telling.messages import LOOKS, doubt_messages, heading_message, place_message

__all__ = ["before_of", "changes_message", "devices_of"]


def before_of(request: pb.ListComparisonsRequest) -> Before:
    """What is compared with, as the analyst takes it."""
    own = request.before
    baseline = {RowId(row.series, row.key): row.value for row in request.baseline} or None
    if baseline is not None and own.ByteSize():
        raise ValueError("it is compared with a window or a segment, or with a baseline, not with both")
    return Before(own.last_epoch or None, own.epochs or None, dict(own.segment) or None, baseline)


def devices_of(request: pb.ListComparisonsRequest) -> Devices:
    """What is known of the devices on both sides."""
    return Devices(request.apart, request.changed if request.HasField("changed") else None)


def changes_message(found: Found) -> pb.ListComparisonsResponse:
    """All that is told together."""
    return pb.ListComparisonsResponse(
        comparisons=map(_comparison_message, found.changed),
        false_discovery_rate=found.rate,
        looked_at=found.looked_at,
    )


def _comparison_message(own: Changed) -> pb.Comparison:
    compared, estimate = own.comparison, own.comparison.after.estimate
    read = [dict(zip(each.estimate.ids, readings(own.metric, each.estimate), strict=True))
            for each in (compared.before, compared.after)]  # fmt: skip
    notes = dict.fromkeys(each.estimate.note for each in (compared.before, compared.after) if each.estimate.note)
    return pb.Comparison(
        collection=own.collection.name,
        metric=own.metric.name,
        kind=own.metric.kind.name,
        before=_side_message(own, 0),
        after=_side_message(own, 1),
        confidence=estimate.confidence,
        looks=LOOKS[own.looks],
        target=pb.TARGET_POPULATION if estimate.target is Target.POPULATION else pb.TARGET_REPORTING,
        series=[
            pb.ChangeSeries(
                heading=heading_message(heading),
                changes=[
                    _change_message(heading, row, [each[RowId(heading.name, row.change.key)] for each in read])
                    for row in rows
                ],
                row_count=len(every),
            )
            for (heading, every), rows in zip(compared.series, own.rows, strict=True)
        ],
        note="; ".join(notes),
        apart=compared.devices.apart,
        changed=compared.devices.changed,
        place=place_message(own.place),
    )


def _side_message(own: Changed, place: int) -> pb.ComparedSide:
    window, seconds = own.windows[place], own.collection.epoch_seconds
    fixed = own.fixed and not place
    side = (own.comparison.before, own.comparison.after)[place]
    return pb.ComparedSide(
        first_epoch=window.start,
        last_epoch=window.stop - 1,
        start_time=Timestamp(seconds=window.start * seconds),
        end_time=Timestamp(seconds=window.stop * seconds),
        segment=own.segments[place],
        reports=0 if fixed else side.estimate.reports,
        effective_reports=0 if fixed else side.effective,
        doubts=() if fixed else doubt_messages(own.doubts[place], seconds),
    )


def _change_message(heading: Heading, marked: Marked, read: Sequence[Reading]) -> pb.Change:
    own, measure, places = marked.change, heading.measure, decimals(heading)
    before, after = read
    too_few = before.few or after.few
    return pb.Change(
        key=own.key,
        parent=own.after.parent,
        before=_known(own.before.value),
        after=_known(own.after.value),
        difference=_known(own.value),
        low=_known(own.low),
        high=_known(own.high),
        std_error=_known(own.std_error),
        ratio=_known(own.ratio),
        ratio_low=_known(own.ratio_low),
        ratio_high=_known(own.ratio_high),
        p_value=_known(own.p_value),
        found=marked.found,
        new=marked.new,
        before_text=before.text,
        after_text=after.text,
        text=TOO_FEW if too_few else difference(own.value, measure, places),
        too_few=too_few,
        low_text=difference(own.low, measure, places),
        high_text=difference(own.high, measure, places),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
