"""What is said of a release that is not as it should be. `make check` makes one, and looks at it."""

from __future__ import annotations

from pathlib import Path

from tools.release import differing, not_universal, without_places


def test_builds_that_differ_are_named(tmp_path: Path) -> None:
    """A byte more in one of them, or a file that only one of them has."""
    for directory in ("first", "second"):
        (tmp_path / directory).mkdir()
        (tmp_path / directory / "same.whl").write_bytes(b"same")
        (tmp_path / directory / "other.tar.gz").write_bytes(directory.encode())
    assert differing(tmp_path / "first", tmp_path / "second") == ["other.tar.gz"]
    (tmp_path / "second" / "more.whl").touch()
    assert differing(tmp_path / "first", tmp_path / "second") == ["more.whl", "other.tar.gz"]


def test_a_wheel_of_one_platform_is_named() -> None:
    """What was compiled for one machine, or for one Python, is no wheel of ours."""
    names = [
        "a-1-py3-none-any.whl",
        "a-1.tar.gz",
        "a-1-cp311-cp311-linux_x86_64.whl",
        "a-1-py3-none-macosx_11_0_arm64.whl",
    ]
    assert not_universal(names) == sorted(names[2:])


def test_materials_do_not_say_where_they_were_made() -> None:
    """A file of this machine is no source that anybody could get; others stay."""
    web, here = {"type": "website", "url": "https://example.org"}, {"type": "other", "url": "file:///a/b.whl"}
    components = [
        {"name": "a", "externalReferences": [web, here]},
        {"name": "b", "externalReferences": [here]},
        {"name": "c"},
    ]
    assert without_places({"components": components})["components"] == [
        {"name": "a", "externalReferences": [web]}, {"name": "b"}, {"name": "c"},
    ]  # fmt: skip
