"""The device's file where it is damaged, removed or replaced: set aside, and its epoch taken as spent."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from deniable.device.state import get, lost, start_over
from support.state_files import NOW, filled, opened, tick, ticks


@pytest.mark.parametrize("damage", ["header", "page", "text", "truncated"])
def test_a_damaged_file_is_set_aside_and_its_epoch_taken_as_spent(tmp_path: Path, damage: str) -> None:
    """The work is done on a new file, which does not know what was spent, and says so; there is one warning."""
    path, warnings = tmp_path / "device.db", list[str]()
    device = opened(path)
    device.run(filled)
    device.close()
    whole = path.read_bytes()
    damaged = {
        "header": b"\0" * 68 + whole[68:72] + b"\0" * 28 + whole[100:],
        "page": whole[:4096] + random.Random(1).randbytes(4096 * 6) + whole[4096 * 7 :],
        "text": whole[:100] + b"This is no database. " * 100,
        "truncated": whole[: len(whole) // 2],
    }[damage]
    path.write_bytes(damaged)
    device = opened(path, warnings)
    device.run(tick)
    assert ticks(device) == 1
    assert device.run(lambda connection: get(connection, "not_before")) == NOW
    assert (tmp_path / "device.db.damaged").read_bytes() == damaged
    (warning,) = warnings
    assert "set aside" in warning
    assert "nothing is answered for this epoch" in warning


def test_damage_that_shows_later_is_found_then(tmp_path: Path) -> None:
    """A file that is damaged while it is in use is set aside at the first work that stumbles over it."""
    path, warnings = tmp_path / "device.db", list[str]()
    device = opened(path, warnings)
    device.run(filled)
    size = path.stat().st_size
    path.write_bytes(bytes(68) + path.read_bytes()[68:72] + random.Random(2).randbytes(size))
    device.run(tick)
    assert ticks(device) == 1
    assert len(warnings) == 1


def test_what_was_set_aside_is_erased_when_the_epoch_has_ended(tmp_path: Path) -> None:
    """It has values in it: they are overwritten, as they would have been."""
    path = tmp_path / "device.db"
    opened(path).run(tick)
    path.write_bytes(path.read_bytes()[:100] + b"value " * 1000)
    device = opened(path)
    device.run(tick)
    aside = tmp_path / "device.db.damaged"
    linked = tmp_path / "link"
    linked.hardlink_to(aside)
    device.erase_set_aside(NOW - 1)
    assert aside.exists()
    device.erase_set_aside(NOW + 1)
    assert not aside.exists()
    assert linked.read_bytes()[100:] == bytes(6000)


def test_a_journal_goes_with_its_file(tmp_path: Path) -> None:
    """Where a damaged file has one, it is overwritten and removed, and not played into the new file."""
    path, journal, linked = tmp_path / "device.db", tmp_path / "device.db-journal", tmp_path / "link"
    device = opened(path)
    device.run(tick)
    journal.write_bytes(bytes.fromhex("d9d505f920a163d7") + b"a value")
    linked.hardlink_to(journal)
    device._set_aside("for a test")
    assert not journal.exists()
    assert linked.read_bytes() == bytes(15)
    device.erase_set_aside(NOW + 1)
    assert list(tmp_path.iterdir()) == [linked]


def test_a_file_that_is_removed_in_use_takes_its_epoch_with_it(tmp_path: Path) -> None:
    """Who removes it while the application runs gains no second answer."""
    path = tmp_path / "device.db"
    device = opened(path)
    device.run(tick)
    path.unlink()
    device.run(tick)
    assert ticks(device) == 1
    assert device.run(lambda connection: get(connection, "not_before")) == NOW


def test_a_file_that_is_replaced_in_use_takes_its_epoch_with_it(tmp_path: Path) -> None:
    """Removed, and begun anew by another process, or an older copy brought back: what was known is not in it.

    One that was begun by another process because of a damage knows that, and is taken as it is.
    """
    path, older = tmp_path / "device.db", tmp_path / "older.db"
    opened(path).run(tick)
    older.write_bytes(path.read_bytes())
    for removed in (True, False):
        device = opened(path)
        device.run(tick)
        path.unlink() if removed else older.rename(path)
        opened(path).run(tick)
        assert not opened(path).run(lost)
        device.run(tick)
        assert opened(path).run(lost)
        device.run(start_over)
        device.run(tick)
        assert not device.run(lost)
        device.close()
        path.unlink()
        opened(path).run(tick)
    first, second = opened(path), opened(path)
    first.run(tick)
    second.run(tick)
    path.write_bytes(path.read_bytes()[:100] + b"damage " * 1000)
    opened(path).run(start_over)
    first.run(tick)
    second.run(tick)
    assert not first.run(lost)


def test_of_two_processes_that_find_the_damage_one_sets_the_file_aside(tmp_path: Path) -> None:
    """The other goes on with the new file, and does not set that aside as well."""
    path, warnings = tmp_path / "device.db", list[str]()
    first, second = opened(path, warnings), opened(path, warnings)
    first.run(tick)
    second.run(tick)
    path.write_bytes(path.read_bytes()[:100] + b"no database " * 1000)
    first.run(tick)
    second.run(tick)
    assert ticks(first) == ticks(second) == 2
    assert len(warnings) == 1


@pytest.mark.parametrize("seed", range(40))
def test_whatever_bytes_change_the_file_can_be_used(tmp_path: Path, seed: int) -> None:
    """A few bytes anywhere: the file goes on or is set aside, and never does anything else go wrong."""
    path, chance = tmp_path / "device.db", random.Random(seed)
    device = opened(path)
    device.run(filled)
    device.close()
    content = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 20)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)
    device = opened(path)
    for _ in range(3):
        device.run(tick)
