"""The directory of a site has what was published last, and nothing that was published before."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_aggregator.publishing import FIRST, write
from deniable_aggregator.publishing._directory import listed

PAGE = '<meta name="generator" content="deniable">\n'
ONE = {"one.html": "1", "one.csv": "1", "one-notice.html": "1"}
TWO = {"two.html": "2", "two.csv": "2", "two-notice.html": "2"}


def whole(files: dict[str, str]) -> dict[str, str]:
    """With a first page."""
    return files | {FIRST: listed(PAGE, [*files, FIRST])}


def there(directory: Path) -> set[str]:
    """Its files."""
    return {each.name for each in directory.iterdir()}


def test_pages_of_a_collection_that_is_not_named_any_more_are_removed(tmp_path: Path) -> None:
    """And said to be; what somebody has put beside them stays, and so does what is published again."""
    assert write(tmp_path / "site", whole(ONE | TWO)) == []
    (tmp_path / "site" / "CNAME").write_text("example.org")
    assert write(tmp_path / "site", whole(ONE)) == sorted(TWO)
    assert there(tmp_path / "site") == {*ONE, FIRST, "CNAME"}
    assert write(tmp_path / "site", whole(ONE)) == []


def test_a_site_without_a_list_is_replaced(tmp_path: Path) -> None:
    """One that was written before first pages had one: what is in it stays, as nobody knows whose it is."""
    for name, text in (ONE | TWO | {FIRST: PAGE}).items():
        (tmp_path / name).write_text(text)
    assert write(tmp_path, whole(ONE)) == []
    assert there(tmp_path) == {*ONE, *TWO, FIRST}


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """Also where that has a list of files as ours has one."""
    (tmp_path / FIRST).write_text("mine<!-- published: two.html -->\n")
    (tmp_path / "two.html").write_text("mine")
    with pytest.raises(ValueError, match="not by publish"):
        write(tmp_path, whole(ONE))
    assert there(tmp_path) == {FIRST, "two.html"}


def test_a_list_is_never_of_files_that_are_not_there(tmp_path: Path) -> None:
    """One that somebody has removed by hand is no error."""
    write(tmp_path, whole(ONE | TWO))
    (tmp_path / "two.csv").unlink()
    assert write(tmp_path, whole(ONE)) == ["two-notice.html", "two.html"]
