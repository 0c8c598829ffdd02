"""Files under a state file's name: ours, and used or set aside; or a stranger's, of which not one byte changes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from deniable import StateError
from deniable.device import ledger, schema
from deniable.device.state import State, health
from deniable.device.statefile import MARK, StrangerError
from fuzzing.target import Target

__all__ = ["TARGET"]

_DIRECTORY = tempfile.TemporaryDirectory(prefix="deniable-states-")
_HERE = Path(_DIRECTORY.name)
_NOW = 1_800_000_000.0


def judge(data: bytes) -> str:
    """The first byte says what else is there: nothing, or a journal of the rest's last bytes."""
    for path in _HERE.iterdir():
        path.unlink()
    mode, rest = data[:1], data[1:]
    file, journal = _HERE / "app.db", _HERE / "app.db-journal"
    file.write_bytes(rest)
    if mode == b"j":
        journal.write_bytes(rest[-64:])
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in _HERE.iterdir()}
    warned: list[str] = []
    state = State(file, lambda: _NOW, warned.append)
    try:
        counts = state.run(health)
        outcome = "used"
    except StrangerError as error:
        assert "left as it is" in str(error)
        outcome = "stranger"
    except StateError as error:
        assert str(error)
        outcome = "refused"
    finally:
        state.close()
    marked = rest[68:72] == MARK.to_bytes(4, "big")
    if outcome == "stranger":
        after = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in _HERE.iterdir()}
        assert after == before, "a stranger's file was changed"
    elif outcome == "used":
        assert isinstance(counts, dict)
        assert marked or not rest or schema.MIGRATIONS[0][:20].encode() in rest or b"CREATE TABLE" in rest
        try:
            assert ledger.read(file) is not None
        except StateError:  # a table is not as it was, and nobody has looked at it yet: whoever does finds that out
            state = State(file, lambda: _NOW, warned.append)
            state.run(ledger.charges)
            state.close()
            assert warned
        outcome = "set aside" if warned else "used"
    return outcome


def seeds() -> list[bytes]:
    """Files of devices, of now and of the first layout; another application's."""
    with tempfile.TemporaryDirectory() as directory:
        own = Path(directory) / "app.db"
        state = State(own, lambda: _NOW)
        state.run(health)
        state.close()
        whole = own.read_bytes()
    other = whole[:68] + bytes(4) + whole[72:]
    renamed = whole.replace(b"delta_cost", b"delta_most")
    return [b"-" + each for each in (whole, other, renamed, b"", b"Dear diary, " * 20)] + [b"j" + whole]


TARGET = Target(
    judge,
    seeds,
    frozenset({"used", "set aside", "stranger", "refused"}),
    words=(MARK.to_bytes(4, "big"), b"SQLite format 3\0"),
    longest=1 << 17,
)
