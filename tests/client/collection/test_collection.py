"""A collection: what stands in its file, its columns, segments and epochs."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

import pytest

from deniable import Budget, Collection, Report, UnknownMetricError
from deniable.collection import EPOCHS
from deniable.payload import Integer, Symbol
from support.collection_files import LARGE, SMALL, changed


def test_everything_in_the_file_is_in_the_collection() -> None:
    """Names, numbers, words and dates, as what they are."""
    large = Collection.loads(LARGE)
    assert (large.name, large.owner, large.epoch_seconds) == ("large", "someone@example.org", 7 * 86400)
    assert large.budget == Budget(Fraction(11, 2), Fraction(100))
    assert dict(large.segments) == {"channel": ("stable", "beta"), "platform": ("linux", "macos", "windows")}
    assert list(large.metrics) == ["browser", "dark", "minutes"]
    browser, dark, minutes = large.metrics.values()
    assert (browser.name, browser.description) == ("browser", "The default browser")
    assert (browser.epsilon.text, browser.expires, browser.reducer.name) == ("ln 3", date(2030, 12, 31), "last")
    assert (dark.epsilon.text, dark.expires, dark.memoize, dark.instantaneous) == ("2", None, False, None)
    assert (minutes.kind.name, minutes.reducer.name) == ("number", "sum")
    assert minutes.kind.parameters() == {"range": ["-10", "480"], "step": "1/2", "unit": "minutes"}


def test_columns_are_numbered_by_the_names_of_their_metrics() -> None:
    """Device and aggregator number them alike, however the file is ordered; a report names the number."""
    large = Collection.loads(LARGE)
    assert [column.metric for column in large.columns] == ["browser", "dark", "minutes"]
    assert [column.number for column in large.columns] == [0, 1, 2]
    assert isinstance(large.columns[1].shape, Symbol)
    assert isinstance(large.columns[2].shape, Integer)
    assert large.columns[1].channel() == large.columns[1].mechanism.channel()
    for name, value, column in (("browser", "edge", 0), ("dark", True, 1), ("minutes", 3.25, 2)):
        report = large.metric(name).randomize(value)
        assert isinstance(report, Report)
        assert report.column == column
        assert report.payload in set(large.columns[column].mechanism.payloads())


def test_a_metric_that_is_not_there_is_named_with_the_nearest() -> None:
    """A KeyError that can be read."""
    with pytest.raises(UnknownMetricError) as refusal:
        Collection.loads(LARGE).metric("browsr")
    assert str(refusal.value) == "the collection has no metric 'browsr'; did you mean 'browser'?"
    with pytest.raises(KeyError, match=r"no metric 'zzz'$"):
        Collection.loads(LARGE).metric("zzz")


def test_a_collection_can_not_be_changed() -> None:
    """Neither its values nor its tables: what was checked stays."""
    large = Collection.loads(LARGE)
    with pytest.raises(AttributeError):
        large.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        large.metrics["dark"] = large.metrics["browser"]  # type: ignore[index]
    with pytest.raises(TypeError):
        large.segments["platform"] = ()  # type: ignore[index]


def test_a_segment_is_a_number_in_mixed_radix() -> None:
    """The first by name counts most: every combination has its own index, from 0 up."""
    large = Collection.loads(LARGE)
    combinations = [(c, p) for c in ("stable", "beta") for p in ("linux", "macos", "windows")]
    indices = [large.segment_index({"platform": platform, "channel": channel}) for channel, platform in combinations]
    assert indices == list(range(6)) == list(range(large.segment_count))


def test_without_segments_there_is_one() -> None:
    """Every device is in it."""
    small = Collection.loads(SMALL)
    assert small.segment_count == 1
    assert small.segment_index({}) == 0


@pytest.mark.parametrize(
    ("segment", "complaint"),
    [
        ({}, "one of each, such as {'channel': 'stable', 'platform': 'linux'}, not {}"),
        ({"platform": "linux"}, "not {'platform': 'linux'}"),
        ({"platform": "linux", "channel": "beta", "x": "y"}, "'x': 'y'}"),
        ({"platform": "amiga", "channel": "beta"}, "segment: platform is one of linux, macos, windows, not 'amiga'"),
    ],
)
def test_a_segment_that_is_none_is_refused(segment: dict[str, str], complaint: str) -> None:
    """Too few, too many, and a value that is not declared."""
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Collection.loads(LARGE).segment_index(segment)


@pytest.mark.parametrize(
    ("epoch", "time", "number"),
    [
        ("1h", 0.0, 0),
        ("1h", 3599.999, 0),
        ("1h", 3600, 1),
        ("1d", 86399.999, 0),
        ("1d", 1_700_000_000, 19675),
        ("7d", 7 * 86400 - 1, 0),
        ("7d", 7 * 86400, 1),
        ("1d", -1, -1),
    ],
)
def test_an_epoch_is_a_whole_number_of_its_lengths_since_1970(epoch: str, time: float, number: int) -> None:
    """Aligned to UTC; a clock before 1970 gives a negative one."""
    collection = Collection.loads(changed('"1d"', f'"{epoch}"', SMALL))
    assert collection.epoch_seconds == EPOCHS[epoch]
    assert collection.epoch_at(time) == number
