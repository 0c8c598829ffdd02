"""Comparisons as a table: a row for every row that is compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any, ClassVar

from deniable.v1 import estimate_service_pb2 as pb
from deniable_aggregator.telling.tables import Table, asked_elsewhere, doubted, plain

__all__ = ["CHANGE_COLUMNS", "Changes"]

CHANGE_COLUMNS = (
    "collection", "metric", "segment", "start", "end", "before_segment", "before_start", "before_end", "series",
    "key", "parent", "before", "after", "difference", "low", "high", "std_error", "ratio", "ratio_low", "ratio_high",
    "p_value", "found", "new", "reports", "before_reports", "confidence", "target", "measure", "unit", "before_text",
    "after_text", "text", "low_text", "high_text", "too_few", "note",
)  # fmt: skip
"""Of every table of comparisons; what is not known is None."""


class Changes(Table):
    """Rows in plain Python, and what other tools make of them."""

    columns: ClassVar[tuple[str, ...]] = CHANGE_COLUMNS
    head: ClassVar[tuple[str, ...]] = ("metric", "", "before", "after", "difference", "interval", "p")

    @classmethod
    def told(cls, comparisons: Iterable[pb.Comparison]) -> Changes:
        """The rows of comparisons as they travel."""
        return cls(row for comparison in comparisons for row in _rows(comparison))

    @staticmethod
    def cells(row: dict[str, Any]) -> tuple[str, ...]:
        """A row as it is shown: a change that is found has a star, and a word that is new says so."""
        chance = "–" if row["p_value"] is None else f"{row['p_value']:.2g}" + _mark(row)
        interval = f"{row['low_text']} to {row['high_text']}"
        return row["metric"], row["key"], row["before_text"], row["after_text"], row["text"], interval, chance


def _mark(row: dict[str, Any]) -> str:
    return "* new" if row["new"] else "*" if row["found"] else ""


def _rows(comparison: pb.Comparison) -> Iterator[dict[str, Any]]:
    before, after = comparison.before, comparison.after
    notes = comparison.note, asked_elsewhere(comparison.place), doubted([*before.doubts, *after.doubts])
    about = {
        "collection": comparison.place.title or comparison.collection,
        "metric": comparison.metric,
        "segment": _segment(after),
        "start": after.start_time.ToDatetime(UTC),
        "end": after.end_time.ToDatetime(UTC),
        "before_segment": _segment(before),
        "before_start": before.start_time.ToDatetime(UTC),
        "before_end": before.end_time.ToDatetime(UTC),
        "reports": after.reports,
        "before_reports": before.reports,
        "confidence": comparison.confidence,
        "target": plain(pb.Target, comparison.target),
        "note": "; ".join(filter(None, notes)),
    }
    for series in comparison.series:
        own = {
            "series": series.heading.name,
            "measure": plain(pb.Measure, series.heading.measure),
            "unit": series.heading.unit,
        }
        for change in series.changes:
            numbers = {name: getattr(change, name) for name in CHANGE_COLUMNS if name in _FIELDS}
            told = {field.name for field, _ in change.ListFields()}
            absent = [name for name in numbers if name in _OPTIONAL and name not in told]
            row = about | own | numbers | dict.fromkeys(absent)
            yield {name: row[name] for name in CHANGE_COLUMNS}


_FIELDS = {field.name for field in pb.Change.DESCRIPTOR.fields}
_OPTIONAL = {field.name for field in pb.Change.DESCRIPTOR.fields if field.has_presence}


def _segment(side: pb.ComparedSide) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(side.segment.items()))
