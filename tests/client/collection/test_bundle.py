"""Files that a collection names: found beside it or in it, told by line where wrong, and one text as a bundle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable import Collection, CollectionError, Problem
from deniable.collection import Files, bundle
from deniable.collection._files import MOST_BYTES
from support.commands import EDITOR
from support.toys import known

TEXT = """\
[collection]
name = "places"  # a comment
epoch = "1d"
owner = "o"
[budget]
epoch = 5
[metrics.place]
kind = "listed"
description = "Where it is"
lines = "data/places.csv"
epsilon = 1
"""
PLACES = "Kenya,Nairobi\nKenya,Mombasa\nGhana,Accra\n"


@pytest.fixture(autouse=True, scope="module")
def toys() -> Iterator[None]:
    """The kinds of these tests."""
    with known():
        yield


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A collection with the file that it names."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/places.csv").write_text(PLACES)
    file = tmp_path / "metrics.toml"
    file.write_text(TEXT)
    return file


def problems(text: str | Path) -> list[Problem]:
    """What is wrong with a text or a file."""
    with pytest.raises(CollectionError) as refusal:
        Collection.load(text) if isinstance(text, Path) else Collection.loads(text, "bundle.toml")
    return list(refusal.value.problems)


def test_what_a_file_says_is_part_of_the_collection(file: Path) -> None:
    """It is what the metric takes, and a line more is another digest; how its lines end is not what it says."""
    collection = Collection.load(file)
    assert collection.metrics["place"].kind.parameters() == {"lines": PLACES.split()}
    place = file.parent / "data/places.csv"
    for same in (PLACES.replace("\n", "\r\n"), PLACES.replace("\n", "\r"), "\ufeff" + PLACES):
        place.write_bytes(same.encode())
        assert Collection.load(file).digest == collection.digest
    place.write_text(PLACES + "Ghana,Kumasi\n")
    assert Collection.load(file).digest != collection.digest


def test_a_bundle_is_the_same_collection_without_files(file: Path, tmp_path: Path) -> None:
    """One text: what was written stays as it was, comments included, and the file follows, as it can be read."""
    text = bundle(file)
    assert text.startswith(TEXT)
    assert PLACES in text
    assert Collection.loads(text) == Collection.load(file)
    alone = tmp_path / "elsewhere.toml"
    alone.write_text(text)
    assert bundle(alone) == text
    assert bundle(EDITOR) == EDITOR.read_text(encoding="utf-8")


def test_a_bundle_does_not_depend_on_what_is_beside_it(file: Path) -> None:
    """It has been decided what it says: a file of the same name is not looked at."""
    text, digest = bundle(file), Collection.load(file).digest
    file.write_text(text)
    (file.parent / "data/places.csv").write_text("Peru,Lima\nPeru,Cusco\n")
    assert Collection.load(file).digest == digest


def test_a_text_alone_has_to_be_bundled_first() -> None:
    """Nothing is guessed of the directory that a program happens to be in."""
    (problem,) = problems(TEXT)
    assert problem.where == "metrics.place.lines"
    assert problem.what.endswith("bundle it first: deniable bundle")


QUOTES = ["a'''b", 'c"', '""', 'd"""', '"""""e\\', "'", "f\\", "\\u0041", "''"]
LINES = st.lists(
    st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), min_size=1), min_size=2, unique=True
)


@example(QUOTES, "", False)
@example([*QUOTES, '"'], "", False)
@example(QUOTES[1:], "", False)
@given(LINES, st.sampled_from(["", "\n", "\n\n", "\n# the end", "\n  \n#\t"]), st.booleans())
def test_whatever_a_file_says_a_bundle_says_it_too(lines: list[str], end: str, more: bool) -> None:
    """Quotes, backslashes, control characters and signs of any script: the same values, the same digest."""
    text = TEXT.rstrip("\n") + end
    if more:
        text = text.replace("[metrics.place]", '[metrics.again]\nkind = "listed"\ndescription = "d"\nepsilon = 1\n'
                            'lines = "data/places.csv"\n[metrics.place]')  # fmt: skip
    files = Files(None)
    files.texts["data/places.csv"] = "\n".join(lines)
    bundled = files.bundled(text)
    collection = Collection.loads(bundled)
    for metric in collection.metrics.values():
        assert metric.kind.parameters() == {"lines": lines}
    assert Files(None).bundled(bundled) == bundled


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_a_file_and_its_bundle_have_one_digest(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], end: str, marked: bool
) -> None:
    """The way through the file system, whatever an editor has made of line ends and marks."""
    room = tmp_path_factory.mktemp("room")
    (room / "data").mkdir()
    (room / "data/places.csv").write_bytes(("\ufeff" * marked + end.join(lines) + end).encode())
    (room / "metrics.toml").write_text(TEXT)
    if lines[0] == "\ufeff" and not marked:  # then the first line is empty
        return
    collection = Collection.load(room / "metrics.toml")
    assert Collection.loads(bundle(room / "metrics.toml")) == collection
    assert marked is False or collection.metrics["place"].kind.parameters() == {"lines": lines}


# What is wrong.


def test_what_is_wrong_in_a_file_is_told_by_its_line(file: Path) -> None:
    """With the file's own path, and at the key that names it; in a bundle by the name that it has there."""
    place = file.parent / "data/places.csv"
    text = bundle(file)
    place.write_text(PLACES + "\nKenya,Nairobi\n")
    assert [str(problem) for problem in problems(file)] == [
        f"{place}:4: metrics.place.lines: is empty",
        f"{place}:5: metrics.place.lines: is there twice",
    ]
    text = text.replace("Ghana,Accra", "Kenya,Nairobi")
    assert [str(problem) for problem in problems(text)] == [
        "bundle.toml: data/places.csv:3: metrics.place.lines: is there twice"
    ]


NAMES = [
    "/etc/passwd", "../places.csv", "data/../../x", "data//x", "./places.csv", "data/", "data\\places.csv", "C:x",
    "~\0", "a\nb", " a", "data/ a", "\ud7ff\u202e", "x" * 256, "a*", 'a"b',
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_leads_nowhere_else(file: Path, name: str) -> None:
    """A relative path in one spelling, the same on every system, that goes down and nowhere else."""
    file.write_text(TEXT.replace('"data/places.csv"', json.dumps(name)))
    (problem,) = problems(file)
    assert problem.where == "metrics.place.lines"
    assert problem.what.startswith("must name a file in the directory of the collection or below it")


def test_a_link_leads_nowhere_else(file: Path) -> None:
    """A link within the directory is followed, one out of it is refused, and so is one that leads to itself."""
    digest, place = Collection.load(file).digest, file.parent / "data/places.csv"
    outside = file.parent.parent / "outside.csv"
    outside.write_text(PLACES)
    place.rename(file.parent / "real.csv")
    place.symlink_to("../real.csv")
    assert Collection.load(file).digest == digest
    for target, words in ((outside, "leads out of the directory"), (place, "can not be read")):
        place.unlink()
        place.symlink_to(target)
        (problem,) = problems(file)
        assert words in problem.what
    place.unlink()
    (file.parent / "data").rmdir()
    elsewhere = file.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "places.csv").write_text(PLACES)
    (file.parent / "data").symlink_to(elsewhere)
    (problem,) = problems(file)
    assert "leads out of the directory" in problem.what


def test_what_is_no_file_is_refused(file: Path) -> None:
    """Nothing, a directory, and a pipe, which nobody waits for."""
    place = file.parent / "data/places.csv"
    place.unlink()
    assert "there is nothing of that name in" in problems(file)[0].what
    place.mkdir()
    assert "'data/places.csv'" in problems(file)[0].what
    place.rmdir()
    os.mkfifo(place)
    assert problems(file)[0].what == "'data/places.csv' is not a file"


def test_a_file_has_a_bound(file: Path) -> None:
    """One byte more than the most is refused, also in a bundle."""
    text = bundle(file)
    with (file.parent / "data/places.csv").open("wb") as place:
        place.truncate(MOST_BYTES + 1)
    assert problems(file)[0].what == f"'data/places.csv' is longer than the {MOST_BYTES} bytes that a file can have"
    (problem,) = problems(text.replace(PLACES, "é" * (MOST_BYTES // 2 + 1)))
    assert (problem.where, problem.what) == (
        "files.data/places.csv",
        f"is longer than the {MOST_BYTES} bytes that a file can have",
    )


def test_a_file_is_utf_8(file: Path) -> None:
    """The line is named."""
    (file.parent / "data/places.csv").write_bytes(b"Kenya\r\nC\xf4te d'Ivoire\r\n")
    (problem,) = problems(file)
    assert problem.what.startswith("data/places.csv:2: is not UTF-8")


def test_a_bundle_has_what_it_names_and_nothing_else(file: Path) -> None:
    """What is missing, superfluous or no text is told at its key."""
    text = bundle(file)
    renamed = text.replace('"data/places.csv" = ', '"data/place.csv" = ')
    assert [(problem.where, problem.what) for problem in problems(renamed)] == [
        ("metrics.place.lines", "'data/places.csv' is not in [files], which has every file that a bundle names"),
        ("files.data/place.csv", "no metric names it"),
    ]
    number = text[: text.index('"data/places.csv" = ')] + '"data/places.csv" = 3\n'
    assert [(problem.where, problem.what) for problem in problems(number)] == [
        ("files.data/places.csv", "must be the text of a file, not 3")
    ]
    assert [problem.where for problem in problems(f"files = 3\n{TEXT}")] == ["files", "metrics.place.lines"]


def test_files_that_no_metric_names_are_not_read(file: Path) -> None:
    """A broken collection is told of by its own mistakes."""
    file.write_text(TEXT.replace("lines =", "line ="))
    assert {problem.where for problem in problems(file)} == {"metrics.place.lines", "metrics.place.line"}
