"""Collections of several files in an aggregator: checked, bundled, served, and read again when one changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable import Client, Collection, CollectionError, Consent
from deniable_aggregator.commands import main
from deniable_aggregator.serving.sources import Sources, collections_of
from support.collection_files import head, metric
from support.commands import ROOT, serving, told
from support.toys import known
from support.waiting import soon

TEXT = (
    head("places", 9)
    + metric("place", "listed", "Where it is", lines="data/places.csv")
    + metric("dark", "boolean", "The dark theme is on")
    + metric("browser", "category", "The browser", values=["a", "b"])
    + metric("both", "pair", "Both", of=["browser", "dark"])
)
PLACES, MORE = "Nairobi\nMombasa\n", "Nairobi\nMombasa\nAccra\n"
WITH_TOYS = "from deniable.kinds import KINDS\nfrom support.toys import TOYS\nKINDS.update(TOYS)\n"


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    """The kinds of these tests."""
    with known():
        yield


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A directory of collections: one, with the file that it names."""
    room = tmp_path / "collections"
    (room / "data").mkdir(parents=True)
    (room / "data/places.csv").write_text(PLACES)
    (room / "metrics.toml").write_text(TEXT)
    return room


def rewritten(file: Path, text: str) -> None:
    """Write a file so that it can be seen, even in the same tick of the clock."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text)
    os.utime(file, ns=(before + 10**9, before + 10**9))


def test_a_bundle_is_made_and_checked_as_its_collection(
    room: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """`check` says the same of both; a bundle is written to a file or to standard output, and only if all is well."""
    file, made = room / "metrics.toml", room.parent / "bundle.toml"
    assert told("bundle", file, "--output", made).returncode == 0
    assert main(["bundle", str(file)]) == 0
    assert capfdbinary.readouterr().out == made.read_bytes()
    assert Collection.load(made) == Collection.load(file)
    said, again = told("check", file), told("check", made)
    assert (said.returncode, said.stdout) == (again.returncode, again.stdout) == (0, said.stdout)
    assert "both is answered from what is recorded for browser, dark" in said.stdout
    (room / "data/places.csv").write_text("Nairobi\n\n")
    for command in ("check", "bundle"):
        refused = told(command, file)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == f"deniable: {room}/data/places.csv:2: metrics.place.lines: is empty\n"


def test_what_is_served_is_one_text(room: Path) -> None:
    """What workers are given is a bundle: they read no file, whatever becomes of it."""
    sources = Sources((room,))
    texts = sources.read()
    digest = Collection.load(room / "metrics.toml").digest
    (room / "data/places.csv").unlink()
    assert [collection.digest for collection in collections_of(texts)] == [digest]


def test_a_change_of_any_file_is_noticed_once(room: Path) -> None:
    """Of a collection and of what it names, when it comes, changes or goes; what is not there is waited for."""
    place, sources = room / "data/places.csv", Sources((room,))
    assert sources.changed()
    sources.read()
    assert not sources.changed()
    (room / "data/other.csv").write_text("nobody names it")
    assert not sources.changed()
    for text, loads in ((MORE, True), ("Nairobi\n\n", False), (PLACES, True)):
        rewritten(place, text)
        assert sources.changed()
        if loads:
            sources.read()
        else:
            with pytest.raises(CollectionError):
                sources.read()
        assert not sources.changed()
    place.unlink()
    assert sources.changed()
    with pytest.raises(CollectionError):
        sources.read()
    assert not sources.changed()
    rewritten(place, MORE)
    assert sources.changed()
    sources.read()
    rewritten(room / "second.toml", TEXT.replace('"places"', '"second"'))
    assert sources.changed()
    assert len(sources.read()) == 2
    (room / "second.toml").unlink()
    assert sources.changed()
    assert len(sources.read()) == 1
    assert not sources.changed()


def test_a_file_that_was_given_by_name_is_read_when_asked(room: Path) -> None:
    """Neither it nor what it names is looked at before."""
    sources = Sources((room / "metrics.toml",))
    (before,) = collections_of(sources.read())
    rewritten(room / "data/places.csv", MORE)
    assert not sources.changed()
    (after,) = collections_of(sources.read())
    assert after.digest != before.digest


def stored(collection: Collection, endpoint: str) -> None:
    """Return when a device's answers to all metrics have been stored."""
    with Client(collection, endpoint=endpoint, consent=Consent.GRANTED, strict=True) as client:
        client.record("place", "Nairobi")
        client.record("dark", True)
        client.record("browser", "b")
        soon(lambda: client.flush(1.0), "an aggregator that knows the collection")
        assert client.status().counts["answered"] == 4


def test_a_directory_is_served_and_read_again_when_a_named_file_changes(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices with the new collection are taken without a restart; a file that is broken changes nothing.

    Devices that ship the bundle, and an aggregator that serves it, know each other and those of the directory.
    """
    (tmp_path / "sitecustomize.py").write_text(WITH_TOYS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT / "tests")]))
    file, place, said = room / "metrics.toml", room / "data/places.csv", tmp_path / "log"
    made = tmp_path / "bundle.toml"
    assert told("bundle", file, "-o", made).returncode == 0
    before = Collection.load(file)
    with serving(tmp_path / "data", room, log=said, anew=True) as endpoint:
        stored(before, endpoint)
        stored(Collection.loads(made.read_text(encoding="utf-8")), endpoint)
        rewritten(place, "Nairobi\n\n")
        soon(lambda: f"{place}:2: metrics.place.lines: is empty" in said.read_text())
        assert "what is served stays as it is" in said.read_text()
        stored(before, endpoint)
        rewritten(place, MORE)
        after = Collection.load(file)
        assert after.digest != before.digest
        stored(after, endpoint)
    with serving(tmp_path / "other", made, anew=True) as endpoint:
        stored(before, endpoint)
