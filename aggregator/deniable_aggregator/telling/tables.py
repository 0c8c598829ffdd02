"""Answers as a table: a row for every line of every answer, for programs and notebooks."""

from __future__ import annotations

import csv
import html
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, overload

from deniable.v1 import estimate_service_pb2 as pb

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from deniable_aggregator.answers.naive_bayes import NaiveBayes

__all__ = ["COLUMNS", "Table", "asked_elsewhere", "doubted", "plain", "with_unit"]

COLUMNS = (
    "collection", "metric", "segment", "start", "end", "series", "key", "parent", "value", "low", "high", "std_error",
    "reports", "effective_reports", "devices", "devices_low", "devices_high", "confidence", "target", "measure",
    "unit", "consistent", "text", "low_text", "high_text", "cut", "too_few", "raw_text", "fakes", "fakes_low",
    "fakes_high", "fakes_low_text", "fakes_high_text", "note",
)  # fmt: skip
"""Of every table; `value`, `std_error`, `consistent` and `cut` are None where they are not known, the numbers of
`devices` where these are the reports, and those of `fakes` where nobody has asked for them; `high` is infinite where
an interval has no upper end: `note` says why, and where a metric is answered as other versions ask it."""

_WHOLE = {"reports", "before_reports", "column", "counter", "count"}
_TIMES = {"start", "end", "before_start", "before_end"}
_NUMBERS = {
    "value", "low", "high", "std_error", "effective_reports", "devices", "devices_low", "devices_high", "confidence",
    "consistent", "cut",
    "fakes", "fakes_low", "fakes_high", "before", "after", "difference", "ratio", "ratio_low", "ratio_high",
    "p_value",
}  # fmt: skip


class Table(Sequence[dict[str, Any]]):
    """Rows in plain Python, and what other tools make of them."""

    columns: ClassVar[tuple[str, ...]] = COLUMNS
    """Of every row."""
    head: ClassVar[tuple[str, ...]] = ("metric", "", "estimate", "interval", "reports")
    """What stands above the cells that are shown."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows = list(rows)

    @classmethod
    def of(cls, estimates: Iterable[pb.Estimate]) -> Table:
        """The rows of answers as they travel."""
        return cls(row for estimate in estimates for row in _rows(estimate))

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows)

    def to_json(self) -> str:
        """A list of objects; times as ISO 8601 has them. JSON has no infinity: an end that is infinite is null."""
        rows = [
            {name: None if isinstance(value, float) and math.isinf(value) else value for name, value in row.items()}
            for row in self._rows
        ]
        return json.dumps(rows, indent=2, ensure_ascii=False, default=_written, allow_nan=False)

    def to_csv(self) -> str:
        """With a header; what is not known is empty."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _written(value) for name, value in row.items()} for row in self._rows)
        return text.getvalue()

    def to_arrow(self) -> pa.Table:
        """An Arrow table; needs `pyarrow`."""
        import pyarrow as pa

        text, time = pa.string(), pa.timestamp("s", tz="UTC")
        types = dict.fromkeys(_TIMES, time) | dict.fromkeys(_WHOLE, pa.int64())
        types |= dict.fromkeys(("found", "new", "too_few"), pa.bool_()) | {name: pa.float64() for name in _NUMBERS}
        return pa.Table.from_pylist(self._rows, pa.schema([(name, types.get(name, text)) for name in self.columns]))

    def to_parquet(self) -> bytes:
        """The content of a Parquet file; needs `pyarrow`."""
        import pyarrow.parquet as pq

        content = io.BytesIO()
        pq.write_table(self.to_arrow(), content)
        return content.getvalue()

    def to_pandas(self) -> pd.DataFrame:
        """A data frame; needs `pandas`."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(self.columns))

    def to_polars(self) -> pl.DataFrame:
        """A data frame; needs `polars`."""
        import polars as pl

        return pl.DataFrame(self._rows, schema=list(self.columns), infer_schema_length=None)

    def naive_bayes(self, target: str) -> NaiveBayes:
        """Of the rows of one joint, what tells this source of it from the others."""
        from deniable_aggregator.answers.naive_bayes import naive_bayes

        about = {(row["metric"], row["segment"], row["start"]): row["reports"] for row in self._rows}
        if len(about) != 1:
            raise ValueError(f"a model is made of one answer, not of {len(about)}")
        series: dict[str, list[tuple[str, float, float]]] = {}
        for row in self._rows:
            numbers = (math.nan if row[name] is None else row[name] for name in ("value", "std_error"))
            series.setdefault(row["series"], []).append((row["key"], *numbers))
        (((metric, *_), reports),) = about.items()
        return naive_bayes(metric, reports, series, target)

    @staticmethod
    def cells(row: dict[str, Any]) -> tuple[str, ...]:
        """A row as it is shown."""
        interval = f"{row['low_text']} to {row['high_text']}" if row["low_text"] else "–"
        return row["metric"], row["key"], with_unit(row), interval, f"{row['reports']:,}"

    def _repr_html_(self) -> str:
        """How a notebook shows it."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.head)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in self.cells(row)) + "</tr>"
            for row in self._rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        return "\n".join(" | ".join(self.cells(row)) for row in self._rows)


def _rows(estimate: pb.Estimate) -> Iterator[dict[str, Any]]:
    for heading, row in ((own.heading, row) for own in estimate.series for row in own.rows):
        yield {
            "collection": estimate.place.title or estimate.collection,
            "metric": estimate.metric,
            "segment": ",".join(f"{name}={value}" for name, value in sorted(estimate.segment.items())),
            "start": estimate.start_time.ToDatetime(UTC),
            "end": estimate.end_time.ToDatetime(UTC),
            "series": heading.name,
            "key": row.key,
            "parent": row.parent,
            "value": row.value if row.HasField("value") else None,
            "low": row.low,
            "high": row.high,
            "std_error": row.std_error if row.HasField("std_error") else None,
            "reports": estimate.reports,
            "effective_reports": estimate.effective_reports,
            "devices": estimate.devices or None,
            "devices_low": estimate.devices_low if estimate.devices else None,
            "devices_high": estimate.devices_high if estimate.devices else None,
            "confidence": estimate.confidence,
            "target": plain(pb.Target, estimate.target),
            "measure": plain(pb.Measure, heading.measure),
            "unit": heading.unit,
            "consistent": row.consistent if row.HasField("consistent") else None,
            "text": row.text,
            "low_text": row.low_text,
            "high_text": row.high_text,
            "cut": row.cut if row.HasField("cut") else None,
            "too_few": row.too_few,
            "raw_text": row.raw_text,
            "fakes": estimate.fakes or None,
            "fakes_low": row.fakes_low if row.HasField("fakes_low") else None,
            "fakes_high": row.fakes_high if row.HasField("fakes_high") else None,
            "fakes_low_text": row.fakes_low_text,
            "fakes_high_text": row.fakes_high_text,
            "note": "; ".join(
                filter(
                    None,
                    (
                        estimate.note,
                        asked_elsewhere(estimate.place),
                        doubted(estimate.doubts),
                        suspected(estimate.suspicions),
                    ),
                )
            ),
        }


def asked_elsewhere(place: pb.Place) -> str:
    """That a metric is asked in another way in another version, and where that is answered."""
    said = []
    if place.earlier:
        said.append(f"asked so since version {place.since_version}, before that in {place.earlier}")
    if place.later:
        said.append(f"no longer asked so, but as in {place.later}")
    return "; ".join(said)


def doubted(doubts: Iterable[pb.Doubt]) -> str:
    """Which epochs of a window are not trusted, why, and whether they count."""
    said = []
    for own in doubts:
        how = "was removed" if own.removed else "is doubtful and left out" if own.left_out else "is doubtful"
        said.append(f"{own.text} {how}: {own.reason}")
    return "; ".join(said)


def suspected(suspicions: Iterable[pb.Suspicion]) -> str:
    """Which epochs of a window have marks of fakes."""
    return "; ".join(f"{own.text} is suspicious: {own.what}" for own in suspicions)


def with_unit(row: dict[str, Any]) -> str:
    """A row's number as it is read: shares have their unit in it, and what is too few to tell has none."""
    bare = row["measure"] == "share" or row["too_few"] or not row["unit"]
    return str(row["text"]) if bare else f"{row['text']} {row['unit']}"


def plain(words: Any, number: int) -> str:
    """What one of a message's words says, without its family's name: TARGET_REPORTING is "reporting"."""
    name: str = words.Name(number)
    return name.partition("_")[2].lower()


def _written(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
